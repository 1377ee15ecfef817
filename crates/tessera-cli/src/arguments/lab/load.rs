//! `tessera lab load`.

use std::time::Duration;

use clap::Args;
use tessera_lab::{Destination, load};

use super::experiment::{GridArguments, ModeArgument};
use super::values;

/// The options of the experiment.
#[derive(Args)]
pub(crate) struct LoadArguments {
    /// How many users reconnect repeatedly, separated by commas: a cell for each number [default:
    /// 1,5,10,20,50,100,1000, and none where --storms is given].
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = number())]
    users: Option<Vec<usize>>,

    /// How many connections reconnect at once, separated by commas: a cell for each number and round [default: 1000,5000, and
    /// none where --users is given].
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = number())]
    storms: Option<Vec<usize>>,

    /// How often each storm runs: all rows run once before any runs again. Of six rounds or more, medians have a 95 %
    /// confidence interval.
    #[arg(long, value_name = "N", default_value_t = load::Options::DEFAULT_ROUNDS, value_parser = rounds())]
    rounds: usize,

    /// How often each user reconnects.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = number())]
    reconnections: usize,

    /// Round-trip times, separated by commas, each with a unit: us, ms or s [default: 33ms for users, from Seoul to
    /// Tokyo and back, and 134ms for storms, from Seoul to Los Angeles].
    #[arg(long, value_name = "TIMES", value_delimiter = ',', value_parser = values::duration)]
    rtt: Option<Vec<Duration>>,

    /// The modes (ways to connect) to measure, separated by commas.
    #[arg(
        long,
        value_name = "MODES",
        value_delimiter = ',',
        default_value = "full,psk-only,psk-dhe,0rtt-unguarded,0rtt,0rtt-fs,0rtt-fs-psk"
    )]
    modes: Vec<ModeArgument>,

    /// Only these rows, by their names in the table, separated by commas [default: all].
    #[arg(long, value_name = "ROWS", value_delimiter = ',')]
    rows: Vec<String>,

    #[command(flatten)]
    grid: GridArguments,
}

fn rounds() -> clap::builder::RangedU64ValueParser<usize> {
    clap::builder::RangedU64ValueParser::new().range(1..=99)
}

/// There are no ports for more connections.
fn number() -> clap::builder::RangedU64ValueParser<usize> {
    clap::builder::RangedU64ValueParser::new().range(1..=50_000)
}

impl From<LoadArguments> for load::Options {
    fn from(arguments: LoadArguments) -> Self {
        let LoadArguments { users, storms, rounds, reconnections, rtt, modes, rows, grid } =
            arguments;
        let (users, storms) = match (users, storms) {
            (None, None) => (Self::DEFAULT_USERS.to_vec(), Self::DEFAULT_STORMS.to_vec()),
            (users, storms) => (users.unwrap_or_default(), storms.unwrap_or_default()),
        };
        Self {
            users,
            reconnections,
            storms,
            rounds,
            rtts: rtt,
            modes: modes.into_iter().map(Into::into).collect(),
            rows,
            link: grid.link.into(),
            seed: grid.seed,
            resume: grid.resume,
            json: grid.json.as_deref().map(Destination::named),
        }
    }
}
