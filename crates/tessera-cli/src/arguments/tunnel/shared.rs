//! What both ends of a tunnel take.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tessera::wire::{CipherSuite, NamedGroup};
use tessera_tunnel::config::{Anchors, Early, KeySource, ListenAddress, LogFormat, Peers, Process};

use crate::arguments::values;

#[derive(Args)]
pub(super) struct SharedArguments {
    /// This end's certificate chain (PEM), its own certificate first.
    #[arg(long, value_name = "FILE", help_heading = CERTIFICATES)]
    pub(super) certificate: Option<PathBuf>,

    /// The private key (PEM); may be left out if it is in the file of the certificate. Without a certificate
    /// this end shows the raw public key of it.
    #[arg(long, value_name = "FILE", help_heading = CERTIFICATES)]
    pub(super) key: Option<PathBuf>,

    #[command(flatten)]
    pub(super) peers: PeersArguments,

    /// Whether data goes in the first flight: `fs`, forward-secret and accepted at most once, or `never`.
    #[arg(long, value_name = "fs|never", default_value = "fs", help_heading = EARLY_DATA)]
    pub(super) early: EarlyArgument,

    /// First flights in TCP's SYN (TCP Fast Open, RFC 7413): one round trip less, and a cookie that links this
    /// machine's connections for whoever sees the path. See docs/fast-open.md.
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

/// Who the other end may be.
#[derive(Args)]
pub(super) struct PeersArguments {
    /// The roots by which the other end's certificate is judged (PEM); at a client also `system`.
    #[arg(long, value_name = "FILE", value_parser = anchors, help_heading = PEERS)]
    ca: Option<Anchors>,

    /// Revocation lists (PEM) for such certificates. May be repeated.
    #[arg(long, value_name = "FILE", requires = "ca", help_heading = PEERS)]
    crl: Vec<PathBuf>,

    /// DNS names, one of which the other end's certificate has, separated by commas. At a client they stand
    /// for the server's name.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "ca", help_heading = PEERS)]
    names: Vec<String>,

    /// URIs, one of which it has, separated by commas.
    #[arg(long, value_name = "URIS", value_delimiter = ',', requires = "ca", help_heading = PEERS)]
    uris: Vec<String>,

    /// Whoever has a certificate of --ca may connect to this server.
    #[arg(long, requires = "ca", help_heading = PEERS)]
    any_of_ca: bool,

    /// Certificates by their SHA-256, separated by commas.
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
    /// Where metrics and health are served, for this machine's monitoring: /metrics, /healthz, /readyz.
    #[arg(long, value_name = "[ADDRESS:]PORT|unix:PATH", help_heading = PROCESS)]
    admin: Option<ListenAddress>,

    /// How log lines look on standard error. By default text on a terminal, and JSON elsewhere.
    #[arg(long, value_name = "text|json", help_heading = PROCESS)]
    log: Option<LogFormat>,

    /// How long connections may take to end when the process is asked to.
    #[arg(long, value_name = "TIME", default_value = "30s", help_heading = PROCESS,
          value_parser = |text: &str| values::time(text, ["1ms", "1d"]))]
    drain: Duration,
}

/// What either end limits.
#[derive(Args)]
pub(super) struct CommonLimits {
    /// How many connections there may be at a time; others wait. 10000 by default.
    #[arg(id = "limit_connections", long = "limit-connections", value_name = "N", help_heading = LIMITS)]
    pub(super) connections: Option<usize>,

    /// How many of them one address may have. By default all of them at a client, and an eighth at a server.
    #[arg(id = "limit_connections_per_address", long = "limit-connections-per-address", value_name = "N",
          help_heading = LIMITS)]
    pub(super) connections_per_address: Option<usize>,

    /// How long a TLS handshake may take; 10s by default. At a server the PROXY header before it may take as long.
    #[arg(id = "limit_handshake", long = "limit-handshake", value_name = "TIME", value_parser = limit,
          help_heading = LIMITS)]
    pub(super) handshake: Option<Duration>,

    /// How long dialling may take, all addresses together; 5s by default.
    #[arg(id = "limit_connect", long = "limit-connect", value_name = "TIME", value_parser = limit,
          help_heading = LIMITS)]
    pub(super) connect: Option<Duration>,

    /// Ends a connection on which nothing moves for so long; 12h by default.
    #[arg(id = "limit_idle", long = "limit-idle", value_name = "TIME", value_parser = limit, help_heading = LIMITS)]
    pub(super) idle: Option<Duration>,

    /// Ends a connection whose reader doesn't read for so long; 30s by default.
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

/// A file, or a credential by its name.
pub(super) fn key_source(text: &str) -> Result<KeySource, String> {
    KeySource::try_from(text.to_owned()).map_err(str::to_owned)
}

#[allow(clippy::unnecessary_wraps, reason = "clap's form of a parser")]
fn anchors(text: &str) -> Result<Anchors, String> {
    Ok(if text == "system" { Anchors::System } else { Anchors::File(text.into()) })
}

/// A time that a limit may be.
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
