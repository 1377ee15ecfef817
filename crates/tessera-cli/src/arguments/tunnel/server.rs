//! `tessera tunnel server`.

use std::path::PathBuf;

use clap::Args;
use tessera_tunnel::config::{
    DialAddress, KeySource, ListenAddress, Network, Process, ServerLimits, ServerSection,
    TrustedNetworks,
};

use super::shared::{CommonLimits, LIMITS, SharedArguments, key_source};

pub(crate) const EXAMPLES: &str = "\
Examples:
  tessera tunnel server --listen :8443 --forward 127.0.0.1:5432 \\
      --certificate db.pem --key db.key --ca ca.pem --names app.example
  tessera tunnel server ... --state /var/lib/tessera     a restart costs clients nothing
  tessera tunnel server ... --send-proxy --send-proxy-identity   the backend learns of the client
  tessera tunnel server ... --admin 127.0.0.1:9464       metrics and health

The options are the keys of a [server.NAME] section (docs/tunnel.md); a fleet of servers needs a file.
Exit codes: 0 it was asked to end, 1 something failed, 2 the options can't be as they are.";

#[derive(Args)]
pub(crate) struct ServerArguments {
    /// The address for client ends to connect to.
    #[arg(long, value_name = "[ADDRESS:]PORT|unix:PATH|systemd:NAME")]
    listen: ListenAddress,

    /// The backend; every address of a name is tried in turn.
    #[arg(long, value_name = "HOST:PORT|unix:PATH")]
    forward: DialAddress,

    /// Keeps ticket keys and one-time keys in this directory, sealed, so that a restart costs clients nothing. Each
    /// server needs its own directory; don't back it up.
    #[arg(long, value_name = "DIRECTORY", help_heading = STATE)]
    state: Option<PathBuf>,

    /// The key of that directory. By default the server keeps one below $RUNTIME_DIRECTORY, /run/tessera (root) or
    /// $XDG_RUNTIME_DIR, or if those two are no tmpfs (containers) in /dev/shm: the state ends with the power, or the
    /// container.
    #[arg(long, value_name = "FILE|credential:NAME", value_parser = key_source, requires = "state",
          help_heading = STATE)]
    state_key: Option<KeySource>,

    /// A directory on another file system, with which the server detects a state that was rolled back. With --state-key
    /// nothing else detects that.
    #[arg(long, value_name = "DIRECTORY", requires = "state_key", help_heading = STATE)]
    state_witness: Option<PathBuf>,

    /// Networks whose connections begin with a PROXY header (version 2), separated by commas; `unix` for Unix sockets.
    /// The header is then required.
    #[arg(long, value_name = "NETWORKS", value_delimiter = ',', help_heading = PROXY)]
    accept_proxy_from: Vec<Network>,

    /// Sends the backend a PROXY header (version 2).
    #[arg(long, help_heading = PROXY)]
    send_proxy: bool,

    /// Adds to it the client's identity, and the name of the flight with the early data.
    #[arg(long, requires = "send_proxy", help_heading = PROXY)]
    send_proxy_identity: bool,

    /// Dials the backend only when the client's first byte arrives, for clients with --spare.
    #[arg(long)]
    wait_for_client: bool,

    #[command(flatten)]
    limits: LimitArguments,

    #[command(flatten)]
    shared: SharedArguments,
}

const STATE: &str = "Restarts";
const PROXY: &str = "PROXY protocol";

#[derive(Args)]
struct LimitArguments {
    #[command(flatten)]
    common: CommonLimits,

    /// The most handshakes at a time; further ones wait.
    #[arg(long, value_name = "N", help_heading = LIMITS)]
    limit_handshakes: Option<usize>,

    /// The most handshakes per address; an eighth of all by default.
    #[arg(long, value_name = "N", help_heading = LIMITS)]
    limit_handshakes_per_address: Option<usize>,

    /// The most new connections per second and address; unlimited by default.
    #[arg(long, value_name = "N", help_heading = LIMITS)]
    limit_new_per_second_per_address: Option<u32>,
}

impl ServerArguments {
    pub(super) fn into_section(self) -> (ServerSection, Process) {
        let process = self.shared.process();
        let shared = self.shared;
        let section = ServerSection {
            certificate: shared.certificate,
            key: shared.key,
            peers: shared.peers.into(),
            early: shared.early.into(),
            state: self.state,
            state_key: self.state_key,
            state_witness: self.state_witness,
            accept_proxy_from: TrustedNetworks::new(self.accept_proxy_from),
            send_proxy: self.send_proxy,
            send_proxy_identity: self.send_proxy_identity,
            wait_for_client: self.wait_for_client,
            tcp_fast_open: shared.tcp_fast_open,
            groups: shared.groups,
            suites: shared.suites,
            limits: self.limits.into(),
            ..ServerSection::new(self.listen, self.forward)
        };
        (section, process)
    }
}

impl From<LimitArguments> for ServerLimits {
    fn from(arguments: LimitArguments) -> Self {
        let (limits, default) = (arguments.common, Self::default());
        Self {
            connections: limits.connections.unwrap_or(default.connections),
            connections_per_address: limits.connections_per_address,
            handshakes: arguments.limit_handshakes,
            handshakes_per_address: arguments.limit_handshakes_per_address,
            new_per_second_per_address: arguments.limit_new_per_second_per_address,
            handshake: limits.handshake.unwrap_or(default.handshake),
            connect: limits.connect.unwrap_or(default.connect),
            idle: limits.idle.unwrap_or(default.idle),
            write: limits.write.unwrap_or(default.write),
        }
    }
}
