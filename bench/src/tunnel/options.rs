//! The benchmarks to run, and how often.

use std::str::FromStr;
use std::time::Duration;

use crate::Failure;
use crate::ways::Programs;

/// The usage, printed for invalid arguments.
const USAGE: &str = "tunnel-cost all|pgbench|connections|bulk|idle|many [--program TESSERA] \
                     [--haproxy-aws-lc HAPROXY] [--rounds N] [--count N] [--rtt-ms N] [--json]";

/// One of the programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bench {
    Pgbench,
    Connections,
    Bulk,
    Idle,
    Many,
}

impl Bench {
    const ALL: [Self; 5] = [Self::Pgbench, Self::Connections, Self::Bulk, Self::Idle, Self::Many];
}

/// The arguments.
pub(crate) struct Options {
    pub(crate) benches: Vec<Bench>,
    pub(crate) programs: Programs,
    rounds: Option<usize>,
    count: Option<usize>,
    /// The round trip of the emulated link.
    pub(crate) rtt: Duration,
    /// One JSON object instead of a table.
    pub(crate) json: bool,
}

impl Options {
    pub(crate) fn from_arguments(
        mut arguments: impl Iterator<Item = String>,
    ) -> Result<Self, Failure> {
        let benches = match arguments.next().as_deref() {
            Some("all") => Bench::ALL.to_vec(),
            Some("pgbench") => vec![Bench::Pgbench],
            Some("connections") => vec![Bench::Connections],
            Some("bulk") => vec![Bench::Bulk],
            Some("idle") => vec![Bench::Idle],
            Some("many") => vec![Bench::Many],
            _ => return Err(USAGE.into()),
        };
        let rtt = Duration::from_millis(33);
        let mut options = Self {
            benches,
            programs: Programs::default(),
            rounds: None,
            count: None,
            rtt,
            json: false,
        };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--program" => options.programs.tessera = Some(value(&mut arguments)?),
                "--haproxy-aws-lc" => {
                    options.programs.haproxy_aws_lc = Some(value(&mut arguments)?);
                }
                "--rounds" => options.rounds = Some(value(&mut arguments)?),
                "--count" => options.count = Some(value(&mut arguments)?),
                "--rtt-ms" => options.rtt = Duration::from_millis(value(&mut arguments)?),
                "--json" => options.json = true,
                _ => return Err(USAGE.into()),
            }
        }
        Ok(options)
    }

    /// Returns how often each way has its turn.
    pub(crate) fn rounds(&self, default: usize) -> usize {
        self.rounds.unwrap_or(default).max(1)
    }

    /// Returns how many connections (or MiB, or transactions) a turn has.
    pub(crate) fn count(&self, default: usize) -> usize {
        self.count.unwrap_or(default).max(1)
    }
}

fn value<T: FromStr>(arguments: &mut impl Iterator<Item = String>) -> Result<T, Failure> {
    arguments.next().and_then(|text| text.parse().ok()).ok_or_else(|| USAGE.into())
}
