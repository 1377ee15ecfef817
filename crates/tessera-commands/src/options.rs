//! What a server or client is asked to do.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tessera::wire::{CipherSuite, NamedGroup};
use tessera_kit::psk::NamedKey;
use tessera_kit::{KeySource, SettingFile};

/// What both sides can be told.
#[derive(Debug, Clone, Default)]
pub struct Common {
    /// This side's certificate and key.
    pub certificates: Option<CertificateFiles>,
    /// Roots (PEM) by which peers are judged.
    pub ca: Option<PathBuf>,
    /// Keys that were agreed outside of TLS.
    pub psks: PskOptions,
    /// Allow PSKs alone.
    pub psk_only_without_forward_secrecy: bool,
    /// The groups, in order of preference; empty for those that are not rare.
    pub groups: Vec<NamedGroup>,
    /// The suites, in order of preference; empty for all.
    pub suites: Vec<CipherSuite>,
    /// The application protocols, in order of preference.
    pub protocols: Vec<String>,
    /// The largest record to receive, in bytes (RFC 8449).
    pub record_size_limit: Option<u16>,
    /// Early data.
    pub early_data: EarlyData,
    /// Where peers' certificates are kept, so that they need not travel again; nowhere without.
    pub cache_certificates: Option<PathBuf>,
    /// Where the secrets of connections are written, for debugging.
    pub key_log: Option<PathBuf>,
    /// Where facts are written as JSON, one object a line; `-` is standard output.
    pub json: Option<PathBuf>,
    /// No words for people.
    pub quiet: bool,
}

impl Common {
    /// Where facts are written, with the option that says so.
    pub(crate) fn json_file(&self) -> Option<SettingFile<'_>> {
        self.json.as_deref().map(|path| SettingFile { setting: "--json", path })
    }

    /// Where peers' certificates are kept, with the option that says so.
    pub(crate) fn certificates_directory(&self) -> Option<SettingFile<'_>> {
        let directory = self.cache_certificates.as_deref();
        directory.map(|path| SettingFile { setting: "--cache-certificates", path })
    }
}

/// A certificate chain and its private key, in PEM.
#[derive(Debug, Clone)]
pub struct CertificateFiles {
    /// The chain, the end entity first.
    pub certificate: PathBuf,
    /// The key; `None` if it is in the same file.
    pub key: Option<PathBuf>,
}

/// External PSKs (RFC 9257).
#[derive(Debug, Clone, Default)]
pub struct PskOptions {
    /// Keys that were given directly.
    pub keys: Vec<NamedKey>,
    /// Files of keys, `IDENTITY:HEX` a line.
    pub files: Vec<PathBuf>,
    /// The hash of the keys.
    pub hash: PskHash,
    /// Import them (RFC 9258), with this context.
    pub import: Option<String>,
}

/// The hash of a PSK (RFC 8446 §4.2.11).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PskHash {
    /// SHA-256, where nothing was said.
    #[default]
    Sha256,
    /// SHA-384.
    Sha384,
}

/// Which early data is allowed.
#[derive(Debug, Clone, Copy, Default)]
pub struct EarlyData {
    /// Forward-secret, accepted at most once.
    pub forward_secret: bool,
    /// Replayable (RFC 8446 §8).
    pub replayable_without_forward_secrecy: bool,
}

/// A server.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// What both sides can be told.
    pub common: Common,
    /// Where to listen.
    pub listen: SocketAddr,
    /// Take data in SYNs (TCP Fast Open, RFC 7413).
    pub tcp_fast_open: bool,
    /// How clients are answered.
    pub answer: Answer,
    /// The names in a certificate that is made; `localhost` and the address without any.
    pub names: Vec<String>,
    /// Where the certificate that was made is written (PEM).
    pub write_certificate: Option<PathBuf>,
    /// Whether clients are asked for certificates.
    pub client_certificates: ClientCertificates,
    /// Revocation lists (PEM) for clients' certificates; none without.
    pub revocation_lists: Vec<PathBuf>,
    /// Tickets.
    pub tickets: Tickets,
    /// How many connections there may be at a time; others wait.
    pub max_connections: usize,
    /// How many of them one address may have, and how many handshakes; further ones are refused. `None`
    /// is an eighth of all.
    pub max_connections_per_address: Option<usize>,
    /// How long a connection may move nothing.
    pub idle_timeout: Duration,
    /// How long a client may read nothing of what is sent to it.
    pub write_timeout: Duration,
    /// How long a handshake may take.
    pub handshake_timeout: Duration,
    /// Where ticket keys and one-time keys survive a restart; nowhere without.
    pub state: Option<PathBuf>,
    /// Where the key of that directory is; in the runtime directory without.
    pub state_key: Option<KeySource>,
    /// The directory of a witness, which notices a state that was put back; nothing does without.
    pub state_witness: Option<PathBuf>,
}

/// How clients are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// With what they send.
    Echo,
    /// With a page about their connection.
    Http,
}

/// Whether clients are asked for certificates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClientCertificates {
    /// No.
    #[default]
    No,
    /// Those who have none are welcome too.
    Ask,
    /// Those who have none are refused.
    Require,
}

/// The tickets that a server gives.
#[derive(Debug, Clone, Copy)]
pub struct Tickets {
    /// How many after a full handshake, for clients that don't ask for a number; 0 for none at all.
    pub count: u8,
    /// How long each lives.
    pub lifetime: Duration,
}

/// A client.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// What both sides can be told.
    pub common: Common,
    /// To which name or address.
    pub host: String,
    /// And to which port.
    pub port: u16,
    /// Send the first flight with the SYN (TCP Fast Open, RFC 7413) where the system can.
    pub tcp_fast_open: bool,
    /// The name that the server's certificate must have; `host` without it.
    pub server_name: Option<String>,
    /// The SHA-256 of the only certificate to accept.
    pub fingerprint: Option<[u8; 32]>,
    /// Accept whatever certificate there is.
    pub insecure_accept_any_certificate: bool,
    /// Where sessions are kept.
    pub sessions: Option<PathBuf>,
    /// The key under which they are wrapped: 32 bytes, or as many in hexadecimal.
    pub sessions_key: Option<PathBuf>,
    /// How many tickets to ask for in a full handshake.
    pub tickets: u8,
    /// What is sent as early data.
    pub early_data_file: Option<PathBuf>,
    /// Whether the server ends the connection, and not the end of standard input.
    pub keep_open: bool,
    /// Many connections instead of one.
    pub load: Option<Load>,
}

/// Many connections, to measure.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// How many.
    pub count: usize,
    /// How many at a time.
    pub parallel: usize,
    /// How they begin.
    pub mode: LoadMode,
}

/// How the connections of a load begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadMode {
    /// Certificates each time.
    Full,
    /// A ticket and a key exchange.
    PskDhe,
    /// A ticket alone; no forward secrecy.
    PskOnly,
    /// Replayable early data.
    ZeroRtt,
    /// Forward-secret early data.
    ZeroRttFs,
}
