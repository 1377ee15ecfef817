//! `tessera orchestrator`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use tessera_kit::ProgramError;
use tessera_orchestrator::operator::ApiAddress;
use tessera_orchestrator::state::WaitFor;

use super::configuration_file::ConfigurationFile;

/// The commands of `tessera orchestrator`.
#[derive(Subcommand)]
pub(crate) enum Orchestrator {
    /// Runs an orchestrator of the pool that a file configures. Run two or more, on different hosts.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera orchestrator check /etc/tessera/orchestrator/orchestrator.toml && tessera orchestrator run /etc/tessera/orchestrator/orchestrator.toml

Ctrl-C and SIGTERM end it; another orchestrator, or the next start, goes on with its moves.
Exit codes: 0 it was asked to end, 1 something failed, 2 the file is invalid."
    )]
    Run {
        #[command(flatten)]
        configuration: ConfigurationFile,
    },

    /// Checks a file as `run` does, with all files that it names, and shows what it would do. It opens no store.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera orchestrator check orchestrator.toml

Exit codes: 0 it could run, 1 the table could not be written, 2 the file is invalid."
    )]
    Check {
        #[command(flatten)]
        configuration: ConfigurationFile,
    },

    /// Moves a client to a proxy, and waits until it is sent there.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera orchestrator move dns:drone-7.example b --server o.example:8444 --ca ca.pem --certificate ops.pem
  tessera orchestrator move dns:drone-7.example auto --wait switched --queue --server o.example:8444 --ca ca.pem --certificate ops.pem

Exit codes: 0 the move is where it was waited for, or still under way, 1 it was refused or given up, or the orchestrator
can't be reached, 2 a file is invalid."
    )]
    Move {
        /// The client's name: `dns:NAME` or `uri:URI` of its certificate, or what services get in `tessera-client`, decoded.
        client: String,

        /// The proxy's name, or `auto`: the one with the fewest clients, or none if that is little better.
        to: String,

        /// What to wait for.
        #[arg(long, value_enum, default_value = "announced")]
        wait: Wait,

        /// Waits until the client can move, in place of an earlier request that waits.
        #[arg(long)]
        queue: bool,

        /// Prints the binding as a JSON object.
        #[arg(long)]
        json: bool,

        #[command(flatten)]
        api: ApiArguments,
    },

    /// Gives the move of a client up. The client stays where it is.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera orchestrator abort dns:drone-7.example --server o.example:8444 --ca ca.pem --certificate ops.pem

Exit codes: 0 it is given up, or there was none, 1 the client has moved already, or the orchestrator can't be reached, 2 a
file is invalid."
    )]
    Abort {
        /// The client's name: `dns:NAME` or `uri:URI` of its certificate, or what services get in `tessera-client`, decoded.
        client: String,

        /// Prints the binding as a JSON object.
        #[arg(long)]
        json: bool,

        #[command(flatten)]
        api: ApiArguments,
    },

    /// Drains a proxy: its clients move to others, those that come later too, until that is undone.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera orchestrator drain a --server o.example:8444 --ca ca.pem --certificate ops.pem
  tessera orchestrator drain a --undo --server o.example:8444 --ca ca.pem --certificate ops.pem

Exit codes: 0 it is remembered, 1 the proxy isn't live, or the orchestrator can't be reached, 2 a file is invalid."
    )]
    Drain {
        /// The proxy's name.
        proxy: String,

        /// Lets the proxy take clients again.
        #[arg(long)]
        undo: bool,

        #[command(flatten)]
        api: ApiArguments,
    },

    /// Evacuates a site: drains all its proxies, those that are started later too, until that is undone.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera orchestrator evacuate north --server o.example:8444 --ca ca.pem --certificate ops.pem
  tessera orchestrator evacuate north --undo --server o.example:8444 --ca ca.pem --certificate ops.pem

Exit codes: 0 it is remembered, 1 no live proxy is there, or the orchestrator can't be reached, 2 a file is invalid."
    )]
    Evacuate {
        /// The site's name.
        site: String,

        /// Lets its proxies take clients again.
        #[arg(long)]
        undo: bool,

        #[command(flatten)]
        api: ApiArguments,
    },

    /// Shows the proxies of the pool with their clients, and what is drained; or where a client is, or all of them.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera orchestrator status --server o.example:8444 --ca ca.pem --certificate ops.pem
  tessera orchestrator status --clients --server o.example:8444 --ca ca.pem --certificate ops.pem | grep ': at a'
  tessera orchestrator status dns:drone-7.example --json --server o.example:8444 --ca ca.pem --certificate ops.pem | jq .owner

Exit codes: 0 all is well, 1 the orchestrator can't reach the store or can't be reached, or the client is unknown, 2 a file
is invalid."
    )]
    Status {
        /// A client's name. Default: the whole pool.
        client: Option<String>,

        /// Lists all clients, one a line.
        #[arg(long, conflicts_with = "client")]
        clients: bool,

        /// Prints one JSON object instead of text; with `--clients`, one a line.
        #[arg(long)]
        json: bool,

        #[command(flatten)]
        api: ApiArguments,
    },
}

/// When `move` ends.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Wait {
    /// The client is sent to the next proxy.
    Announced,
    /// The client's first request has come there.
    Switched,
    /// The move has begun.
    None,
}

/// How to reach the API of an orchestrator.
#[derive(Args)]
pub(crate) struct ApiArguments {
    /// Where it listens: `host:port`.
    #[arg(long, value_name = "ADDRESS")]
    server: String,

    /// The roots for its certificate (PEM).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    ca: PathBuf,

    /// The operator's certificate (PEM).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    certificate: PathBuf,

    /// Its private key (PEM). Default: in the file of the certificate.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    key: Option<PathBuf>,

    /// The name in the orchestrator's certificate. Default: the host of the address.
    #[arg(long, value_name = "NAME")]
    server_name: Option<String>,
}

impl From<Wait> for WaitFor {
    fn from(wait: Wait) -> Self {
        match wait {
            Wait::Announced => Self::Announced,
            Wait::Switched => Self::Switched,
            Wait::None => Self::None,
        }
    }
}

impl ApiArguments {
    pub(crate) fn address(&self) -> Result<ApiAddress, ProgramError> {
        let server = self.server.parse();
        Ok(ApiAddress {
            server: server.map_err(|error| ProgramError::settings(format!("--server: {error}")))?,
            server_name: self.server_name.clone(),
            ca: self.ca.clone(),
            certificate: self.certificate.clone(),
            key: self.key.clone(),
        })
    }
}
