//! `tessera lab edge`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tessera_lab::edge::{self, Certificates, EdgeWay, Part};
use tessera_lab::{Destination, Options};
use tessera_link::LinkParameters;

use super::experiment::GridArguments;
use super::values;

/// The options of the experiment.
#[derive(Args)]
pub(crate) struct EdgeArguments {
    /// What to measure, separated by commas: handshakes (bytes and times, over loopback and links), operations (in
    /// memory), rate (the proxy's processor time at a fixed rate, over loopback), rotation (moves while the ticket keys
    /// rotate, in memory).
    #[arg(long, value_name = "PARTS", value_delimiter = ',',
          hide_default_value = true, default_values_t = Part::ALL, value_parser = part)]
    parts: Vec<Part>,

    /// The ways to connect, separated by commas: full, full-signer, resumed, inherited, retry, 0rtt-fs,
    /// 0rtt-fs-moved, 0rtt-fs-burned [default: all].
    #[arg(long, value_name = "WAYS", value_delimiter = ',',
          hide_default_value = true, default_values_t = EdgeWay::ALL, value_parser = way)]
    ways: Vec<EdgeWay>,

    /// The keys of the proxy's certificates, separated by commas: rsa-2048, rsa-4096, p-256, ml-dsa-44, ml-dsa-65,
    /// ml-dsa-87.
    #[arg(long, value_name = "KEYS", value_delimiter = ',', default_value = "rsa-2048", value_parser = certificates)]
    certificates: Vec<Certificates>,

    /// The round-trip times of emulated links, separated by commas, each with a unit: us, ms or s [default: 20ms, if the
    /// machine can emulate links].
    #[arg(long, value_name = "TIMES", value_delimiter = ',', value_parser = values::duration)]
    rtt: Option<Vec<Duration>>,

    /// Also measures over links of 20 ms that lose this share of packets: percentages such as 1%, or numbers from 0 to 1,
    /// separated by commas. Four times as many connections.
    #[arg(long, value_name = "SHARES", value_delimiter = ',', value_parser = values::share)]
    loss: Vec<f64>,

    /// How many samples of each row: connections over links, means of several over loopback and in memory.
    #[arg(long, value_name = "N", default_value_t = 7,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    repetitions: usize,

    /// How many connections a second a proxy gets at a fixed rate.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    rate: u32,

    /// How many connections each sample is the mean of, over loopback and in memory; at a fixed rate a fifth of it.
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1_000))]
    connections: usize,

    #[command(flatten)]
    grid: GridArguments,

    /// Writes the report as a page with plots to this file. `-` is standard output.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

fn part(name: &str) -> Result<Part, String> {
    let known = Part::ALL.into_iter().find(|part| part.name() == name);
    known.ok_or_else(|| format!("parts are {}", Part::ALL.map(Part::name).join(", ")))
}

fn way(name: &str) -> Result<EdgeWay, String> {
    name.parse()
}

fn certificates(name: &str) -> Result<Certificates, String> {
    name.parse()
}

impl From<EdgeArguments> for edge::Options {
    fn from(arguments: EdgeArguments) -> Self {
        let EdgeArguments {
            parts,
            ways,
            certificates,
            rtt,
            loss,
            rate,
            repetitions,
            connections,
            grid,
            report,
        } = arguments;
        let common = Options {
            repetitions,
            rtts: rtt,
            link: grid.link.into(),
            parameters: LinkParameters { seed: grid.seed, ..LinkParameters::default() },
            modes: Vec::new(),
            fast_open: false,
            json: grid.json.as_deref().map(Destination::named),
            page: report.as_deref().map(Destination::named),
        };
        let resume = grid.resume;
        Self {
            common,
            parts,
            ways,
            certificates,
            connections,
            per_second: rate,
            losses: loss,
            resume,
        }
    }
}
