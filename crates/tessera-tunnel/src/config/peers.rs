//! Who the other end may be.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::values::resolve;

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
    pub public_keys: Vec<PathBuf>,
    /// A file of external PSKs, `IDENTITY:HEX` a line.
    pub psk_file: Option<PathBuf>,
}

/// By which roots certificates are judged.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum Anchors {
    /// Those of the machine.
    System,
    /// Those of a file, PEM.
    File(PathBuf),
}

impl From<String> for Anchors {
    fn from(text: String) -> Self {
        if text == "system" { Self::System } else { Self::File(text.into()) }
    }
}

impl Peers {
    /// Puts a directory before all paths that are relative.
    pub(super) fn resolve(&mut self, directory: &Path) {
        if let Some(Anchors::File(path)) = &mut self.ca {
            resolve(directory, [path]);
        }
        let lists = self.crl.iter_mut().chain(&mut self.public_keys);
        resolve(directory, lists.chain(&mut self.psk_file));
    }

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
