//! What several servers behind one name share.

use std::path::PathBuf;

use serde::Deserialize;

use super::{DialAddress, KeySource, ListenAddress, values};

/// `[server.NAME.fleet]`: ticket keys are in etcd, so that every server resumes every client; one-time keys are there
/// too, or in each server's own vault, and other servers have them burned.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Fleet {
    /// The etcd cluster.
    pub etcd: EtcdSection,
    /// The key under which ticket keys are wrapped in etcd, the same at all servers and never in etcd.
    #[serde(deserialize_with = "values::key")]
    pub ring_key: KeySource,
    /// Where one-time keys are.
    pub vault: FleetVault,
    /// With `vault = "etcd"`: the file of epoch keys under which they are wrapped there, the same at all servers and
    /// never in etcd. One a line: `BEGINS SECONDS HEX`, the first since the Unix epoch.
    #[serde(default, deserialize_with = "values::some_path")]
    pub epoch_keys: Option<PathBuf>,
    /// With `vault = "sites"`: this server among the others.
    pub sites: Option<SitesSection>,
}

/// `etcd = { ... }`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EtcdSection {
    /// Its members, `host:port` each.
    pub endpoints: Vec<String>,
    /// What everything in it begins with. Default: `/tessera/`. Fleets need different ones.
    #[serde(default = "default_prefix")]
    pub prefix: String,
    /// The roots of its certificates, PEM.
    #[serde(default, deserialize_with = "values::some_path")]
    pub ca: Option<PathBuf>,
    /// The name in its certificates; with `ca`.
    pub server_name: Option<String>,
    /// This server's certificate for etcd, PEM, if etcd asks for one.
    #[serde(default, deserialize_with = "values::some_path")]
    pub certificate: Option<PathBuf>,
    /// Its private key. Default: in the file of the certificate.
    #[serde(default, deserialize_with = "values::some_path")]
    pub key: Option<PathBuf>,
    /// In the place of `ca`: no TLS. Whoever can write to the connection can take keys away, and bring back those that
    /// were taken.
    #[serde(default)]
    pub plaintext_on_private_network: bool,
}

/// Where the one-time keys of a fleet are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FleetVault {
    /// In etcd: a flight is accepted once, wherever it comes.
    Etcd,
    /// At the server that issued the ticket: elsewhere a flight is not accepted, and may be sent again.
    Sites,
}

/// `[server.NAME.fleet.sites]`: the channel by which servers burn each other's one-time keys (docs/sites.md).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SitesSection {
    /// Where this server listens for the others.
    pub listen: ListenAddress,
    /// The name of this server's vault: 32 hexadecimal digits, random, no other's, the same over restarts. With `state`
    /// the directory has a name of its own, which the log tells at the start, and this is left out.
    pub vault_name: Option<String>,
    /// The authority of the sites alone, PEM.
    #[serde(deserialize_with = "values::path")]
    pub ca: PathBuf,
    /// This site's certificate, for servers and clients both, PEM.
    #[serde(deserialize_with = "values::path")]
    pub certificate: PathBuf,
    /// Its private key. Default: in the file of the certificate.
    #[serde(default, deserialize_with = "values::some_path")]
    pub key: Option<PathBuf>,
    /// The others.
    #[serde(default)]
    pub others: Vec<SiteSection>,
}

/// Another server of the fleet.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SiteSection {
    /// Where it listens for sites.
    pub address: DialAddress,
    /// The DNS name of its certificate.
    pub server_name: String,
    /// The name of its vault: 32 hexadecimal digits.
    pub vault_name: String,
}

fn default_prefix() -> String {
    "/tessera/".to_owned()
}
