//! `tessera lab results`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use tessera_lab::{Destination, results};

/// Of what, and what is made.
#[derive(Args)]
pub(crate) struct ResultsArguments {
    /// The directory with the paper's reports, at least one of them: roaming.json, load.json and traffic.json, or
    /// bithac.json and tls12.json. What is missing there is said; what no run writes is refused, and the cell named.
    #[arg(value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    directory: PathBuf,

    /// Of which paper.
    #[arg(long, value_name = "PAPER", default_value = "roaming")]
    of: PaperArgument,

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
    fn from(ResultsArguments { directory, of, page, markdown }: ResultsArguments) -> Self {
        let of = match of {
            PaperArgument::Roaming => results::Paper::Roaming,
            PaperArgument::Bithac => results::Paper::Bithac,
        };
        Self { of, directory, page: page.as_deref().map(Destination::named), markdown }
    }
}

/// A paper whose evaluation is measured again.
#[derive(Clone, Copy, ValueEnum)]
enum PaperArgument {
    /// On roaming (Lastre et al., Sensors 2025).
    Roaming,
    /// On caching handshakes (Bodenhausen et al.).
    Bithac,
}
