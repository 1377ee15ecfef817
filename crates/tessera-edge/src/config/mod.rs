//! The configuration of `tessera edge run`.

mod check;
mod service;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use tessera_bindings::MoveTimes;
use tessera_kit::{KeySource, ProgramError};
use tessera_proxy::address::ListenAddress;
use tessera_proxy::config::{Document, de};
use tessera_proxy::gate::GateSettings;
use tessera_proxy::logging::LogFormat;
use tessera_proxy::stores::{EtcdSection, SidecarRing, SitesSection};
use tessera_proxy::with_defaults;

pub(crate) use self::check::is_authority;
pub use self::service::{InstanceSection, ServiceSection};

/// A whole configuration.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EdgeConfig {
    /// `[process]`.
    #[serde(default)]
    pub process: Process,
    /// `[pool]`.
    pub pool: PoolSection,
    /// `[proxy]`.
    pub proxy: ProxySection,
    /// `[envoys]`.
    pub envoys: Option<EnvoysSection>,
    /// `[peers]`.
    pub peers: PeersSection,
    /// `[ext-authz]`.
    pub ext_authz: Option<ExtAuthzSection>,
    /// `[clients]`.
    #[serde(default)]
    pub clients: ClientsSection,
    /// `[service.NAME]`.
    #[serde(default)]
    pub service: BTreeMap<String, ServiceSection>,
    /// `[limits]`.
    #[serde(default)]
    pub limits: Limits,
}

with_defaults! {
    /// `[process]`.
    #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
    pub struct Process {
        /// Where to serve metrics and health.
        pub admin: Option<ListenAddress> = None,
        /// The format of log lines on standard error. By default text on a terminal, and JSON elsewhere.
        pub log: Option<LogFormat> = None,
        /// How long open requests may take at shutdown.
        #[serde(deserialize_with = "de::duration")]
        pub drain: Duration = Duration::from_secs(30),
    }
}

tessera_proxy::lasting!(Process: admin, log, drain);

/// `[pool]`: the same at all proxies and orchestrators, except how to reach the store.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PoolSection {
    /// The store of bindings and ticket keys.
    pub etcd: Option<EtcdSection>,
    /// Instead of `etcd`: a file, for a pool of one proxy.
    #[serde(default, deserialize_with = "de::some_path")]
    pub file: Option<PathBuf>,
    /// Wraps ticket keys in the store, and seals clients' state on its way: the same at all proxies, never in the store.
    #[serde(deserialize_with = "de::key")]
    pub key: KeySource,
    /// For how long a client may use an alternative (`ma` of RFC 7838), and so how long one that is dead may cost it. One
    /// constant for the whole pool: Firefox ignores an alternative that would expire before the one that it has.
    #[serde(default = "thirty_seconds", deserialize_with = "de::duration")]
    pub ma: Duration,
    /// How long a client stays at least where it is.
    #[serde(default = "thirty_seconds", deserialize_with = "de::duration")]
    pub dwell: Duration,
    /// How long the next proxy may prepare.
    #[serde(default = "five_seconds", deserialize_with = "de::duration")]
    pub prepare: Duration,
    /// How long a client may take to follow an announcement.
    #[serde(default = "a_minute", deserialize_with = "de::duration")]
    pub follow: Duration,
    /// How much the clocks of two proxies may differ.
    #[serde(default = "a_second", deserialize_with = "de::duration")]
    pub clock_skew: Duration,
}

/// `[proxy]`: this proxy, as clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ProxySection {
    /// Its name in the pool.
    pub name: String,
    /// The site at which it is; evacuations are by site.
    #[serde(default)]
    pub site: String,
    /// Where it listens for clients; with `[ext-authz]`, Envoy does.
    pub listen: Option<ListenAddress>,
    /// The host and port that clients are announced: `b.example:443`.
    pub announce: String,
    /// Its certificate, PEM. Its names are those of the origin, the same at all proxies, and so is its issuer.
    #[serde(deserialize_with = "de::path")]
    pub certificate: PathBuf,
    /// Its private key. Default: in the file of the certificate.
    #[serde(default, deserialize_with = "de::some_path")]
    pub key: Option<PathBuf>,
    /// Instead of `key`: who signs with the private key, which isn't here.
    pub signer: Option<SignerSection>,
    /// Where its one-time keys are, and how they move to other proxies; without it, there is no early data.
    pub one_time_keys: Option<SitesSection>,
}

/// `signer = { ... }`: the signers that hold the private key of this proxy's certificate (`tessera signer`).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SignerSection {
    /// Where they are, in the order in which they are asked: each a name in its certificate, and a port.
    pub servers: Vec<String>,
    /// The name of the key there.
    pub name: String,
    /// The authority of signers' certificates, PEM.
    #[serde(deserialize_with = "de::path")]
    pub ca: PathBuf,
    /// This proxy's certificate for the signers, PEM.
    #[serde(deserialize_with = "de::path")]
    pub certificate: PathBuf,
    /// Its private key. Default: in the file of the certificate.
    #[serde(default, deserialize_with = "de::some_path")]
    pub key: Option<PathBuf>,
}

/// `[envoys]`: Envoys of the same names, with which the pool's proxies share their tickets. They get their keys from sidecars
/// (`tessera stek`) with the same store.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EnvoysSection {
    /// Their pool at the sidecars: that of `[envoy.NAME]`.
    pub pool: String,
    /// `[ring] key` of the sidecars.
    #[serde(deserialize_with = "de::key")]
    pub key: KeySource,
    /// The `server_names` of the Envoys' filter chain, in its order.
    #[serde(default)]
    pub server_names: Vec<String>,
    /// As at the sidecars.
    #[serde(default = "an_hour", deserialize_with = "de::duration")]
    pub rotate_every: Duration,
    /// As at the sidecars, and the lifetime of these proxies' tickets.
    #[serde(default = "an_hour", deserialize_with = "de::duration")]
    pub ticket_lifetime: Duration,
    /// As at the sidecars.
    #[serde(default = "five_minutes", deserialize_with = "de::duration")]
    pub clock_skew: Duration,
}

fn an_hour() -> Duration {
    SidecarRing::AN_HOUR
}

fn five_minutes() -> Duration {
    SidecarRing::FIVE_MINUTES
}

/// `[peers]`: the channel between proxies, by mutual TLS.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PeersSection {
    /// Where this proxy listens for the others.
    pub listen: ListenAddress,
    /// Where the others reach it: a name in its certificate, and a port.
    pub address: String,
    /// Its certificate for the other proxies, for servers and clients both, PEM.
    #[serde(deserialize_with = "de::path")]
    pub certificate: PathBuf,
    /// Its private key. Default: in the file of the certificate.
    #[serde(default, deserialize_with = "de::some_path")]
    pub key: Option<PathBuf>,
    /// The authority of the pool's proxies alone, PEM: the holder of such a certificate acts for every client.
    #[serde(deserialize_with = "de::path")]
    pub ca: PathBuf,
}

/// `[ext-authz]`: clients connect to an Envoy of this host, which asks this process before each request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExtAuthzSection {
    /// The Unix socket of its `ext_authz`, which this process creates. It belongs to the owner of its directory, who alone can
    /// connect: Envoy's user.
    #[serde(deserialize_with = "de::path")]
    pub socket: PathBuf,
}

/// What names a client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NamedBy {
    /// Nothing: there are no bindings, and every proxy serves every client.
    #[default]
    Nothing,
    /// Its certificate.
    Certificate,
    /// A cookie that the proxies set: the client's secret.
    Cookie,
}

with_defaults! {
    /// `[clients]`: the same at all proxies.
    #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
    pub struct ClientsSection {
        /// What names a client.
        pub named_by: NamedBy = NamedBy::Nothing,
        /// The authorities of clients' certificates, PEM; with `named-by = "certificate"`.
        #[serde(deserialize_with = "de::some_path")]
        pub ca: Option<PathBuf> = None,
        /// The name of the cookie.
        pub cookie: String = "tessera-client".to_owned(),
        /// How many clients the pool may have bound before this proxy binds no more: it serves others without a binding.
        pub bound: usize = 100_000,
        /// How many clients of one address this proxy binds, if they are named by cookies. Default: an eighth of `bound`.
        pub bound_per_address: Option<usize> = None,
        /// After this time without a request a client loses its binding.
        #[serde(deserialize_with = "de::duration")]
        pub idle: Duration = Duration::from_secs(24 * 3600),
    }
}

with_defaults! {
    /// `[limits]`.
    #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
    pub struct Limits {
        /// Concurrent connections; further ones wait in the listener's queue.
        pub connections: usize = 10_000,
        /// Connections of one address; further ones are closed. Default: an eighth of all.
        pub connections_per_address: Option<usize> = None,
        /// Concurrent handshakes; others wait. Default: as many as connections, 4,096 at most.
        pub handshakes: Option<usize> = None,
        /// Handshakes of one address; further ones are closed. Default: an eighth of all.
        pub handshakes_per_address: Option<usize> = None,
        /// New connections of one address per second; further ones are closed. Default: no limit.
        pub new_per_second_per_address: Option<u32> = None,
        /// WebSockets of one client, if certificates name clients, else of one address.
        pub websockets_per_client: usize = 64,
        /// Concurrent requests on one HTTP/2 connection.
        pub streams: u32 = 100,
        /// The maximum length of a request's header fields.
        #[serde(deserialize_with = "de::bytes")]
        pub header_bytes: u64 = 64 << 10,
        /// The maximum length of a request's body.
        #[serde(deserialize_with = "de::bytes")]
        pub body: u64 = 128 << 20,
        /// How long a handshake may take.
        #[serde(deserialize_with = "de::duration")]
        pub handshake: Duration = Duration::from_secs(10),
        /// How long a request's header fields may take.
        #[serde(deserialize_with = "de::duration")]
        pub head: Duration = Duration::from_secs(10),
        /// How long a service may take to answer.
        #[serde(deserialize_with = "de::duration")]
        pub answer: Duration = Duration::from_secs(60),
        /// How long a body may stall.
        #[serde(deserialize_with = "de::duration")]
        pub body_idle: Duration = Duration::from_secs(30),
        /// How long a connection may have no request.
        #[serde(deserialize_with = "de::duration")]
        pub idle: Duration = Duration::from_secs(600),
        /// How long the other end may not read what is sent to it.
        #[serde(deserialize_with = "de::duration")]
        pub write: Duration = Duration::from_secs(30),
    }
}

impl Limits {
    /// Returns those of a listener's gate.
    pub(crate) fn gate(&self) -> GateSettings {
        GateSettings {
            connections: self.connections,
            connections_per_address: self.connections_per_address,
            handshakes: self.handshakes,
            handshakes_per_address: self.handshakes_per_address,
            new_per_second_per_address: self.new_per_second_per_address,
            // HTTP has finer limits for both; these cover what precedes it.
            idle: self.idle.max(self.answer),
            write: self.write,
        }
    }
}

impl ClientsSection {
    /// Returns how many clients of one address may be bound.
    pub(crate) fn bound_per_address(&self) -> usize {
        self.bound_per_address.unwrap_or_else(|| (self.bound / 8).max(1))
    }
}

impl PoolSection {
    /// Returns the prefix of the pool's entries in its store.
    pub(crate) fn prefix(&self) -> &str {
        self.etcd.as_ref().map_or("/tessera/", |etcd| &etcd.prefix)
    }

    /// Returns the times of moves.
    pub(crate) fn times(&self) -> MoveTimes {
        MoveTimes {
            dwell: self.dwell,
            prepare: self.prepare,
            announce: self.follow,
            drain: self.ma.saturating_add(self.clock_skew),
        }
    }
}

fn a_second() -> Duration {
    Duration::from_secs(1)
}

fn five_seconds() -> Duration {
    Duration::from_secs(5)
}

fn thirty_seconds() -> Duration {
    Duration::from_secs(30)
}

fn a_minute() -> Duration {
    Duration::from_secs(60)
}

/// A configuration as read, with the text that locates its errors.
#[derive(Debug)]
pub(crate) struct LoadedEdge {
    pub(crate) edge: EdgeConfig,
    document: Document,
}

impl LoadedEdge {
    /// Reads a file, and checks it for contradictions.
    pub(crate) fn read(path: &std::path::Path) -> Result<Self, ProgramError> {
        let document = Document::read(path)?;
        let loaded = Self { edge: document.parse()?, document };
        loaded.edge.check().map_err(|error| loaded.locate(error))?;
        Ok(loaded)
    }

    /// Adds the line of the key to an error of the form `[proxy] key: what`.
    pub(crate) fn locate(&self, error: ProgramError) -> ProgramError {
        self.document.locate(error)
    }
}
