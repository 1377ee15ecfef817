//! The options of the server and the client.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use tessera::wire::{CipherSuite, NamedGroup};
use tessera_kit::psk::NamedKey;
use tessera_kit::{KeySource, SettingFile};
use tessera_tokio::SocketPolicy;

/// Options of both sides.
#[derive(Debug, Clone, Default)]
pub struct Common {
    /// This side's certificate and key.
    pub certificates: Option<CertificateFiles>,
    /// Authenticate with KEMs (docs/kem-auth.md): a server with the key of its certificate; a client accepts such servers.
    pub kem_auth: bool,
    /// Known server keys (docs/kem-auth.md, section 9): the server's private keys (PEM); the client's one public key, or the
    /// certificate with it (PEM).
    pub known_keys: Vec<PathBuf>,
    /// Roots (PEM) that peers' certificates must chain to.
    pub ca: Option<PathBuf>,
    /// Keys agreed outside of TLS.
    pub psks: PskOptions,
    /// Allow PSKs without a key exchange (psk_ke).
    pub psk_only_without_forward_secrecy: bool,
    /// The groups, in order of preference; empty for all common ones.
    pub groups: Vec<NamedGroup>,
    /// The suites, in order of preference; empty for all.
    pub suites: Vec<CipherSuite>,
    /// The application protocols, in order of preference.
    pub protocols: Vec<String>,
    /// The largest record to receive, in bytes (RFC 8449).
    pub record_size_limit: Option<u16>,
    /// The longest datagram to send, in bytes, without the headers of UDP and IP; `None` for 1,200.
    pub max_datagram: Option<u16>,
    /// The early data to allow.
    pub early_data: EarlyData,
    /// The directory where peers' certificates are cached, so that they need not be sent again; `None` for no cache.
    pub cache_certificates: Option<PathBuf>,
    /// The file where the secrets of connections are logged, for debugging.
    pub key_log: Option<PathBuf>,
    /// The file where facts are written as JSON, one object per line; `-` is standard output.
    pub json: Option<PathBuf>,
    /// Print no lines for people.
    pub quiet: bool,
}

impl Common {
    /// Returns the file for facts, with the name of its option.
    pub(crate) fn json_file(&self) -> Option<SettingFile<'_>> {
        self.json.as_deref().map(|path| SettingFile { setting: "--json", path })
    }

    /// Returns the directory of cached certificates, with the name of its option.
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
    /// Keys from the command line.
    pub keys: Vec<NamedKey>,
    /// Files of keys, `IDENTITY:HEX` per line.
    pub files: Vec<PathBuf>,
    /// The hash of the keys.
    pub hash: PskHash,
    /// Import them (RFC 9258), with this context.
    pub import: Option<String>,
}

/// The hash of a PSK (RFC 8446 §4.2.11).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PskHash {
    /// SHA-256, the default.
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

/// Options of the server.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Options of both sides.
    pub common: Common,
    /// The address to listen on.
    pub listen: SocketAddr,
    /// Listen for DTLS 1.3 over UDP.
    pub udp: bool,
    /// With UDP: send clients' datagrams to the UDP server at this address, instead of echoing them.
    pub forward: Option<SocketAddr>,
    /// With UDP: how associations have sockets of their own; `None`: they share one.
    pub sockets: Option<SocketPolicy>,
    /// The ports of those sockets; `None` for any.
    pub socket_ports: Option<RangeInclusive<u16>>,
    /// With UDP: relay what is DTLS 1.2 to the server at this address.
    pub forward_dtls12: Option<SocketAddr>,
    /// Accept data in SYNs (TCP Fast Open, RFC 7413).
    pub tcp_fast_open: bool,
    /// How to answer clients.
    pub answer: Answer,
    /// The names in a generated certificate; if empty, `localhost` and the address.
    pub names: Vec<String>,
    /// The file for the generated certificate (PEM).
    pub write_certificate: Option<PathBuf>,
    /// Whether to ask clients for certificates.
    pub client_certificates: ClientCertificates,
    /// Revocation lists (PEM) for clients' certificates; empty for no check.
    pub revocation_lists: Vec<PathBuf>,
    /// The tickets to issue.
    pub tickets: Tickets,
    /// The most connections at a time; further ones wait.
    pub max_connections: usize,
    /// The most connections, and the most handshakes, per address; further ones are refused. `None` is an eighth of
    /// all.
    pub max_connections_per_address: Option<usize>,
    /// How long a connection may be idle.
    pub idle_timeout: Duration,
    /// How long a client may leave sent data unread.
    pub write_timeout: Duration,
    /// How long a handshake may take.
    pub handshake_timeout: Duration,
    /// The directory where ticket keys and one-time keys survive a restart; `None` to lose them.
    pub state: Option<PathBuf>,
    /// The key of that directory; `None` for one in the runtime directory.
    pub state_key: Option<KeySource>,
    /// The directory of a witness, which detects a state that was rolled back; `None` for no such check.
    pub state_witness: Option<PathBuf>,
}

/// How the server answers clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Send their data back.
    Echo,
    /// Answer HTTP with a page about the connection.
    Http,
}

/// Whether a server asks clients for certificates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClientCertificates {
    /// No.
    #[default]
    No,
    /// Accept clients that have none.
    Ask,
    /// Refuse clients that have none.
    Require,
}

/// The tickets that a server issues.
#[derive(Debug, Clone, Copy)]
pub struct Tickets {
    /// How many after a full handshake, for clients that don't ask for a number; 0 disables tickets.
    pub count: u8,
    /// How long each lives.
    pub lifetime: Duration,
}

/// Options of the client.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// Options of both sides.
    pub common: Common,
    /// The name or address of the server.
    pub host: String,
    /// The port of the server.
    pub port: u16,
    /// Connect with DTLS 1.3 over UDP.
    pub udp: bool,
    /// With UDP: carry the datagrams of local programs that send to this address, instead of standard input.
    pub listen: Option<SocketAddr>,
    /// With UDP: follow the server to a socket of the connection's own.
    pub follow_server: bool,
    /// Send the first flight with the SYN (TCP Fast Open, RFC 7413) where the system supports it.
    pub tcp_fast_open: bool,
    /// The name that the server's certificate must have; `None` for `host`.
    pub server_name: Option<String>,
    /// The SHA-256 of the only certificate to accept.
    pub fingerprint: Option<[u8; 32]>,
    /// Accept any certificate.
    pub insecure_accept_any_certificate: bool,
    /// The directory where sessions are kept.
    pub sessions: Option<PathBuf>,
    /// The file of the key that wraps them: 32 bytes, raw or as 64 hexadecimal digits.
    pub sessions_key: Option<PathBuf>,
    /// How many tickets to request in a full handshake.
    pub tickets: u8,
    /// The file to send as early data.
    pub early_data_file: Option<PathBuf>,
    /// Leave it to the server to end the connection, instead of ending it with standard input.
    pub keep_open: bool,
    /// Make many connections instead of one.
    pub load: Option<Load>,
}

/// Many connections to measure.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// How many in all.
    pub count: usize,
    /// How many at a time.
    pub parallel: usize,
    /// How they begin.
    pub mode: LoadMode,
}

/// How the connections of a load begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadMode {
    /// With certificates each time.
    Full,
    /// With a ticket and a key exchange.
    PskDhe,
    /// With a ticket alone; no forward secrecy.
    PskOnly,
    /// With replayable early data.
    ZeroRtt,
    /// With forward-secret early data.
    ZeroRttFs,
}
