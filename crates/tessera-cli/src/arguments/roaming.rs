//! `tessera lab roaming`.

use std::path::PathBuf;

use clap::Args;
use tessera_lab::{Destination, Options, roaming};
use tessera_link::LinkParameters;

use super::experiment::GridArguments;

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

    #[command(flatten)]
    grid: GridArguments,

    /// Writes the report as a page with plots to this file. `-` is standard output.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

fn number() -> clap::builder::RangedU64ValueParser<usize> {
    clap::builder::RangedU64ValueParser::new().range(1..=10_000)
}

impl From<RoamingArguments> for roaming::Options {
    fn from(arguments: RoamingArguments) -> Self {
        let RoamingArguments { repetitions, link_repetitions, cells, sample, grid, report } =
            arguments;
        let common = Options {
            repetitions,
            rtts: None,
            link: grid.link.into(),
            parameters: LinkParameters { seed: grid.seed, ..LinkParameters::default() },
            modes: Vec::new(),
            fast_open: false,
            json: grid.json.as_deref().map(Destination::named),
            page: report.as_deref().map(Destination::named),
        };
        let (share, resume) = (grid.share, grid.resume);
        Self { common, link_repetitions, cells, sample, share, resume }
    }
}
