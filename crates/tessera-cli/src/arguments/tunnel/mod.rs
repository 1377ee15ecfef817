//! `tessera tunnel`.

mod examples;

use std::path::PathBuf;

use clap::{Args, Subcommand};
#[cfg(feature = "demo")]
use tessera_tunnel::DemoOptions;
use tessera_tunnel::Source;
use tessera_tunnel::config::{ClientSection, Process, ServerSection, Tunnels};

use super::configuration_file::ConfigurationFile;

/// The commands of `tessera tunnel`.
#[derive(Subcommand)]
pub(crate) enum Tunnel {
    /// Runs the end near a program: accepts its plain connections, and carries each to a server end.
    #[command(arg_required_else_help = true, after_help = examples::CLIENT)]
    Client(Box<End<ClientSection>>),

    /// Runs the end near a backend: accepts connections of client ends, and forwards their contents.
    #[command(arg_required_else_help = true, after_help = examples::SERVER)]
    Server(Box<End<ServerSection>>),

    /// Runs all tunnels that a file configures.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera tunnel check /etc/tessera/tunnel/db.toml && tessera tunnel run /etc/tessera/tunnel/db.toml
  systemctl enable --now tessera-tunnel@db     the same file, as a service
  systemctl reload tessera-tunnel@db           or SIGHUP: its files again, all or none

docs/tunnel.md has every key. Ctrl-C and SIGTERM end it: connections get the time of `drain` to end.
A listening socket that a supervisor hands over (systemd.socket(5)) is `listen = \"systemd:NAME\"`:
clients that connect between two processes then wait, and see no error.
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
  tessera tunnel check tunnels.toml
  tessera tunnel check tunnels.toml && systemctl reload tessera-tunnel@db

Exit codes: 0 it could run, 1 the table could not be written, 2 the file is invalid."
    )]
    Check {
        #[command(flatten)]
        configuration: ConfigurationFile,
    },

    /// Demonstrates a tunnel in a few seconds: both ends on loopback, a toy database, and an attacker on the path that
    /// records first flights and replays them. It ends by itself.
    #[cfg(feature = "demo")]
    #[command(after_help = "\
Examples:
  tessera tunnel demo
  tessera tunnel demo --json    one object a line

Exit codes: 0 nothing was executed twice, 1 something was, or something failed.")]
    Demo {
        /// Prints one JSON object per line instead of the trace.
        #[arg(long)]
        json: bool,
    },
}

/// One end of a tunnel: the options are the keys of its section, and those of the process.
#[derive(Args)]
pub(crate) struct End<S: Args> {
    #[command(flatten)]
    section: S,

    #[command(flatten)]
    process: Process,
}

/// The command, without clap's types.
pub(crate) enum Task {
    Run(Source),
    Check(PathBuf),
    #[cfg(feature = "demo")]
    Demo(DemoOptions),
}

impl From<Tunnel> for Task {
    fn from(tunnel: Tunnel) -> Self {
        match tunnel {
            Tunnel::Client(end) => {
                let End { section, process } = *end;
                let client = [(ON_COMMAND_LINE.to_owned(), section)].into();
                let tunnels = Tunnels { process, client, ..Tunnels::default() };
                Self::Run(Source::CommandLine(Box::new(tunnels)))
            }
            Tunnel::Server(end) => {
                let End { section, process } = *end;
                let server = [(ON_COMMAND_LINE.to_owned(), section)].into();
                let tunnels = Tunnels { process, server, ..Tunnels::default() };
                Self::Run(Source::CommandLine(Box::new(tunnels)))
            }
            Tunnel::Run { configuration } => Self::Run(Source::File(configuration.file)),
            Tunnel::Check { configuration } => Self::Check(configuration.file),
            #[cfg(feature = "demo")]
            Tunnel::Demo { json } => Self::Demo(DemoOptions { json }),
        }
    }
}

/// The name of the one tunnel of `client` and `server`, in logs and metrics.
const ON_COMMAND_LINE: &str = "tunnel";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;
    use tessera_tunnel::config::{
        Anchors, Early, EarlyKeyExchange, KeySource, LogFormat, TrustedNetworks,
    };

    use super::*;
    use crate::arguments::{Arguments, Command};

    fn tunnels(line: &str) -> Tunnels {
        let line = ["tessera", "tunnel"].into_iter().chain(line.split(' '));
        let arguments = Arguments::try_parse_from(line).unwrap_or_else(|error| panic!("{error}"));
        let Command::Tunnel { task } = arguments.command else { panic!("another command") };
        match Task::from(task) {
            Task::Run(Source::CommandLine(tunnels)) => *tunnels,
            _ => panic!("another task"),
        }
    }

    #[test]
    fn options_of_a_server_are_the_keys_of_its_section() {
        let mut tunnels = tunnels(
            "server --listen :8443 --forward 127.0.0.1:5432 --certificate s.pem --key s.key \
             --ca c.pem --names a.example,b.example --uris spiffe://x/y --crl c.crl --early never \
             --state /s --state-key credential:k --accept-proxy-from 10.0.0.0/8 --send-proxy \
             --send-proxy-identity --wait-for-client --tcp-fast-open --groups X25519 \
             --limit-connections 7 --limit-idle 3h --limit-new-per-second-per-address 9 \
             --admin 127.0.0.1:0 --log json --drain 2s",
        );
        assert_eq!(tunnels.process.admin, "127.0.0.1:0".parse().ok());
        assert_eq!(tunnels.process.log, Some(LogFormat::Json));
        assert_eq!(tunnels.process.drain, Duration::from_secs(2));
        assert!(tunnels.client.is_empty());
        let section: ServerSection = tunnels.server.remove(ON_COMMAND_LINE).unwrap();
        assert_eq!(section.listen.to_string(), ":8443");
        assert_eq!(section.forward.to_string(), "127.0.0.1:5432");
        assert_eq!(section.peers.ca, Some(Anchors::File("c.pem".into())));
        assert_eq!(section.peers.names, ["a.example", "b.example"]);
        assert_eq!((section.early, section.groups.len()), (Early::Never, 1));
        assert_eq!(section.state_key, Some(KeySource::Credential("k".to_owned())));
        let trusted = TrustedNetworks::new(section.accept_proxy_from);
        assert!(trusted.requires_header("10.1.2.3".parse().ok()));
        assert!(section.send_proxy && section.send_proxy_identity && section.wait_for_client);
        assert_eq!(section.limits.connections, 7);
        assert_eq!(section.limits.idle, Duration::from_secs(3 * 3600));
        assert_eq!(section.limits.new_per_second_per_address, Some(9));
    }

    #[test]
    fn options_of_a_client_are_the_keys_of_its_section() {
        let mut tunnels = tunnels(
            "client --listen 127.0.0.1:5432 --connect db.example:8443 --server-name db --ca system \
             --sessions /s --early-key-exchange psk_ke --spare 4 --limit-connect 2s",
        );
        let section: ClientSection = tunnels.client.remove(ON_COMMAND_LINE).unwrap();
        assert_eq!((section.listen.to_string().as_str(), section.spare), ("127.0.0.1:5432", 4));
        assert_eq!(section.server_name.as_deref(), Some("db"));
        assert_eq!(section.peers.ca, Some(Anchors::System));
        assert_eq!(section.early_key_exchange, EarlyKeyExchange::PskKe);
        assert_eq!(section.limits.connect, Duration::from_secs(2));
        let plain = ClientSection::new(section.listen, section.connect);
        assert_eq!(section.limits.handshake, plain.limits.handshake);
    }
}
