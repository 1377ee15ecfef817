//! `tessera stek`.

use clap::Subcommand;

use super::configuration_file::ConfigurationFile;

/// The commands of `tessera stek`.
#[derive(Subcommand)]
pub(crate) enum Stek {
    /// Runs the sidecar of this host: gives the ring's ticket keys to the servers that a file configures.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera stek check /etc/tessera/stek.toml && tessera stek run /etc/tessera/stek.toml

Ctrl-C and SIGTERM end it; the servers keep their keys, which a new start takes up.
Exit codes: 0 it was asked to end, 1 something failed, 2 the file is invalid."
    )]
    Run {
        #[command(flatten)]
        configuration: ConfigurationFile,
    },

    /// Checks a file as `run` does, with all files that it names, and shows what it would do. It opens no store, and
    /// reaches no server.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera stek check stek.toml

Exit codes: 0 it could run, 1 the table could not be written, 2 the file is invalid."
    )]
    Check {
        #[command(flatten)]
        configuration: ConfigurationFile,
    },

    /// Shows the keys, the members and what each holds, as a running sidecar sees them.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera stek status stek.toml
  tessera stek status stek.toml --json | jq .waiting_for

Exit codes: 0 all is well, 1 a member is behind, or the sidecar can't be reached, 2 the file is invalid."
    )]
    Status {
        #[command(flatten)]
        configuration: ConfigurationFile,

        /// Prints one JSON object instead of text.
        #[arg(long)]
        json: bool,
    },

    /// Rotates now: the next key begins to seal at all members, if all hold it.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera stek rotate stek.toml

Exit codes: 0 the key seals, 1 a member doesn't hold it yet, or the sidecar can't be reached, 2 the file is invalid."
    )]
    Rotate {
        #[command(flatten)]
        configuration: ConfigurationFile,
    },

    /// Replaces all keys at once, for example after a theft. Clients make full handshakes, and none fails.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera stek revoke stek.toml --now

A member that can't reach the store goes on with the earlier keys until they end.
Exit codes: 0 the keys are replaced, 1 the sidecar or the store can't be reached, 2 the file is invalid."
    )]
    Revoke {
        #[command(flatten)]
        configuration: ConfigurationFile,

        /// Confirms that every ticket of the fleet becomes worthless.
        #[arg(long, required = true)]
        now: bool,
    },

    /// Demonstrates the ring in a few seconds, with the servers that are installed: two HAProxys, two nginx, two Envoys, on
    /// loopback. Keys rotate, a server is killed, all keys are revoked, and clients come back each time. It ends by itself.
    #[cfg(feature = "demo")]
    #[command(after_help = "\
Examples:
  tessera stek demo
  tessera stek demo --json    one object a line

Exit codes: 0 everything went as expected, 1 something did not, or none of the servers is installed.")]
    Demo {
        /// Prints one JSON object per line instead of the trace.
        #[arg(long)]
        json: bool,
    },
}
