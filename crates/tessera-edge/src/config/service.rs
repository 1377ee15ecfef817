//! What a service is, where it runs, and who may use it.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use tessera_proxy::address::DialAddress;
use tessera_proxy::config::de;

/// `[service.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ServiceSection {
    /// The hosts that it serves; empty: all.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// The path below which it serves: `/` is everything. The longest of all services that fit is chosen.
    #[serde(default = "root")]
    pub path: String,
    /// Where it runs. Those of the lowest `rank` are used while one of them can be reached.
    pub instances: Vec<InstanceSection>,
    /// The methods that clients may use; empty: all but CONNECT and TRACE.
    #[serde(default)]
    pub methods: Vec<String>,
    /// The names of clients that it admits, as certificates have them; empty: all.
    #[serde(default)]
    pub admit: Vec<String>,
    /// The roots for the instances' certificates, PEM; without it, they are reached without TLS.
    #[serde(default, deserialize_with = "de::some_path")]
    pub ca: Option<PathBuf>,
    /// The name in their certificates. Default: the host of each address.
    pub server_name: Option<String>,
    /// Whether instances without TLS speak HTTP/2 from the start.
    #[serde(default)]
    pub http2: bool,
    /// The path below which an instance exports and imports clients' state; without it, the service has none.
    pub state: Option<String>,
    /// Whether a request that may have been executed may be executed again.
    #[serde(default)]
    pub repeatable: bool,
    /// How long connecting to an instance may take.
    #[serde(default = "three_seconds", deserialize_with = "de::duration")]
    pub connect: Duration,
}

/// An instance: its address, or `{ address, rank, weight }`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "InstanceText")]
pub struct InstanceSection {
    /// Its address.
    pub address: DialAddress,
    /// Instances of the lowest rank come first: this edge's own, then those of others.
    pub rank: u16,
    /// Its share among those of its rank.
    pub weight: u16,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum InstanceText {
    Address(DialAddress),
    Table {
        address: DialAddress,
        #[serde(default)]
        rank: u16,
        #[serde(default = "one")]
        weight: u16,
    },
}

impl From<InstanceText> for InstanceSection {
    fn from(text: InstanceText) -> Self {
        match text {
            InstanceText::Address(address) => Self { address, rank: 0, weight: 1 },
            InstanceText::Table { address, rank, weight } => Self { address, rank, weight },
        }
    }
}

fn root() -> String {
    "/".to_owned()
}

fn one() -> u16 {
    1
}

fn three_seconds() -> Duration {
    Duration::from_secs(3)
}
