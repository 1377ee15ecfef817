//! The client end of a tunnel.

use std::path::PathBuf;

use clap::ValueEnum;
use serde::Deserialize;

use super::options::{self, CERTIFICATES, EARLY_DATA};
use super::{ClientLimits, DialAddress, KeySource, ListenAddress};

section! {
    /// `[client.NAME]`: accepts connections of programs, and carries each to the server end in its own TLS connection.
    ClientSection as "client" with ClientLimits {
        /// Where programs connect to.
        #[arg(long, value_name = "[ADDRESS:]PORT|unix:PATH|systemd:NAME")]
        listen: ListenAddress,

        /// The server end; every address of a name is tried in turn.
        #[arg(long, value_name = "HOST:PORT|unix:PATH")]
        connect: DialAddress,
    }

    /// The name that the server's certificate must have, also sent to the server; that of --connect by default.
    #[arg(long, value_name = "NAME")]
    server_name: Option<String>,

    /// Keeps sessions in this directory, so that the first connection after a restart can carry early data.
    #[arg(long, value_name = "DIRECTORY", help_heading = CERTIFICATES)]
    #[serde(deserialize_with = "super::values::some_path")]
    sessions: Option<PathBuf>,

    /// The key that wraps these sessions.
    #[arg(long, value_name = "FILE|credential:NAME", value_parser = options::key_source, requires = "sessions",
          help_heading = CERTIFICATES)]
    #[serde(deserialize_with = "super::values::some_key")]
    sessions_key: Option<KeySource>,

    /// The key exchange of connections that begin with early data: `psk_dhe_ke`, or `psk_ke`, which is cheaper, but
    /// weaker against an attacker who read the server's vault before (docs/0rtt-fs.md).
    #[arg(long, value_name = "MODE", value_enum, default_value_t, help_heading = EARLY_DATA)]
    early_key_exchange: EarlyKeyExchange,

    /// How many connections to keep ready, with the handshake done, for new programs. They carry no early data.
    #[arg(long, value_name = "N", default_value_t, help_heading = EARLY_DATA)]
    spare: usize,
}

tessera_proxy::lasting!(ClientSection:
    listen, connect, server_name, sessions, sessions_key, spare, tcp_fast_open, limits);

/// The key exchange of connections that begin with early data (docs/0rtt-fs.md).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum EarlyKeyExchange {
    /// With a fresh key exchange for the rest of the connection.
    #[default]
    #[value(help = None)]
    PskDheKe,
    /// Without: cheaper, but weaker if an attacker read the vault and the ticket before the flight came.
    #[value(help = None)]
    PskKe,
}
