//! Why a verifier cannot be made.

use alloc::string::String;

use crate::alerts::words;

/// A verifier cannot be made like this.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// Without a trust anchor nobody can be accepted.
    NoRoots,
    /// A root certificate is malformed, in the words of webpki.
    Root(String),
    /// Without a scheme for handshakes no peer can prove who it is.
    NoHandshakeSchemes,
    /// A scheme for handshakes is one that may only sign certificates (RFC 8446 §4.2.3).
    HandshakeScheme,
    /// Without a key nobody can be accepted.
    NoKeys,
    /// A pinned key has no name, or one that is too long for an identity.
    KeyName,
    /// A pinned key is malformed, in the words of webpki.
    Key(String),
    /// A certificate is malformed, in the words of webpki.
    Certificate(String),
    /// Without a revocation list every status is unknown, and unknown was to be refused.
    NoCrls,
    /// A revocation list is malformed, or of a kind that is not supported, in the words of webpki.
    Crl(String),
    /// A revocation list has the name of a root as its issuer, and no root of this name has signed it.
    CrlSignature,
    /// The provider has no suite with SHA-256, by which chains are known again.
    NoSha256,
    /// The provider gives no random numbers.
    NoRandom,
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
            Self::NoRoots => f.write_str("no root certificate"),
            Self::NoKeys => f.write_str("no public key"),
            Self::KeyName => f.write_str("a pinned key has no name, or too long a one"),
            Self::Key(error) => write!(f, "public key: {error}"),
            Self::Certificate(error) => write!(f, "certificate: {error}"),
            Self::Root(error) => write!(f, "root certificate: {error}"),
            Self::NoHandshakeSchemes => f.write_str("no signature scheme for handshakes"),
            Self::HandshakeScheme => f.write_str("a handshake scheme may only sign certificates"),
            Self::NoCrls => f.write_str("no revocation list, and unknown statuses are refused"),
            Self::CrlSignature => f.write_str(
                "revocation list: in a root's name, and not signed by a root of that name",
            ),
            Self::NoSha256 => f.write_str("the provider has no suite with SHA-256"),
            Self::NoRandom => f.write_str("the provider gives no random numbers: try again"),
            Self::Crl(error) => write!(f, "revocation list: {error}"),
        }
    }
}

impl core::error::Error for ConfigError {}
