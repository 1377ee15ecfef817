//! The client end of a tunnel.

use std::path::PathBuf;

use serde::Deserialize;
use tessera::wire::{CipherSuite, NamedGroup};

use super::{ClientLimits, DialAddress, Early, KeySource, ListenAddress, Peers, values};

/// `[client.NAME]`: takes connections of programs, and carries each to the server end in a TLS connection of its own.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClientSection {
    /// Where it listens: `127.0.0.1:5432`, `unix:/run/x.sock`, `systemd:NAME`.
    pub listen: ListenAddress,
    /// The server end: `db.example:8443`. Every address of a name is tried.
    pub connect: DialAddress,
    /// The name that the server's certificate is judged by. Default: the host of `connect`.
    pub server_name: Option<String>,
    /// The certificate chain, PEM, this end's own first.
    #[serde(default, deserialize_with = "values::some_path")]
    pub certificate: Option<PathBuf>,
    /// Its private key, PEM. Default: in the file of the certificate. Without a certificate this end shows the raw
    /// public key of it (RFC 7250).
    #[serde(default, deserialize_with = "values::some_path")]
    pub key: Option<PathBuf>,
    /// Who the server may be.
    #[serde(default)]
    pub peers: Peers,
    /// Whether a program's first bytes go in the first flight. Default: forward-secret, at most once.
    #[serde(default)]
    pub early: Early,
    /// The key exchange of connections that begin with early data. Default: `psk_dhe_ke`.
    #[serde(default)]
    pub early_key_exchange: EarlyKeyExchange,
    /// The directory in which sessions survive a restart. Default: memory alone.
    #[serde(default, deserialize_with = "values::some_path")]
    pub sessions: Option<PathBuf>,
    /// The key under which they are wrapped.
    #[serde(default, deserialize_with = "values::some_key")]
    pub sessions_key: Option<KeySource>,
    /// How many connections are kept ready, without early data. Default: 0.
    #[serde(default)]
    pub spare: usize,
    /// Whether the first flight goes in the SYN (TCP Fast Open, RFC 7413). Default: no.
    #[serde(default)]
    pub tcp_fast_open: bool,
    /// The groups, in order of preference. Default: those that are not rare.
    #[serde(default, deserialize_with = "values::groups")]
    pub groups: Vec<NamedGroup>,
    /// The cipher suites, in order of preference. Default: all.
    #[serde(default, deserialize_with = "values::suites")]
    pub suites: Vec<CipherSuite>,
    /// How much programs may have, and how long things may take.
    #[serde(default)]
    pub limits: ClientLimits,
}

/// The key exchange of connections that begin with early data (docs/0rtt-fs.md).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum EarlyKeyExchange {
    /// With a fresh key agreement for the rest of the connection.
    #[default]
    #[serde(rename = "psk_dhe_ke")]
    PskDheKe,
    /// Without: cheaper, and weaker where somebody read the vault and the ticket before the flight came.
    #[serde(rename = "psk_ke")]
    PskKe,
}

impl ClientSection {
    /// A section with nothing but what it needs.
    pub fn new(listen: ListenAddress, connect: DialAddress) -> Self {
        Self {
            listen,
            connect,
            server_name: None,
            certificate: None,
            key: None,
            peers: Peers::default(),
            early: Early::default(),
            early_key_exchange: EarlyKeyExchange::default(),
            sessions: None,
            sessions_key: None,
            spare: 0,
            tcp_fast_open: false,
            groups: Vec::new(),
            suites: Vec::new(),
            limits: ClientLimits::default(),
        }
    }
}

tessera_proxy::lasting!(ClientSection:
    listen, connect, server_name, sessions, sessions_key, spare, tcp_fast_open, limits);
