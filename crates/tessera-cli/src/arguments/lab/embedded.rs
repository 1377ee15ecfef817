//! `tessera lab embedded`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use tessera_lab::{Destination, Options, embedded};
use tessera_link::{LinkKind, LinkParameters};

/// The options of the experiment.
#[derive(Args)]
pub(crate) struct EmbeddedArguments {
    /// The checkout of Tessera whose images are built [default: the one around the current directory].
    #[arg(long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    source: Option<PathBuf>,

    /// Shows this report, and measures nothing.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath,
          conflicts_with_all = ["source", "images", "small", "suites", "connections"])]
    from: Option<PathBuf>,

    /// The images, separated by commas: psk, p256, hybrid, ml-dsa, kem-pinned, kem-raw-key, kem-x509, kem-x509-ml-dsa, cached,
    /// cached-rsa, psk-datagram [default: all].
    #[arg(long, value_name = "IMAGES", value_delimiter = ',')]
    images: Vec<String>,

    /// Does everything that makes images smaller (`scripts/firmware --small`); otherwise their opt-level is s.
    #[arg(long)]
    small: bool,

    /// Measures the suites of key exchange and certificates, and KEMs alone, as well: some minutes more.
    #[arg(long)]
    suites: bool,

    /// How many connections each image makes in its run.
    #[arg(long, value_name = "N", default_value_t = 20,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1_000_000))]
    connections: usize,

    /// Writes the report to this file; `-` is standard output, and moves the tables to standard error.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Writes the report as a page with pictures to this file. `-` is standard output.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

impl From<EmbeddedArguments> for embedded::Options {
    fn from(arguments: EmbeddedArguments) -> Self {
        let EmbeddedArguments { source, from, images, small, suites, connections, json, report } =
            arguments;
        let common = Options {
            repetitions: connections,
            rtts: None,
            link: LinkKind::Loopback,
            parameters: LinkParameters::default(),
            modes: Vec::new(),
            fast_open: false,
            json: json.as_deref().map(Destination::named),
            page: report.as_deref().map(Destination::named),
        };
        Self { source, from, images, small, suites, common }
    }
}
