//! How a peer proves that it holds the private key of its certificate.

use alloc::vec::Vec;

use crate::linked::KemAuthentication;
use crate::wire::SignatureScheme;

/// How a peer proves its identity. A verifier rejects a peer whose kind of proof it doesn't know.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Proof {
    /// A signature: CertificateVerify (RFC 8446 §4.4.3).
    Signature {
        /// The scheme of `signature`, one of those that the verifier listed.
        scheme: SignatureScheme,
        /// What was signed: padding, context string and transcript hash.
        signed: Vec<u8>,
        /// The signature, to check with the end entity's public key.
        signature: Vec<u8>,
    },
    /// A KEM (docs/kem-auth.md): the peer will decapsulate what this side encapsulates to the end entity's key, which the
    /// verifier returns ([`PeerAcceptance::with_public_key`](super::PeerAcceptance::with_public_key)).
    Kem {
        /// The scheme of the key, one of those that the verifier listed.
        scheme: SignatureScheme,
    },
}

impl Proof {
    /// Returns the scheme of the proof.
    pub fn scheme(&self) -> SignatureScheme {
        match self {
            Self::Signature { scheme, .. } | Self::Kem { scheme } => *scheme,
        }
    }
}

impl SignatureScheme {
    /// Returns whether this build has what a proof with this scheme takes.
    pub(crate) fn is_linked(self) -> bool {
        self.kem().is_none() || KemAuthentication::linked().is_some()
    }
}

/// A peer's public key, as its verifier read it from the certificate. Opaque to the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerPublicKey {
    scheme: SignatureScheme,
    key: Vec<u8>,
}

impl PeerPublicKey {
    /// Creates a public key of a scheme, in the format of the provider's implementation of the scheme.
    pub fn new(scheme: SignatureScheme, key: Vec<u8>) -> Self {
        Self { scheme, key }
    }

    /// Returns the scheme that the key is for.
    pub fn scheme(&self) -> SignatureScheme {
        self.scheme
    }

    /// Returns the key itself.
    pub fn as_bytes(&self) -> &[u8] {
        &self.key
    }
}
