//! The benchmarks to run, how often, and with which programs.

use std::str::FromStr;

use crate::Failure;
use crate::setting::Way;

/// The usage, printed for invalid arguments.
const USAGE: &str = "sepp-relay all|relay|idle|ended [--program TESSERA] [--envoy ENVOY] [--nghttpx] \
                     [--rounds N] [--count N] [--in-flight N] [--json]";

/// A benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bench {
    Relay,
    Idle,
    Ended,
}

/// The arguments.
pub(crate) struct Options {
    pub(crate) benches: Vec<Bench>,
    /// The program `tessera`; without it only the others are compared.
    pub(crate) program: Option<String>,
    /// The program `envoy`.
    pub(crate) envoy: Option<String>,
    /// Whether to measure nghttpx.
    pub(crate) nghttpx: bool,
    rounds: Option<usize>,
    count: Option<usize>,
    /// Only the load with this many requests in flight; `None`: each.
    pub(crate) in_flight: Option<usize>,
    /// One JSON object instead of a table.
    pub(crate) json: bool,
}

impl Options {
    pub(crate) fn from_arguments(
        mut arguments: impl Iterator<Item = String>,
    ) -> Result<Self, Failure> {
        let benches = match arguments.next().as_deref() {
            Some("all") => vec![Bench::Relay, Bench::Idle, Bench::Ended],
            Some("relay") => vec![Bench::Relay],
            Some("idle") => vec![Bench::Idle],
            Some("ended") => vec![Bench::Ended],
            _ => return Err(USAGE.into()),
        };
        let mut options = Self {
            benches,
            program: None,
            envoy: None,
            nghttpx: false,
            rounds: None,
            count: None,
            in_flight: None,
            json: false,
        };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--program" => options.program = Some(value(&mut arguments)?),
                "--envoy" => options.envoy = Some(value(&mut arguments)?),
                "--nghttpx" => options.nghttpx = true,
                "--rounds" => options.rounds = Some(value(&mut arguments)?),
                "--count" => options.count = Some(value(&mut arguments)?),
                "--in-flight" => options.in_flight = Some(value(&mut arguments)?),
                "--json" => options.json = true,
                _ => return Err(USAGE.into()),
            }
        }
        Ok(options)
    }

    /// Returns the ways whose program is installed.
    pub(crate) fn ways(&self) -> Vec<Way> {
        let mut ways = Vec::new();
        ways.extend(self.envoy.is_some().then_some(Way::Envoy));
        ways.extend(self.nghttpx.then_some(Way::Nghttpx));
        if self.program.is_some() {
            ways.extend([Way::Sepp, Way::SeppOfMany]);
        }
        ways
    }

    /// Returns whether to measure the load with this many requests in flight.
    pub(crate) fn measures(&self, in_flight: usize) -> bool {
        self.in_flight.is_none_or(|only| only == in_flight)
    }

    /// Returns how often each way has its turn.
    pub(crate) fn rounds(&self, default: usize) -> usize {
        self.rounds.unwrap_or(default).max(1)
    }

    /// Returns the number of requests or connections, if there is only one.
    pub(crate) fn only_count(&self) -> Option<usize> {
        self.count
    }

    /// Returns how many requests or connections a turn has.
    pub(crate) fn count(&self, default: usize) -> usize {
        self.count.unwrap_or(default).max(1)
    }
}

fn value<T: FromStr>(arguments: &mut impl Iterator<Item = String>) -> Result<T, Failure> {
    arguments.next().and_then(|text| text.parse().ok()).ok_or_else(|| USAGE.into())
}
