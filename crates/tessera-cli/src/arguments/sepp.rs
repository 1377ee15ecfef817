//! `tessera sepp`.

use clap::Subcommand;

use super::configuration_file::ConfigurationFile;

/// The commands of `tessera sepp`.
#[derive(Subcommand)]
pub(crate) enum Sepp {
    /// Runs the SEPP that a file configures.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera sepp check /etc/tessera/sepp/sepp.toml && tessera sepp run /etc/tessera/sepp/sepp.toml
  systemctl enable --now tessera-sepp     the same file, as a service
  systemctl reload tessera-sepp           or SIGHUP: certificates, anchors, peers, rules: all or none

Ctrl-C and SIGTERM end it: requests in progress get the time of `drain`, and peers are notified (NONE).
With `admin` in [process], /peers shows all peers; POST /peers/FQDN/reestablish restarts N32-c, and
POST /peers/FQDN/drain ends N32 with a peer.
Exit codes: 0 it was asked to end, 1 something failed, 2 the file is invalid."
    )]
    Run {
        #[command(flatten)]
        configuration: ConfigurationFile,
    },

    /// Checks a file as `run` does, with all files that it names, and shows what it would do. It doesn't listen or
    /// connect.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera sepp check sepp.toml
  tessera sepp check sepp.toml && systemctl reload tessera-sepp

Exit codes: 0 it could run, 1 the table could not be written, 2 the file is invalid."
    )]
    Check {
        #[command(flatten)]
        configuration: ConfigurationFile,
    },

    /// Demonstrates a SEPP in a few seconds: three operators on loopback, a registration from abroad, connections that
    /// are lost and return, an attacker on the path that replays, and an operator that exceeds its rights. It ends by
    /// itself.
    #[cfg(feature = "demo")]
    #[command(after_help = "\
Examples:
  tessera sepp demo
  tessera sepp demo --json    one object a line

Exit codes: 0 everything went as expected, 1 something did not, or failed.")]
    Demo {
        /// Prints one JSON object per line instead of the trace.
        #[arg(long)]
        json: bool,
    },
}
