//! Options of both ends of a tunnel.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tessera::wire::{CipherSuite, NamedGroup};
use tessera_tunnel::config::{Anchors, Early, KeySource, ListenAddress, LogFormat, Peers, Process};

use crate::arguments::values;

#[derive(Args)]
pub(super) struct SharedArguments {
    /// This end's certificate chain (PEM), the end entity first.
    #[arg(long, value_name = "FILE", help_heading = CERTIFICATES)]
    pub(super) certificate: Option<PathBuf>,

    /// The private key (PEM), unless it is in the file of the certificate. Without a certificate this end presents its
    /// raw public key.
    #[arg(long, value_name = "FILE", help_heading = CERTIFICATES)]
    pub(super) key: Option<PathBuf>,

    #[command(flatten)]
    pub(super) peers: PeersArguments,

    /// Whether the first flight carries data: `fs`, forward-secret and accepted at most once, or `never`.
    #[arg(long, value_name = "fs|never", default_value = "fs", help_heading = EARLY_DATA)]
    pub(super) early: EarlyArgument,

    /// Sends first flights in TCP's SYN (TCP Fast Open, RFC 7413): saves a round trip, and uses a cookie that links
    /// this machine's connections for observers on the path. See docs/fast-open.md.
    #[arg(long, help_heading = EARLY_DATA)]
    pub(super) tcp_fast_open: bool,

    #[arg(long, value_name = "GROUPS", value_delimiter = ',', value_parser = tessera_kit::names::group,
          help = tessera_kit::names::groups_in_words())]
    pub(super) groups: Vec<NamedGroup>,

    #[arg(long, value_name = "SUITES", value_delimiter = ',', value_parser = tessera_kit::names::suite,
          help = tessera_kit::names::suites_in_words())]
    pub(super) suites: Vec<CipherSuite>,

    #[command(flatten)]
    process: ProcessArguments,
}

/// Which peers are accepted.
#[derive(Args)]
pub(super) struct PeersArguments {
    /// The roots that the other end's certificate must chain to (PEM); at a client also `system`.
    #[arg(long, value_name = "FILE", value_parser = anchors, help_heading = PEERS)]
    ca: Option<Anchors>,

    /// Revocation lists (PEM) for such certificates. May be repeated.
    #[arg(long, value_name = "FILE", requires = "ca", help_heading = PEERS)]
    crl: Vec<PathBuf>,

    /// DNS names, separated by commas; the other end's certificate must have one of them. At a client they replace the
    /// server's name.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "ca", help_heading = PEERS)]
    names: Vec<String>,

    /// URIs, separated by commas; it must have one of them.
    #[arg(long, value_name = "URIS", value_delimiter = ',', requires = "ca", help_heading = PEERS)]
    uris: Vec<String>,

    /// Accepts every client with a certificate of --ca.
    #[arg(long, requires = "ca", help_heading = PEERS)]
    any_of_ca: bool,

    /// Accepts certificates by their SHA-256, separated by commas.
    #[arg(long, value_name = "SHA256", value_delimiter = ',', help_heading = PEERS)]
    fingerprints: Vec<String>,

    /// A raw public key of a peer (PEM). May be repeated.
    #[arg(long, value_name = "FILE", help_heading = PEERS)]
    public_keys: Vec<PathBuf>,

    /// External PSKs, IDENTITY:HEX a line.
    #[arg(long, value_name = "FILE", help_heading = PEERS)]
    psk_file: Option<PathBuf>,
}

#[derive(Args)]
struct ProcessArguments {
    /// Serves metrics and health to this machine's monitoring: /metrics, /healthz, /readyz.
    #[arg(long, value_name = "[ADDRESS:]PORT|unix:PATH", help_heading = PROCESS)]
    admin: Option<ListenAddress>,

    /// The format of log lines on standard error. Text on a terminal by default, otherwise JSON.
    #[arg(long, value_name = "text|json", help_heading = PROCESS)]
    log: Option<LogFormat>,

    /// How long connections may take to end when the process shuts down.
    #[arg(long, value_name = "TIME", default_value = "30s", help_heading = PROCESS,
          value_parser = |text: &str| values::time(text, ["1ms", "1d"]))]
    drain: Duration,
}

/// Limits of both ends.
#[derive(Args)]
pub(super) struct CommonLimits {
    /// The most connections at a time; further ones wait. 10000 by default.
    #[arg(id = "limit_connections", long = "limit-connections", value_name = "N", help_heading = LIMITS)]
    pub(super) connections: Option<usize>,

    /// The most connections per address. All of them by default at a client, an eighth at a server.
    #[arg(id = "limit_connections_per_address", long = "limit-connections-per-address", value_name = "N",
          help_heading = LIMITS)]
    pub(super) connections_per_address: Option<usize>,

    /// How long a TLS handshake may take; 10s by default. At a server the PROXY header before it may take as long
    /// again.
    #[arg(id = "limit_handshake", long = "limit-handshake", value_name = "TIME", value_parser = limit,
          help_heading = LIMITS)]
    pub(super) handshake: Option<Duration>,

    /// How long dialling may take, over all addresses; 5s by default.
    #[arg(id = "limit_connect", long = "limit-connect", value_name = "TIME", value_parser = limit,
          help_heading = LIMITS)]
    pub(super) connect: Option<Duration>,

    /// Ends a connection that is idle for this long; 12h by default.
    #[arg(id = "limit_idle", long = "limit-idle", value_name = "TIME", value_parser = limit, help_heading = LIMITS)]
    pub(super) idle: Option<Duration>,

    /// Ends a connection whose reader reads nothing for this long; 30s by default.
    #[arg(id = "limit_write", long = "limit-write", value_name = "TIME", value_parser = limit, help_heading = LIMITS)]
    pub(super) write: Option<Duration>,
}

pub(super) const PEERS: &str = "The other end";
pub(super) const CERTIFICATES: &str = "This end";
pub(super) const EARLY_DATA: &str = "Early data";
pub(super) const LIMITS: &str = "Limits";
const PROCESS: &str = "Process";

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum EarlyArgument {
    Fs,
    Never,
}

/// Parses a file, or a credential by its name.
pub(super) fn key_source(text: &str) -> Result<KeySource, String> {
    KeySource::try_from(text.to_owned()).map_err(str::to_owned)
}

#[allow(clippy::unnecessary_wraps, reason = "clap's form of a parser")]
fn anchors(text: &str) -> Result<Anchors, String> {
    Ok(if text == "system" { Anchors::System } else { Anchors::File(text.into()) })
}

/// Parses the time of a limit.
fn limit(text: &str) -> Result<Duration, String> {
    values::time(text, ["1ms", "7d"])
}

impl SharedArguments {
    pub(super) fn process(&self) -> Process {
        let ProcessArguments { admin, log, drain } = &self.process;
        Process { admin: admin.clone(), log: *log, drain: *drain }
    }
}

impl From<EarlyArgument> for Early {
    fn from(early: EarlyArgument) -> Self {
        match early {
            EarlyArgument::Fs => Self::Fs,
            EarlyArgument::Never => Self::Never,
        }
    }
}

impl From<PeersArguments> for Peers {
    fn from(arguments: PeersArguments) -> Self {
        Self {
            ca: arguments.ca,
            crl: arguments.crl,
            names: arguments.names,
            uris: arguments.uris,
            any_of_ca: arguments.any_of_ca,
            fingerprints: arguments.fingerprints,
            public_keys: arguments.public_keys,
            psk_file: arguments.psk_file,
        }
    }
}
