//! `tessera lab roaming`.

use std::path::PathBuf;

use clap::Args;
use tessera_lab::{Destination, Options, roaming};
use tessera_link::LinkParameters;

use super::experiment::LinkArgument;

/// What the experiment is asked.
#[derive(Args)]
pub(crate) struct RoamingArguments {
    /// How many reconnections are measured for each cell in memory, and through SEPPs without a link.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = number())]
    repetitions: usize,

    /// How many for each other cell.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = number())]
    link_repetitions: usize,

    /// Only the cells that have all of these: FIELD=VALUE, separated by commas, and `|` between values of one
    /// field. Fields are through (engine, endpoints, sepp), option (a, b, c, d, d', e), mode, kx, ticket_key,
    /// continuation, store, suite, link, loss, burst and congestion.
    #[arg(long, value_name = "FILTER")]
    cells: Option<roaming::Filter>,

    /// Only so many of these cells, drawn by the seed: in turn in memory, over links, and through SEPPs.
    #[arg(long, value_name = "N", value_parser = number())]
    sample: Option<usize>,

    /// Remembers each finished cell in this file; a run with the same file and options goes on where it stopped.
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,

    /// Where random numbers start, those of links and that of --sample.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// How links are made.
    #[arg(long, value_name = "KIND", default_value = "auto")]
    link: LinkArgument,

    /// Writes a report with every sample to this file; `-` is standard output, and moves the table to standard
    /// error.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Writes the report as a page with plots to this file. `-` is standard output.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

fn number() -> clap::builder::RangedU64ValueParser<usize> {
    clap::builder::RangedU64ValueParser::new().range(1..=10_000)
}

impl From<RoamingArguments> for roaming::Options {
    fn from(arguments: RoamingArguments) -> Self {
        let RoamingArguments { link_repetitions, cells, sample, resume, seed, .. } = arguments;
        let common = Options {
            repetitions: arguments.repetitions,
            rtts: None,
            link: arguments.link.into(),
            parameters: LinkParameters { seed, ..LinkParameters::default() },
            modes: Vec::new(),
            fast_open: false,
            json: arguments.json.as_deref().map(Destination::named),
            page: arguments.report.as_deref().map(Destination::named),
        };
        Self { common, link_repetitions, cells, sample, resume }
    }
}
