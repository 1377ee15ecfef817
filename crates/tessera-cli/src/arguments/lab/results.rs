//! `tessera lab results`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use tessera_lab::{Destination, results};

/// The input and output of `tessera lab results`.
#[derive(Args)]
pub(crate) struct ResultsArguments {
    /// The directory with the paper's reports, at least one of them: roaming.json, load.json and traffic.json,
    /// or bithac.json and tls12.json, or edge.json, edge-boring.json, edge-envoy.json and edge-gap.json, or dtls.json, or
    /// embedded.json. Missing ones are reported; a report that no run could have written is rejected, with the name of the
    /// cell.
    #[arg(value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    directory: PathBuf,

    /// The paper, or the experiment.
    #[arg(long, value_name = "PAPER", default_value = "roaming")]
    of: PaperArgument,

    /// Writes a page with figures and tables to this file; `-` is standard output. It links to the samples in
    /// DIRECTORY, which must be next to it.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,

    /// Replaces the tables of this text: what is between `<!-- table NAME -->` and `<!-- end of table -->`. The rest
    /// stays. Repeat it if the tables are spread over several texts.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    markdown: Vec<PathBuf>,
}

impl From<ResultsArguments> for results::Options {
    fn from(ResultsArguments { directory, of, page, markdown }: ResultsArguments) -> Self {
        let of = match of {
            PaperArgument::Roaming => results::Paper::Roaming,
            PaperArgument::Bithac => results::Paper::Bithac,
            PaperArgument::Edge => results::Paper::Edge,
            PaperArgument::Mobile => results::Paper::Mobile,
            PaperArgument::Embedded => results::Paper::Embedded,
        };
        Self { of, directory, page: page.as_deref().map(Destination::named), markdown }
    }
}

/// A paper whose evaluation is repeated.
#[derive(Clone, Copy, ValueEnum)]
enum PaperArgument {
    /// On roaming (Lastre et al., Sensors 2025).
    Roaming,
    /// On caching handshakes (Bodenhausen et al.).
    Bithac,
    /// On service continuity at the edge (Catoni et al.).
    Edge,
    /// On mobile clients (Caminati et al.).
    Mobile,
    /// No paper: clients on devices.
    Embedded,
}
