//! The file that a product's commands share.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// The configuration of a product.
#[derive(Args)]
pub(crate) struct ConfigurationFile {
    /// The configuration (TOML).
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}
