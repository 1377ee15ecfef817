//! `tessera edge`.

use clap::Subcommand;

use super::configuration_file::ConfigurationFile;

/// The commands of `tessera edge`.
#[derive(Subcommand)]
pub(crate) enum Edge {
    /// Runs a proxy of a pool, as a file configures it.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera edge check /etc/tessera/edge.toml && tessera edge run /etc/tessera/edge.toml
  kill -HUP PID     reads the file and the files that it names again: services, certificates; all or none

Ctrl-C and SIGTERM end it: open requests get the time of `drain`, and the other proxies take its clients over.
Exit codes: 0 it was asked to end, 1 something failed, 2 the file is invalid."
    )]
    Run {
        #[command(flatten)]
        configuration: ConfigurationFile,
    },

    /// Checks a file as `run` does, with all files that it names, and shows what it would do. It opens no store, and
    /// connects to nothing.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera edge check edge.toml

Exit codes: 0 it could run, 1 the table could not be written, 2 the file is invalid."
    )]
    Check {
        #[command(flatten)]
        configuration: ConfigurationFile,
    },

    /// Demonstrates a pool in a few seconds: three proxies on loopback, and a client that is moved from one to the next
    /// while it sends requests. Its session, its one-time keys and its state move along. It ends by itself.
    #[cfg(feature = "demo")]
    #[command(after_help = "\
Examples:
  tessera edge demo
  tessera edge demo --json    one object a line

Exit codes: 0 everything went as expected, 1 something did not, or failed.")]
    Demo {
        /// Prints one JSON object per line instead of the trace.
        #[arg(long)]
        json: bool,
    },
}
