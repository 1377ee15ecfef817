//! `tessera lab results`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use tessera_lab::{Destination, results};

/// Of what, and what is made.
#[derive(Args)]
pub(crate) struct ResultsArguments {
    /// The directory with roaming.json, load.json and traffic.json, at least one of them. What is missing there is
    /// said; what no run writes is refused, and the cell named.
    #[arg(value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    directory: PathBuf,

    /// Writes a page with figures and tables to this file; `-` is standard output. Its links to the samples are to
    /// the files that DIRECTORY has, beside it.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,

    /// Makes the tables of this text anew: what stands between `<!-- table NAME -->` and `<!-- end of table -->`.
    /// Its words stay.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    markdown: Option<PathBuf>,
}

impl From<ResultsArguments> for results::Options {
    fn from(ResultsArguments { directory, page, markdown }: ResultsArguments) -> Self {
        Self { directory, page: page.as_deref().map(Destination::named), markdown }
    }
}
