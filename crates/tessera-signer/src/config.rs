//! The configuration of `tessera signer run`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use tessera_kit::ProgramError;
use tessera_proxy::address::ListenAddress;
use tessera_proxy::config::{
    Contradiction, Document, check_listeners, de, find_impossible_name, find_zero_count,
    find_zero_time, wrong,
};
use tessera_proxy::logging::LogFormat;
use tessera_proxy::with_defaults;

/// A whole configuration.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Signer {
    /// `[process]`.
    #[serde(default)]
    pub process: Process,
    /// `[signer]`.
    pub signer: SignerSection,
    /// `[key.NAME]`.
    #[serde(default)]
    pub key: BTreeMap<String, KeySection>,
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
        /// How long connections may take to end at shutdown.
        #[serde(deserialize_with = "de::duration")]
        pub drain: Duration = Duration::from_secs(5),
    }
}

tessera_proxy::lasting!(Process: admin, log, drain);

/// `[signer]`: where clients reach it, and which there may be.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SignerSection {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The signer's certificate, PEM, with the name that its clients connect to.
    #[serde(deserialize_with = "de::path")]
    pub certificate: PathBuf,
    /// Its private key. Default: in the file of the certificate.
    #[serde(default, deserialize_with = "de::some_path")]
    pub key: Option<PathBuf>,
    /// The authority of clients' certificates, PEM: one for nothing else.
    #[serde(deserialize_with = "de::path")]
    pub ca: PathBuf,
}

tessera_proxy::lasting!(SignerSection: listen);

/// `[key.NAME]`: a private key, and who may use it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct KeySection {
    /// The certificate, PEM: the key is checked against it.
    #[serde(default, deserialize_with = "de::some_path")]
    pub certificate: Option<PathBuf>,
    /// The private key, PEM. Default: in the file of the certificate.
    #[serde(default, deserialize_with = "de::some_path")]
    pub key: Option<PathBuf>,
    /// The names of clients that may use it: DNS names and URIs, as their certificates have them.
    pub allow: Vec<String>,
    /// How many signatures a second a client gets.
    pub rate: NonZeroU32,
    /// How many at once. Default: `rate`.
    pub burst: Option<NonZeroU32>,
}

with_defaults! {
    /// `[limits]`.
    #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
    pub struct Limits {
        /// Concurrent connections; further ones wait in the listener's queue.
        pub connections: usize = 1024,
        /// Connections of one address; further ones are closed. Default: an eighth of all.
        pub connections_per_address: Option<usize> = None,
        /// Slow signatures (all but ECDSA on P-256 and Ed25519) in progress; further ones are refused.
        pub in_progress: usize = 64,
        /// How long a handshake of a client may take.
        #[serde(deserialize_with = "de::duration")]
        pub handshake: Duration = Duration::from_secs(10),
        /// How long a connection may be silent. Clients ping every 15 seconds.
        #[serde(deserialize_with = "de::duration")]
        pub idle: Duration = Duration::from_secs(60),
    }
}

impl Signer {
    /// Finds contradictions, without reading any file.
    ///
    /// # Errors
    /// `[section] key: ` and what to do.
    pub fn check(&self) -> Result<(), ProgramError> {
        if self.key.is_empty() {
            return wrong("signer", "listen", "no key is configured: add a [key.NAME]");
        }
        for (name, section) in &self.key {
            if let Some((key, what)) = section.find_contradiction(name) {
                return wrong(format_args!("key.{name}"), key, what);
            }
        }
        if let Some((key, what)) = self.limits.find_contradiction() {
            return wrong("limits", key, what);
        }
        let listen = ListenAddress::Tcp(self.signer.listen);
        let admin = self.process.admin.iter().map(|address| ("process", "admin", address));
        check_listeners(admin.chain([("signer", "listen", &listen)]))
    }
}

impl KeySection {
    fn find_contradiction(&self, name: &str) -> Contradiction {
        if name.is_empty() || name.len() > crate::wire::MAX_NAME {
            return Some(("key", "the name of the section must have 1 to 255 bytes"));
        }
        if self.certificate.is_none() && self.key.is_none() {
            return Some((
                "key",
                "where the private key is must be set: `key`, or `certificate` for a file with both",
            ));
        }
        if self.allow.is_empty() {
            return Some((
                "allow",
                "no client may use this key: list names of clients' certificates",
            ));
        }
        let names: BTreeSet<_> = self.allow.iter().collect();
        if names.len() < self.allow.len() {
            return Some(("allow", "a name is there twice: remove it"));
        }
        find_impossible_name("allow", &self.allow)
    }

    /// Returns how many signatures a client gets at once.
    #[must_use]
    pub fn burst(&self) -> NonZeroU32 {
        self.burst.unwrap_or(self.rate)
    }
}

impl Limits {
    fn find_contradiction(&self) -> Contradiction {
        let per_address = self.connections_per_address.unwrap_or(1);
        find_zero_count(&[
            ("connections", self.connections),
            ("connections-per-address", per_address),
            ("in-progress", self.in_progress),
        ])
        .or_else(|| find_zero_time(&[("handshake", self.handshake), ("idle", self.idle)]))
    }
}

/// A configuration as read, with the text that locates its errors.
#[derive(Debug)]
pub(crate) struct LoadedSigner {
    pub(crate) signer: Signer,
    document: Document,
}

impl LoadedSigner {
    /// Reads a file, and checks it for contradictions.
    pub(crate) fn read(path: &Path) -> Result<Self, ProgramError> {
        let document = Document::read(path)?;
        let loaded = Self { signer: document.parse()?, document };
        loaded.signer.check().map_err(|error| loaded.locate(error))?;
        Ok(loaded)
    }

    /// Adds the line of the key to an error of the form `[signer] key: what`.
    pub(crate) fn locate(&self, error: ProgramError) -> ProgramError {
        self.document.locate(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[signer]\nlisten = \"127.0.0.1:9444\"\ncertificate = \"/s.pem\"\nca = \"/ca.pem\"\n\
                        [key.www]\nkey = \"/www.key\"\nallow = [\"edge-a.internal\"]\nrate = 100\n";

    fn problem(text: &str) -> String {
        let document = Document::from_text(Path::new("/signer.toml"), text.to_owned());
        let signer: Signer = match document.parse() {
            Ok(signer) => signer,
            Err(error) => return error.to_string(),
        };
        signer.check().map_or_else(|error| document.locate(error).to_string(), |()| String::new())
    }

    #[test]
    fn a_contradiction_names_its_line_and_the_fix() {
        assert_eq!(problem(GOOD), "");
        let keyless = &GOOD[..GOOD.find("[key").unwrap()];
        for (text, begins) in [
            (keyless.to_owned(), "/signer.toml:2: [signer] listen: no key is configured"),
            (
                GOOD.replace("key = \"/www.key\"\n", ""),
                "/signer.toml:5: [key.www] key: where the private key is",
            ),
            (
                GOOD.replace("[\"edge-a.internal\"]", "[]"),
                "/signer.toml:7: [key.www] allow: no client",
            ),
            (
                GOOD.replace("\"edge-a.internal\"", "\"a\", \"a\""),
                "/signer.toml:7: [key.www] allow: a name is",
            ),
            (
                GOOD.replace("edge-a.internal", "*.internal"),
                "/signer.toml:7: [key.www] allow: names are compared",
            ),
            (
                GOOD.replace("edge-a.internal", "dns:edge-a.internal"),
                "/signer.toml:7: [key.www] allow: write names as",
            ),
            (GOOD.replace("rate = 100", "rate = 0"), "/signer.toml:8: "),
            (
                format!("{GOOD}[limits]\nin-progress = 0\n"),
                "/signer.toml:10: [limits] in-progress: ",
            ),
            (format!("{GOOD}[limits]\nidle = 0\n"), "/signer.toml:10: [limits] idle: "),
            (
                format!("[process]\nadmin = \"127.0.0.1:9444\"\n{GOOD}"),
                "/signer.toml:4: [signer] listen: ",
            ),
        ] {
            let problem = problem(&text);
            assert!(problem.starts_with(begins), "{problem}");
        }
    }

    #[test]
    fn the_example_of_the_package_has_no_contradiction() {
        assert_eq!(problem(include_str!("../../../packaging/signer.toml")), "");
    }
}
