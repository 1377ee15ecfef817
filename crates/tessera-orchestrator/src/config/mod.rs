//! The configuration of `tessera orchestrator run`.

mod check;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use tessera_bindings::{MoveTimes, PoolSettings};
use tessera_kit::ProgramError;
use tessera_proxy::address::ListenAddress;
use tessera_proxy::config::{Document, de};
use tessera_proxy::logging::LogFormat;
use tessera_proxy::stores::EtcdSection;
use tessera_proxy::with_defaults;

/// A whole configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Configuration {
    /// `[process]`.
    #[serde(default)]
    pub process: Process,
    /// `[pool]`.
    pub pool: PoolSection,
    /// `[api]`.
    pub api: ApiSection,
    /// `[moves]`.
    #[serde(default)]
    pub moves: MovesSection,
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
        pub drain: Duration = Duration::from_secs(5),
    }
}

/// `[pool]`: the same at all proxies and orchestrators, except how to reach the store.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PoolSection {
    /// The store of bindings, in etcd.
    pub etcd: Option<EtcdSection>,
    /// Instead of `etcd`: a file of this process alone, to try the API.
    #[serde(default, deserialize_with = "de::some_path")]
    pub file: Option<PathBuf>,
    /// For how long a client may use an alternative (`ma` of RFC 7838). One constant for the whole pool.
    #[serde(default = "thirty_seconds", deserialize_with = "de::duration")]
    pub ma: Duration,
    /// How long a client stays at least where it is: not less than `ma`.
    #[serde(default = "thirty_seconds", deserialize_with = "de::duration")]
    pub dwell: Duration,
    /// How long the next proxy may prepare.
    #[serde(default = "five_seconds", deserialize_with = "de::duration")]
    pub prepare: Duration,
    /// How long a client may take to follow an announcement.
    #[serde(default = "a_minute", deserialize_with = "de::duration")]
    pub follow: Duration,
    /// How much the clocks of two processes may differ.
    #[serde(default = "a_second", deserialize_with = "de::duration")]
    pub clock_skew: Duration,
}

/// `[api]`: where operators and their programs reach the orchestrator, by mutual TLS.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ApiSection {
    /// Where to listen.
    pub listen: ListenAddress,
    /// The orchestrator's certificate, PEM.
    #[serde(deserialize_with = "de::path")]
    pub certificate: PathBuf,
    /// Its private key. Default: in the file of the certificate.
    #[serde(default, deserialize_with = "de::some_path")]
    pub key: Option<PathBuf>,
    /// The roots for the operators' certificates, PEM.
    #[serde(deserialize_with = "de::path")]
    pub ca: PathBuf,
    /// The operators that may change something, by a DNS name or a URI in their certificates: the others only read. Default:
    /// all may.
    pub operators: Option<Vec<String>>,
    /// How many connections may be open; others wait in the listener's queue.
    #[serde(default = "two_hundred_and_fifty_six")]
    pub connections: usize,
}

with_defaults! {
    /// `[moves]`.
    #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
    pub struct MovesSection {
        /// How many requests may wait until their clients can move: those with `"queue": true`.
        pub waiting: usize = 1024,
        /// A proxy that the orchestrator chooses (`"to": "auto"`) has, with the client, at least this many percent fewer clients
        /// than the current one.
        pub hysteresis: u8 = 20,
        /// How many clients of drained proxies may be between the begin of their moves and the announcement.
        pub drain_at_once: usize = 32,
        /// How many clients of drained proxies begin to move each second.
        pub drain_per_second: u32 = 50,
    }
}

fn thirty_seconds() -> Duration {
    Duration::from_secs(30)
}

fn five_seconds() -> Duration {
    Duration::from_secs(5)
}

fn a_minute() -> Duration {
    Duration::from_secs(60)
}

fn a_second() -> Duration {
    Duration::from_secs(1)
}

fn two_hundred_and_fifty_six() -> usize {
    256
}

impl PoolSection {
    /// Returns the times of moves.
    #[must_use]
    pub fn times(&self) -> MoveTimes {
        MoveTimes {
            dwell: self.dwell,
            prepare: self.prepare,
            announce: self.follow,
            drain: self.ma.saturating_add(self.clock_skew),
        }
    }

    /// Returns what the proxies must have too.
    #[must_use]
    pub fn settings(&self) -> PoolSettings {
        PoolSettings::of_times(self.ma, &self.times())
    }

    /// Returns the prefix of the bindings in the store.
    #[must_use]
    pub fn prefix(&self) -> String {
        let prefix = self.etcd.as_ref().map_or("/tessera/", |etcd| &etcd.prefix);
        format!("{prefix}edge/")
    }
}

/// A configuration as read, with the text that locates its errors.
#[derive(Debug)]
pub(crate) struct LoadedConfiguration {
    pub(crate) configuration: Configuration,
    document: Document,
}

impl LoadedConfiguration {
    /// Reads a file, and checks it for contradictions.
    pub(crate) fn read(path: &Path) -> Result<Self, ProgramError> {
        let document = Document::read(path)?;
        let loaded = Self { configuration: document.parse()?, document };
        loaded.configuration.check().map_err(|error| loaded.locate(error))?;
        Ok(loaded)
    }

    /// Adds the line of the key to an error of the form `[api] key: what`.
    pub(crate) fn locate(&self, error: ProgramError) -> ProgramError {
        self.document.locate(error)
    }
}
