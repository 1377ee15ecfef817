//! `tessera lab roaming`.

use std::path::PathBuf;

use clap::Args;
use tessera_lab::{Destination, Options, Share, roaming};
use tessera_link::LinkParameters;

use super::experiment::GridArguments;

/// The options of the experiment.
#[derive(Args)]
pub(crate) struct RoamingArguments {
    /// How many reconnections are measured for each cell in memory, and through SEPPs without a link.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = number())]
    repetitions: usize,

    /// How many for each other cell.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = number())]
    link_repetitions: usize,

    /// Only the cells that match all of these: FIELD=VALUE, separated by commas, with `|` between alternative values of
    /// a field; --help lists all fields and values.
    #[arg(long, value_name = "FILTER", long_help = of_filters())]
    cells: Option<roaming::Filter>,

    /// Only this many of these cells, drawn by the seed, alternating between memory, links and SEPPs.
    #[arg(long, value_name = "N", value_parser = number())]
    sample: Option<usize>,

    /// Only the N-th of M parts of the cells, written N/M, to divide them among runs with a journal each. Journals of
    /// the same program, machine and seed can then be joined: the first line of one, and all lines but the first of
    /// each.
    #[arg(long, value_name = "N/M")]
    share: Option<Share>,

    #[command(flatten)]
    grid: GridArguments,

    /// Writes the report as a page with plots to this file. `-` is standard output.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// Returns the help of the option, with the values of the grid.
fn of_filters() -> String {
    format!(
        "Only the cells that have all of these: FIELD=VALUE, separated by commas, and `|` between values of one field. \
         The names in tables (hybrid, psk, -) and percentages (1%) are understood too. Fields and their values:\n\n{}",
        roaming::Filter::help()
    )
}

fn number() -> clap::builder::RangedU64ValueParser<usize> {
    clap::builder::RangedU64ValueParser::new().range(1..=10_000)
}

impl From<RoamingArguments> for roaming::Options {
    fn from(arguments: RoamingArguments) -> Self {
        let RoamingArguments { repetitions, link_repetitions, cells, sample, share, grid, report } =
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
        let resume = grid.resume;
        Self { common, link_repetitions, cells, sample, share, resume }
    }
}
