//! Who the other end may be.

use std::path::PathBuf;

use serde::{Deserialize, Deserializer};

use super::values;

/// `[server.NAME.peers]`, `[client.NAME.peers]`: a peer is allowed if it proves one of these.
///
/// By certificate: it leads to a root of `ca`, and has one of `names` or `uris` (at a client: the `server-name`). By
/// itself: its certificate is one of `fingerprints`, or its key one of `public-keys`. By external PSK: `psk-file`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Peers {
    /// Roots, PEM; at a client `system` is those of the machine.
    pub ca: Option<Anchors>,
    /// Revocation lists, PEM.
    #[serde(deserialize_with = "values::paths")]
    pub crl: Vec<PathBuf>,
    /// DNS names, one of which the certificate has. At a client they stand for the `server-name`.
    pub names: Vec<String>,
    /// URIs, one of which the certificate has, such as `spiffe://example/db`.
    pub uris: Vec<String>,
    /// Whoever `ca` certifies is allowed. For a server with neither `names` nor `uris`.
    pub any_of_ca: bool,
    /// SHA-256 fingerprints of certificates, in hexadecimal, with or without colons.
    pub fingerprints: Vec<String>,
    /// Raw public keys (RFC 7250), PEM.
    #[serde(deserialize_with = "values::paths")]
    pub public_keys: Vec<PathBuf>,
    /// A file of external PSKs, `IDENTITY:HEX` a line.
    #[serde(default, deserialize_with = "values::some_path")]
    pub psk_file: Option<PathBuf>,
}

/// By which roots certificates are judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Anchors {
    /// Those of the machine.
    System,
    /// Those of a file, PEM.
    File(PathBuf),
}

impl<'de> Deserialize<'de> for Anchors {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        if text == "system" { Ok(Self::System) } else { values::path_of(&text).map(Self::File) }
    }
}

impl Peers {
    /// Whether nobody is named.
    pub fn is_empty(&self) -> bool {
        self.ca.is_none()
            && self.fingerprints.is_empty()
            && self.public_keys.is_empty()
            && self.psk_file.is_none()
    }

    /// Whether peers show certificates or public keys.
    pub fn uses_certificates(&self) -> bool {
        self.ca.is_some() || !self.fingerprints.is_empty() || !self.public_keys.is_empty()
    }
}
