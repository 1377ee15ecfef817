//! `tessera lab traffic`.

use std::num::NonZeroU16;
use std::path::PathBuf;

use clap::Args;
use tessera_lab::traffic;

use super::experiment::CommonArguments;

/// The options of the experiment.
#[derive(Args)]
pub(crate) struct TrafficArguments {
    #[command(flatten)]
    common: CommonArguments,

    /// Padding settings, separated by commas: both ends pad records to multiples of this many bytes, at most 16384; 0
    /// is no padding.
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_value = "0,512,16384",
          value_parser = clap::value_parser!(u16).range(..=16_384))]
    padding: Vec<u16>,

    /// Records the flows of each finished setting in this file; a run with the same file and options continues where it
    /// stopped.
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
}

impl From<TrafficArguments> for traffic::Options {
    fn from(TrafficArguments { common, padding, resume }: TrafficArguments) -> Self {
        let mut paddings = Vec::new();
        for padding in padding.into_iter().map(NonZeroU16::new) {
            if !paddings.contains(&padding) {
                paddings.push(padding);
            }
        }
        Self { paddings, resume, common: common.into() }
    }
}
