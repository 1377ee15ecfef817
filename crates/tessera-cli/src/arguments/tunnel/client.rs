//! `tessera tunnel client`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tessera_tunnel::config::{
    ClientLimits, ClientSection, DialAddress, EarlyKeyExchange, KeySource, ListenAddress, Process,
};

use super::shared::{CERTIFICATES, CommonLimits, EARLY_DATA, SharedArguments, key_source};

pub(crate) const EXAMPLES: &str = "\
Examples:
  tessera tunnel client --listen 127.0.0.1:5432 --connect db.example:8443 \\
      --certificate app.pem --key app.key --ca ca.pem
  then: psql 'host=127.0.0.1 port=5432 sslmode=disable gssencmode=disable'
  tessera tunnel client ... --sessions ~/.cache/tunnel   early data after a restart too
  tessera tunnel client ... --early never --spare 4      connections kept ready instead of early data

The options are the keys of a [client.NAME] section (docs/tunnel.md).
Exit codes: 0 it was asked to end, 1 something failed, 2 the options can't be as they are.";

#[derive(Args)]
pub(crate) struct ClientArguments {
    /// The address for programs to connect to.
    #[arg(long, value_name = "[ADDRESS:]PORT|unix:PATH|systemd:NAME")]
    listen: ListenAddress,

    /// The server end; every address of a name is tried in turn.
    #[arg(long, value_name = "HOST:PORT|unix:PATH")]
    connect: DialAddress,

    /// The name that the server's certificate must have, also sent as SNI; that of --connect by default.
    #[arg(long, value_name = "NAME")]
    server_name: Option<String>,

    /// Keeps sessions in this directory, so that the first connection after a restart can carry early data.
    #[arg(long, value_name = "DIRECTORY", help_heading = CERTIFICATES)]
    sessions: Option<PathBuf>,

    /// The key that these sessions are wrapped under.
    #[arg(long, value_name = "FILE|credential:NAME", value_parser = key_source, requires = "sessions",
          help_heading = CERTIFICATES)]
    sessions_key: Option<KeySource>,

    /// The key exchange of connections that begin with early data: `psk_dhe_ke`, or `psk_ke`, which is cheaper, and
    /// weaker against an attacker who read the server's vault before (docs/0rtt-fs.md).
    #[arg(long, value_name = "MODE", default_value = "psk_dhe_ke", help_heading = EARLY_DATA)]
    early_key_exchange: KeyExchangeArgument,

    /// How many connections to keep ready for programs, with the handshake done. They carry no early data.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = EARLY_DATA)]
    spare: usize,

    #[command(flatten)]
    limits: CommonLimits,

    #[command(flatten)]
    shared: SharedArguments,
}

#[derive(Clone, Copy, ValueEnum)]
enum KeyExchangeArgument {
    #[value(name = "psk_dhe_ke")]
    PskDheKe,
    #[value(name = "psk_ke")]
    PskKe,
}

impl ClientArguments {
    pub(super) fn into_section(self) -> (ClientSection, Process) {
        let process = self.shared.process();
        let shared = self.shared;
        let section = ClientSection {
            server_name: self.server_name,
            certificate: shared.certificate,
            key: shared.key,
            peers: shared.peers.into(),
            early: shared.early.into(),
            early_key_exchange: match self.early_key_exchange {
                KeyExchangeArgument::PskDheKe => EarlyKeyExchange::PskDheKe,
                KeyExchangeArgument::PskKe => EarlyKeyExchange::PskKe,
            },
            sessions: self.sessions,
            sessions_key: self.sessions_key,
            spare: self.spare,
            tcp_fast_open: shared.tcp_fast_open,
            groups: shared.groups,
            suites: shared.suites,
            limits: self.limits.into(),
            ..ClientSection::new(self.listen, self.connect)
        };
        (section, process)
    }
}

impl From<CommonLimits> for ClientLimits {
    fn from(limits: CommonLimits) -> Self {
        let default = Self::default();
        Self {
            connections: limits.connections.unwrap_or(default.connections),
            connections_per_address: limits.connections_per_address,
            handshake: limits.handshake.unwrap_or(default.handshake),
            connect: limits.connect.unwrap_or(default.connect),
            idle: limits.idle.unwrap_or(default.idle),
            write: limits.write.unwrap_or(default.write),
        }
    }
}
