//! `tessera signer`.

use clap::Subcommand;

use super::configuration_file::ConfigurationFile;

/// The commands of `tessera signer`.
#[derive(Subcommand)]
pub(crate) enum Signer {
    /// Runs a signer, as a file configures it.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera signer check /etc/tessera/signer/signer.toml && tessera signer run /etc/tessera/signer/signer.toml
  kill -HUP PID     reads the file and the files that it names again: keys, who may use them; all or none

Ctrl-C and SIGTERM end it.
Exit codes: 0 it was asked to end, 1 something failed, 2 the file is invalid."
    )]
    Run {
        #[command(flatten)]
        configuration: ConfigurationFile,
    },

    /// Checks a file as `run` does, with all files that it names, and shows who may sign with what. It doesn't listen.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera signer check signer.toml

Exit codes: 0 it could run, 1 the table could not be written, 2 the file is invalid."
    )]
    Check {
        #[command(flatten)]
        configuration: ConfigurationFile,
    },
}
