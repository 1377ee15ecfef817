//! The configuration of `tessera stek run`.

mod check;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use tessera_kit::{KeySource, ProgramError};
use tessera_proxy::address::ListenAddress;
use tessera_proxy::config::{Document, de};
use tessera_proxy::logging::LogFormat;
use tessera_proxy::stores::{EtcdSection, SidecarRing};
use tessera_proxy::with_defaults;

/// A whole configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stek {
    /// `[process]`.
    #[serde(default)]
    pub process: Process,
    /// `[ring]`.
    pub ring: RingSection,
    /// `[haproxy.NAME]`.
    #[serde(default)]
    pub haproxy: BTreeMap<String, HaProxySection>,
    /// `[nginx.NAME]`.
    #[serde(default)]
    pub nginx: BTreeMap<String, NginxSection>,
    /// `[envoy.NAME]`.
    #[serde(default)]
    pub envoy: BTreeMap<String, EnvoySection>,
    /// `[files.NAME]`.
    #[serde(default)]
    pub files: BTreeMap<String, FilesSection>,
}

with_defaults! {
    /// `[process]`.
    #[derive(Debug, Clone, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
    pub struct Process {
        /// Where to serve metrics, health, the ring's state and requests to rotate: best a Unix socket, since everyone
        /// who can connect can rotate.
        pub admin: Option<ListenAddress> = None,
        /// The format of log lines on standard error. By default text on a terminal, and JSON elsewhere.
        pub log: Option<LogFormat> = None,
    }
}

tessera_proxy::lasting!(Process: admin, log);

/// `[ring]`: where the keys are, and how they rotate. The same at all sidecars, except `member`, `cache` and how to reach
/// the store.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RingSection {
    /// The store, in etcd.
    pub etcd: Option<EtcdSection>,
    /// The store, in a file of this sidecar: for one host, or with `serve` for the few of a site.
    #[serde(default, deserialize_with = "de::some_path")]
    pub file: Option<PathBuf>,
    /// Serves the store in `file` to other sidecars, whose `etcd` names this one.
    pub serve: Option<ServeSection>,
    /// Wraps the ticket keys in the store and in `cache`: the same at all sidecars, and never in the store.
    #[serde(deserialize_with = "de::key")]
    pub key: KeySource,
    /// The name of this sidecar in the ring. Default: the name of this machine.
    pub member: Option<String>,
    /// A file that keeps the ring, sealed, for a start at which the store can't be reached.
    #[serde(default, deserialize_with = "de::some_path")]
    pub cache: Option<PathBuf>,
    /// How often a new key begins to seal.
    #[serde(default = "an_hour", deserialize_with = "de::duration")]
    pub rotate_every: Duration,
    /// How long a ticket may be used: at least the lifetime that the servers give their tickets.
    #[serde(default = "an_hour", deserialize_with = "de::duration")]
    pub ticket_lifetime: Duration,
    /// How much the clocks of two sidecars may differ.
    #[serde(default = "five_minutes", deserialize_with = "de::duration")]
    pub clock_skew: Duration,
}

/// `serve = { ... }`: where other sidecars reach the store of this one, by mutual TLS.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ServeSection {
    /// Where to listen.
    pub listen: SocketAddr,
    /// This sidecar's certificate, PEM.
    #[serde(deserialize_with = "de::path")]
    pub certificate: PathBuf,
    /// Its private key. Default: in the file of the certificate.
    #[serde(default, deserialize_with = "de::some_path")]
    pub key: Option<PathBuf>,
    /// The roots for the certificates of the other sidecars, PEM. Any holder of such a certificate can change the ring.
    #[serde(deserialize_with = "de::path")]
    pub ca: PathBuf,
}

fn an_hour() -> Duration {
    SidecarRing::AN_HOUR
}

fn five_minutes() -> Duration {
    SidecarRing::FIVE_MINUTES
}

/// The section of a server.
#[derive(Debug, Clone, Copy)]
pub enum Server<'c> {
    /// `[haproxy.NAME]`.
    HaProxy(&'c HaProxySection),
    /// `[nginx.NAME]`.
    Nginx(&'c NginxSection),
    /// `[envoy.NAME]`.
    Envoy(&'c EnvoySection),
    /// `[files.NAME]`.
    Files(&'c FilesSection),
}

/// What the sections of all servers have.
#[derive(Debug, Clone, Copy)]
pub struct ServerSection<'c> {
    /// What is special about its kind.
    pub server: Server<'c>,
    /// The section's name.
    pub name: &'c str,
    /// The pool; `None`: the section's name.
    pub pool: Option<&'c str>,
    /// The server's certificate, to compare with those of the others.
    pub certificate: Option<&'c Path>,
    /// How a canary reaches it.
    pub canary: Option<&'c CanarySection>,
}

/// `canary = { ... }`: how the sidecar connects to its own server, to see whether tickets of the others open there.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CanarySection {
    /// Where the server listens for TLS, on this host.
    pub address: SocketAddr,
    /// The name that all servers of the pool serve.
    pub server_name: String,
    /// The roots for its certificate, PEM; the same at all sidecars of the pool.
    #[serde(deserialize_with = "de::path")]
    pub ca: PathBuf,
}

/// `[haproxy.NAME]`: the listeners of an HAProxy that share one file of `tls-ticket-keys`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HaProxySection {
    /// Its runtime socket, with `level admin`.
    #[serde(deserialize_with = "de::path")]
    pub socket: PathBuf,
    /// The file that `tls-ticket-keys` names, on a tmpfs; the sidecar writes it.
    #[serde(deserialize_with = "de::path")]
    pub keys: PathBuf,
    /// The pool that resumes each other's sessions. Default: the section's name.
    pub pool: Option<String>,
    /// The server's certificate: its names and its issuer must be those of the others.
    #[serde(default, deserialize_with = "de::some_path")]
    pub certificate: Option<PathBuf>,
    /// How a canary reaches it.
    pub canary: Option<CanarySection>,
}

/// `[nginx.NAME]`: the virtual hosts of an nginx that share key files.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NginxSection {
    /// The file with the process id of its master.
    #[serde(deserialize_with = "de::path")]
    pub pid: PathBuf,
    /// The files of `ssl_session_ticket_key`, in the order of nginx's configuration, at least three, on a tmpfs; the
    /// sidecar writes them.
    #[serde(deserialize_with = "de::paths")]
    pub keys: Vec<PathBuf>,
    /// The pool that resumes each other's sessions. Default: the section's name.
    pub pool: Option<String>,
    /// The server's certificate: its names and its issuer must be those of the others.
    #[serde(default, deserialize_with = "de::some_path")]
    pub certificate: Option<PathBuf>,
    /// How a canary reaches it.
    pub canary: Option<CanarySection>,
}

/// `[envoy.NAME]`: the Envoys of a host that get their keys from one socket, by the secret discovery service.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EnvoySection {
    /// The Unix socket of the service, which the sidecar creates. It belongs to the owner of its directory, who alone can
    /// connect: Envoy's user.
    #[serde(deserialize_with = "de::path")]
    pub socket: PathBuf,
    /// The name of the secret in Envoy's `session_ticket_keys_sds_secret_config`.
    #[serde(default = "ticket_keys")]
    pub secret: String,
    /// The pool that resumes each other's sessions. Default: the section's name.
    pub pool: Option<String>,
    /// The server's certificate: its names and its issuer must be those of the others.
    #[serde(default, deserialize_with = "de::some_path")]
    pub certificate: Option<PathBuf>,
    /// How a canary reaches it.
    pub canary: Option<CanarySection>,
}

fn ticket_keys() -> String {
    "ticket_keys".to_owned()
}

/// `[files.NAME]`: a server that reads its keys from files: nghttpx, Apache Traffic Server, h2o, a program of your own.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FilesSection {
    /// How the server reads them: `binary`, `concatenated`, `base64` or `h2o`.
    pub format: String,
    /// The files, on a tmpfs; the sidecar writes them. `binary` needs at least three, the others one.
    #[serde(deserialize_with = "de::paths")]
    pub keys: Vec<PathBuf>,
    /// The length of a key, in bytes: 80 (AES-256) or 48 (AES-128).
    #[serde(default = "eighty")]
    pub key_length: u8,
    /// Makes the server read them: a program and its arguments, without a shell. Default: the server watches its files.
    #[serde(default)]
    pub command: Vec<String>,
    /// How long the server may take to read its files.
    #[serde(default = "five_seconds", deserialize_with = "de::duration")]
    pub reads_within: Duration,
    /// The pool that resumes each other's sessions. Default: the section's name.
    pub pool: Option<String>,
    /// The server's certificate: its names and its issuer must be those of the others.
    #[serde(default, deserialize_with = "de::some_path")]
    pub certificate: Option<PathBuf>,
    /// How to reach it: a ticket that the server seals with the new key is the acknowledgement.
    pub canary: Option<CanarySection>,
}

fn eighty() -> u8 {
    80
}

fn five_seconds() -> Duration {
    Duration::from_secs(5)
}

/// A configuration as read, with the text that locates its errors.
#[derive(Debug)]
pub(crate) struct LoadedStek {
    pub(crate) stek: Stek,
    document: Document,
}

impl LoadedStek {
    /// Reads a file, and checks it for contradictions.
    pub(crate) fn read(path: &Path) -> Result<Self, ProgramError> {
        let document = Document::read(path)?;
        let loaded = Self { stek: document.parse()?, document };
        loaded.stek.check().map_err(|error| loaded.locate(error))?;
        Ok(loaded)
    }

    /// Adds the line of the key to an error of the form `[ring] key: what`.
    pub(crate) fn locate(&self, error: ProgramError) -> ProgramError {
        self.document.locate(error)
    }
}

impl Stek {
    /// Returns the sections of all servers.
    pub fn servers(&self) -> impl Iterator<Item = ServerSection<'_>> {
        macro_rules! sections {
            ($sections:expr, $kind:path) => {
                $sections.iter().map(|(name, section)| ServerSection {
                    server: $kind(section),
                    name,
                    pool: section.pool.as_deref(),
                    certificate: section.certificate.as_deref(),
                    canary: section.canary.as_ref(),
                })
            };
        }
        sections!(self.haproxy, Server::HaProxy)
            .chain(sections!(self.nginx, Server::Nginx))
            .chain(sections!(self.envoy, Server::Envoy))
            .chain(sections!(self.files, Server::Files))
    }
}

impl<'c> Server<'c> {
    /// Returns the kind as the configuration has it: `haproxy`, `nginx`, `envoy` or `files`.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::HaProxy(_) => "haproxy",
            Self::Nginx(_) => "nginx",
            Self::Envoy(_) => "envoy",
            Self::Files(_) => "files",
        }
    }

    /// Returns the files that the sidecar writes for it.
    #[must_use]
    pub fn key_files(self) -> &'c [PathBuf] {
        match self {
            Self::HaProxy(section) => std::slice::from_ref(&section.keys),
            Self::Nginx(section) => &section.keys,
            Self::Envoy(_) => &[],
            Self::Files(section) => &section.keys,
        }
    }
}

impl ServerSection<'_> {
    /// Returns the pool's name.
    #[must_use]
    pub fn pool(&self) -> &str {
        self.pool.unwrap_or(self.name)
    }

    /// Returns the section's name in the configuration: `haproxy.NAME`.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}.{}", self.server.kind(), self.name)
    }
}
