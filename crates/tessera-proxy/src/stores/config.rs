//! The configuration of stores.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tessera_kit::{KeySource, ProgramError, SettingFile};

use crate::address::{DialAddress, ListenAddress};
use crate::config::{Contradiction, de, warnings, wrong};

/// The keys of a section that configure stores.
#[derive(Debug, Clone, Copy)]
pub struct StoresSection<'c> {
    /// The section's name in errors: `server.postgres`.
    pub name: &'c str,
    /// The directory in which ticket keys and one-time keys survive a restart; `None`: only in memory.
    pub state: Option<&'c Path>,
    /// The source of that directory's key; `None`: the program keeps one in the runtime directory.
    pub state_key: Option<&'c KeySource>,
    /// The directory of a witness, which detects that the state was rolled back; `None`: nothing does.
    pub state_witness: Option<&'c Path>,
    /// What several servers behind one name share.
    pub fleet: Option<&'c Fleet>,
}

impl StoresSection<'_> {
    /// Finds contradictions, without reading any file.
    ///
    /// # Errors
    /// `[section] key: ` and what to do.
    pub fn check(&self) -> Result<(), ProgramError> {
        self.find_contradiction().map_or(Ok(()), |(key, what)| wrong(self.name, key, what))
    }

    /// Returns a key that contradicts another, and what to do.
    #[must_use]
    pub fn find_contradiction(&self) -> Contradiction {
        if self.state_key.is_some() && self.state.is_none() {
            return Some((
                "state-key",
                "needs the `state` that it opens: set `state`, or remove the key",
            ));
        }
        if self.state_witness.is_some() && self.state_key.is_none() {
            return Some((
                "state-witness",
                "has no effect without `state-key`, since a key that the program keeps itself opens no old copy of \
                 the state: set `state-key`, or remove the key",
            ));
        }
        self.fleet?.find_contradiction(self.state.is_some())
    }
}

/// `fleet`: ticket keys are in etcd, so that every server resumes every client; one-time keys are in etcd too, or in
/// each server's own vault, where other servers have them burned.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Fleet {
    /// The etcd cluster.
    pub etcd: EtcdSection,
    /// The key that wraps ticket keys in etcd; the same at all servers, and never in etcd.
    #[serde(deserialize_with = "de::key")]
    pub ring_key: KeySource,
    /// Where one-time keys are.
    pub vault: FleetVault,
    /// With `vault = "etcd"`: the file of epoch keys that wrap them there; the same at all servers, and never in etcd.
    /// One a line: `BEGINS SECONDS HEX`, the first since the Unix epoch.
    #[serde(default, deserialize_with = "de::some_path")]
    pub epoch_keys: Option<PathBuf>,
    /// With `vault = "sites"`: this server and the others.
    pub sites: Option<SitesSection>,
}

impl Fleet {
    /// Returns warnings about keys that every user of this machine can read or replace, named by their settings in this
    /// table: `[tickets] fleet.etcd.key`.
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

    fn find_contradiction(&self, has_state: bool) -> Contradiction {
        match (self.vault, &self.sites) {
            (FleetVault::Etcd, _) if has_state => Some((
                "state",
                "ticket keys and one-time keys are in etcd: remove the key, or keep one-time keys here with `vault = \
                 \"sites\"`",
            )),
            (FleetVault::Etcd, _) if self.epoch_keys.is_none() => Some((
                "fleet.epoch-keys",
                "`vault = \"etcd\"` wraps one-time keys under epoch keys: set the path of their file",
            )),
            (FleetVault::Etcd, Some(_)) => Some((
                "fleet.sites",
                "one-time keys are in etcd: remove the section, or set `vault = \"sites\"`",
            )),
            (FleetVault::Sites, None) => Some((
                "fleet.sites",
                "`vault = \"sites\"` needs this section, with this server and the others",
            )),
            (FleetVault::Sites, Some(_)) if self.epoch_keys.is_some() => Some((
                "fleet.epoch-keys",
                "only one-time keys in etcd use epoch keys: remove the key",
            )),
            (FleetVault::Sites, Some(sites)) if has_state && sites.vault_name.is_some() => Some((
                "fleet.sites.vault-name",
                "a vault in a `state` directory has its own name, which the log shows: remove the key",
            )),
            (FleetVault::Sites, Some(sites)) if !has_state && sites.vault_name.is_none() => Some((
                "fleet.sites.vault-name",
                "must be set to 32 hexadecimal digits, by which others know this vault: openssl rand -hex 16 prints \
                 them",
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
    /// The prefix of everything in it. Default: `/tessera/`. Fleets need different ones.
    #[serde(default = "default_prefix")]
    pub prefix: String,
    /// The roots for its certificates, PEM.
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
    /// Instead of `ca`: no TLS. An attacker who can write to the connection can then remove keys, and restore keys that
    /// were taken.
    #[serde(default)]
    pub plaintext_on_private_network: bool,
}

impl EtcdSection {
    /// Finds what could never connect, or not as it looks.
    ///
    /// # Errors
    /// `[section] etcd.key: ` and what to do.
    pub(super) fn check(&self, section: &str) -> Result<(), ProgramError> {
        let is_wrong = |endpoint: &&String| {
            let address = endpoint.parse::<DialAddress>();
            !matches!(address, Ok(DialAddress::Tcp(_) | DialAddress::Name(_)))
        };
        if let Some(endpoint) = self.endpoints.iter().find(is_wrong) {
            let what = format!(
                "{endpoint:?}: write the host and the port alone, such as \"etcd-1.internal:2379\"; `ca` and \
                 `server-name` are for TLS"
            );
            return wrong(section, "etcd.endpoints", what);
        }
        if self.endpoints.is_empty() {
            return wrong(section, "etcd.endpoints", "names no member");
        }
        let of_tls = [&self.ca, &self.certificate, &self.key].into_iter().any(Option::is_some);
        if self.plaintext_on_private_network && (of_tls || self.server_name.is_some()) {
            let what = "is without TLS: remove it, or `ca`, `server-name`, `certificate` and `key`";
            return wrong(section, "etcd.plaintext-on-private-network", what);
        }
        Ok(())
    }
}

/// Where a fleet keeps its one-time keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FleetVault {
    /// In etcd: a flight is accepted once, at whichever server it arrives.
    Etcd,
    /// At the server that issued the ticket: elsewhere a flight is rejected, and may be sent again.
    Sites,
}

/// `fleet.sites`: the channel by which servers burn each other's one-time keys (docs/sites.md).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SitesSection {
    /// Where this server listens for the others.
    pub listen: ListenAddress,
    /// The name of this server's vault: 32 hexadecimal digits, random, unique, unchanged by restarts. Leave it out with
    /// `state`: the directory has its own name, which is logged at the start.
    pub vault_name: Option<String>,
    /// The authority of the sites only, PEM.
    #[serde(deserialize_with = "de::path")]
    pub ca: PathBuf,
    /// This site's certificate, for servers and clients both, PEM.
    #[serde(deserialize_with = "de::path")]
    pub certificate: PathBuf,
    /// Its private key. Default: in the file of the certificate.
    #[serde(default, deserialize_with = "de::some_path")]
    pub key: Option<PathBuf>,
    /// The other servers.
    #[serde(default)]
    pub others: Vec<SiteSection>,
}

/// Another server of the fleet.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SiteSection {
    /// Where it listens for sites.
    pub address: DialAddress,
    /// The DNS name in its certificate.
    pub server_name: String,
    /// The name of its vault: 32 hexadecimal digits.
    pub vault_name: String,
}

fn default_prefix() -> String {
    "/tessera/".to_owned()
}

#[cfg(test)]
mod tests {
    use crate::config::Document;

    use super::*;

    #[test]
    fn an_etcd_that_could_not_be_reached_as_it_is_written_is_an_error() {
        let problem = |text: &str| {
            let document = Document::from_text(Path::new("/x.toml"), text.to_owned());
            let checked = document.parse::<EtcdSection>().unwrap().check("pool");
            checked.err().map(|error| error.to_string()).unwrap_or_default()
        };
        for good in [
            "endpoints = [\"e-1.internal:2379\", \"[2001:db8::1]:2379\"]\nca = \"c.pem\"\nserver-name = \"e\"",
            "endpoints = [\"192.0.2.1:2379\"]\nplaintext-on-private-network = true",
        ] {
            assert_eq!(problem(good), "");
        }
        for (bad, begins) in [
            ("endpoints = [\"a:1\", \"http://b:2379\"]", "endpoints: \"http://b:2379\": write"),
            ("endpoints = [\"https://b:2379\"]", "endpoints: \"https://b:2379\": write"),
            ("endpoints = [\"b\"]", "endpoints: \"b\": write"),
            ("endpoints = [\"unix:/run/etcd\"]", "endpoints: \"unix:/run/etcd\": write"),
            ("endpoints = []", "endpoints: names no member"),
            (
                "endpoints = [\"b:1\"]\nca = \"c.pem\"\nplaintext-on-private-network = true",
                "plaintext-on-private-network: is without TLS",
            ),
        ] {
            let problem = problem(bad);
            assert!(problem.starts_with(&format!("[pool] etcd.{begins}")), "{problem}");
        }
    }
}
