//! Why a verifier cannot be made.

use alloc::string::String;

use crate::alerts::words;

/// Why a verifier can't be made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// No trust anchor: every peer would be refused.
    NoRoots,
    /// A root certificate is malformed, with webpki's description.
    Root(String),
    /// No scheme for handshakes: no peer could prove its identity.
    NoHandshakeSchemes,
    /// A scheme for handshakes may only sign certificates (RFC 8446 §4.2.3).
    HandshakeScheme,
    /// No KEM, or one whose keys have no form in certificates.
    Kem,
    /// No key: every peer would be refused.
    NoKeys,
    /// A pinned key has no name, or one that is too long for an identity.
    KeyName,
    /// A pinned key is malformed, with webpki's description.
    Key(String),
    /// A certificate is malformed, with webpki's description.
    Certificate(String),
    /// No revocation list: every status would be unknown, and unknown is to be refused.
    NoCrls,
    /// A revocation list is malformed or of an unsupported kind, with webpki's description.
    Crl(String),
    /// A revocation list names a root as its issuer, but no root of that name signed it.
    CrlSignature,
}

impl ConfigError {
    pub(crate) fn key(error: webpki::Error) -> Self {
        Self::Key(words(&error))
    }

    pub(crate) fn certificate(error: webpki::Error) -> Self {
        Self::Certificate(words(&error))
    }
}

impl core::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoRoots => f.write_str("no root certificate: give at least one"),
            Self::NoKeys => f.write_str("no pinned key: give at least one"),
            Self::KeyName => f.write_str(
                "a pinned key's name is empty, or doesn't fit into PeerIdentity::MAX_LEN",
            ),
            Self::Key(error) => write!(f, "public key: {error}"),
            Self::Certificate(error) => write!(f, "certificate: {error}"),
            Self::Root(error) => write!(f, "root certificate: {error}"),
            Self::NoHandshakeSchemes => f.write_str("no signature scheme for handshakes"),
            Self::HandshakeScheme => f.write_str("a handshake scheme may only sign certificates"),
            Self::Kem => f.write_str(
                "KEMs: give ML-KEM-512, ML-KEM-768, ML-KEM-1024 or X25519, at least one",
            ),
            Self::NoCrls => {
                f.write_str("no revocation list: give at least one, or accept unknown statuses")
            }
            Self::CrlSignature => f.write_str(
                "revocation list: issued in a root's name, but not signed by a root of that name",
            ),
            Self::Crl(error) => write!(f, "revocation list: {error}"),
        }
    }
}

impl core::error::Error for ConfigError {}
