//! Which peers are allowed.

use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Deserializer};

use super::options::PEERS;
use super::values;

/// `[server.NAME.peers]`, `[client.NAME.peers]`: a peer is allowed if it proves one of these.
///
/// By a root: its certificate chains to one of `ca`, and has one of `names` or `uris` (at a client: the `server-name`).
/// By itself: its certificate is one of `fingerprints`, or its key one of `public-keys`. By external PSK: `psk-file`.
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Peers {
    /// The roots that the other end's certificate must chain to (PEM); at a client also `system`.
    #[arg(long, value_name = "FILE", value_parser = anchors, help_heading = PEERS)]
    pub ca: Option<Anchors>,

    /// Revocation lists (PEM) for such certificates. May be repeated.
    #[arg(long, value_name = "FILE", requires = "ca", help_heading = PEERS)]
    #[serde(deserialize_with = "values::paths")]
    pub crl: Vec<PathBuf>,

    /// DNS names, one of which the other end's certificate must have, separated by commas. At a client they replace the
    /// server's name.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "ca", help_heading = PEERS)]
    pub names: Vec<String>,

    /// URIs, one of which it must have, separated by commas.
    #[arg(long, value_name = "URIS", value_delimiter = ',', requires = "ca", help_heading = PEERS)]
    pub uris: Vec<String>,

    /// Allows every client with a certificate of --ca.
    #[arg(long, requires = "ca", help_heading = PEERS)]
    pub any_of_ca: bool,

    /// SHA-256 fingerprints of allowed certificates, separated by commas.
    #[arg(long, value_name = "SHA256", value_delimiter = ',', help_heading = PEERS)]
    pub fingerprints: Vec<String>,

    /// A raw public key of a peer (PEM). May be repeated.
    #[arg(long, value_name = "FILE", help_heading = PEERS)]
    #[serde(deserialize_with = "values::paths")]
    pub public_keys: Vec<PathBuf>,

    /// External PSKs, one IDENTITY:HEX a line.
    #[arg(long, value_name = "FILE", help_heading = PEERS)]
    #[serde(deserialize_with = "values::some_path")]
    pub psk_file: Option<PathBuf>,
}

/// The roots that certificates must chain to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Anchors {
    /// The machine's roots.
    System,
    /// A file in PEM.
    File(PathBuf),
}

impl<'de> Deserialize<'de> for Anchors {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        if text == "system" { Ok(Self::System) } else { values::path_of(&text).map(Self::File) }
    }
}

#[allow(clippy::unnecessary_wraps, reason = "clap's form of a parser")]
fn anchors(text: &str) -> Result<Anchors, String> {
    Ok(if text == "system" { Anchors::System } else { Anchors::File(text.into()) })
}

impl Peers {
    /// Whether no peer is allowed.
    pub fn is_empty(&self) -> bool {
        self.ca.is_none()
            && self.fingerprints.is_empty()
            && self.public_keys.is_empty()
            && self.psk_file.is_none()
    }

    /// Whether peers authenticate with certificates or public keys.
    pub fn uses_certificates(&self) -> bool {
        self.ca.is_some() || !self.fingerprints.is_empty() || !self.public_keys.is_empty()
    }
}
