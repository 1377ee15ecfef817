//! Why a verifier can't be made.

use core::fmt;

/// Why a verifier can't be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// No trust anchor: every peer would be refused.
    NoAnchors,
    /// No algorithm: no peer could prove its identity.
    NoAlgorithms,
    /// A scheme may only sign certificates (RFC 8446 §4.2.3).
    Scheme,
    /// The list of KEMs is empty, or has one whose keys this crate doesn't read.
    #[cfg(feature = "kems")]
    Kem,
    /// No pinned key: every peer would be refused.
    NoKeys,
    /// The name of a pinned key is empty, or too long for an identity.
    KeyName,
    /// A pinned key is no SubjectPublicKeyInfo.
    Key,
    /// No algorithm fits a pinned key: its owner could not prove its identity.
    KeyAlgorithm,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoAnchors => "no trust anchor: give at least one",
            Self::NoAlgorithms => "no signature algorithm",
            Self::Scheme => "a handshake scheme may only sign certificates",
            #[cfg(feature = "kems")]
            Self::Kem => "a KEM is not known here, or there is none",
            Self::NoKeys => "no pinned key: give at least one",
            Self::KeyName => "a pinned key's name is empty, or too long for an identity",
            Self::Key => "a pinned key is no SubjectPublicKeyInfo in DER",
            Self::KeyAlgorithm => "no algorithm fits a pinned key: give its algorithm",
        })
    }
}

impl core::error::Error for ConfigError {}
