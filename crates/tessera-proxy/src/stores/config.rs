//! What a configuration says of stores.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tessera_kit::{KeySource, ProgramError, SettingFile};

use crate::address::{DialAddress, ListenAddress};
use crate::config::{de, warnings};

/// The part of a section that is about stores.
#[derive(Debug, Clone, Copy)]
pub struct StoresSection<'c> {
    /// The section's name, which errors bear: `server.postgres`.
    pub name: &'c str,
    /// The directory in which ticket keys and one-time keys survive a restart; `None`: memory alone.
    pub state: Option<&'c Path>,
    /// Where the key of that directory is; `None`: the program keeps one in the runtime directory.
    pub state_key: Option<&'c KeySource>,
    /// The directory of a witness, which notices a state that was put back; `None`: nothing does.
    pub state_witness: Option<&'c Path>,
    /// What several servers behind one name share.
    pub fleet: Option<&'c Fleet>,
}

impl StoresSection<'_> {
    /// Finds what contradicts itself, without looking at a file.
    ///
    /// # Errors
    /// `[section] key: ` and what to do.
    pub fn check(&self) -> Result<(), ProgramError> {
        let (key, what) = match self.find_contradiction() {
            None => return Ok(()),
            Some(contradiction) => contradiction,
        };
        Err(ProgramError::settings(format!("[{}] {key}: {what}", self.name)))
    }

    /// The key that contradicts another, and what to do.
    #[must_use]
    pub fn find_contradiction(&self) -> Option<(&'static str, &'static str)> {
        if self.state_key.is_some() && self.state.is_none() {
            return Some((
                "state-key",
                "there is no `state` that it could open: name one, or leave it out",
            ));
        }
        if self.state_witness.is_some() && self.state_key.is_none() {
            return Some((
                "state-witness",
                "a key that the program keeps itself opens no old copy of the state: leave it out, or name a \
                 `state-key`",
            ));
        }
        self.fleet?.find_contradiction(self.state.is_some())
    }
}

/// `fleet`: ticket keys are in etcd, so that every server resumes every client; one-time keys are there
/// too, or in each server's own vault, and other servers have them burned.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Fleet {
    /// The etcd cluster.
    pub etcd: EtcdSection,
    /// The key under which ticket keys are wrapped in etcd, the same at all servers and never in etcd.
    #[serde(deserialize_with = "de::key")]
    pub ring_key: KeySource,
    /// Where one-time keys are.
    pub vault: FleetVault,
    /// With `vault = "etcd"`: the file of epoch keys under which they are wrapped there, the same at all servers and
    /// never in etcd. One a line: `BEGINS SECONDS HEX`, the first since the Unix epoch.
    #[serde(default, deserialize_with = "de::some_path")]
    pub epoch_keys: Option<PathBuf>,
    /// With `vault = "sites"`: this server among the others.
    pub sites: Option<SitesSection>,
}

impl Fleet {
    /// Warns of keys that every user of this machine can read or replace, by their settings in this table:
    /// `[tickets] fleet.etcd.key`.
    pub fn readable_keys(&self, table: &str) -> Vec<String> {
        let etcd = self.etcd.key.as_ref().or(self.etcd.certificate.as_ref());
        let sites =
            self.sites.as_ref().map(|sites| sites.key.as_ref().unwrap_or(&sites.certificate));
        let keys = [("fleet.etcd.key", etcd), ("fleet.sites.key", sites)].into_iter();
        let warning = |(key, path): (&str, Option<&PathBuf>)| {
            let setting = &format!("[{table}] {key}");
            warnings::readable_secret(SettingFile { setting, path: path? })
        };
        keys.filter_map(warning).collect()
    }

    fn find_contradiction(&self, has_state: bool) -> Option<(&'static str, &'static str)> {
        match (self.vault, &self.sites) {
            (FleetVault::Etcd, _) if has_state => Some((
                "state",
                "ticket keys and one-time keys are in etcd: leave it out, or keep one-time keys here with \
                 `vault = \"sites\"`",
            )),
            (FleetVault::Etcd, _) if self.epoch_keys.is_none() => Some((
                "fleet.epoch-keys",
                "`vault = \"etcd\"` wraps one-time keys under them: name their file",
            )),
            (FleetVault::Etcd, Some(_)) => Some((
                "fleet.sites",
                "one-time keys are in etcd: leave it out, or say `vault = \"sites\"`",
            )),
            (FleetVault::Sites, None) => {
                Some(("fleet.sites", "`vault = \"sites\"` has this server and the others there"))
            }
            (FleetVault::Sites, Some(_)) if self.epoch_keys.is_some() => {
                Some(("fleet.epoch-keys", "they are for one-time keys in etcd: leave it out"))
            }
            (FleetVault::Sites, Some(sites)) if has_state && sites.vault_name.is_some() => Some((
                "fleet.sites.vault-name",
                "a vault in a `state` directory has a name of its own, which the log tells: leave it out",
            )),
            (FleetVault::Sites, Some(sites)) if !has_state && sites.vault_name.is_none() => Some((
                "fleet.sites.vault-name",
                "others know this vault by 32 hexadecimal digits: openssl rand -hex 16 writes them",
            )),
            _ => None,
        }
    }
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
    #[serde(default, deserialize_with = "de::some_path")]
    pub ca: Option<PathBuf>,
    /// The name in its certificates; with `ca`.
    pub server_name: Option<String>,
    /// This server's certificate for etcd, PEM, if etcd asks for one.
    #[serde(default, deserialize_with = "de::some_path")]
    pub certificate: Option<PathBuf>,
    /// Its private key. Default: in the file of the certificate.
    #[serde(default, deserialize_with = "de::some_path")]
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

/// `fleet.sites`: the channel by which servers burn each other's one-time keys (docs/sites.md).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SitesSection {
    /// Where this server listens for the others.
    pub listen: ListenAddress,
    /// The name of this server's vault: 32 hexadecimal digits, random, no other's, the same over restarts. With `state`
    /// the directory has a name of its own, which the log tells at the start, and this is left out.
    pub vault_name: Option<String>,
    /// The authority of the sites alone, PEM.
    #[serde(deserialize_with = "de::path")]
    pub ca: PathBuf,
    /// This site's certificate, for servers and clients both, PEM.
    #[serde(deserialize_with = "de::path")]
    pub certificate: PathBuf,
    /// Its private key. Default: in the file of the certificate.
    #[serde(default, deserialize_with = "de::some_path")]
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
