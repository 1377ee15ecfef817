//! Known server keys (docs/kem-auth.md §9): a client that knows the static key of its server encapsulates to it in the
//! ClientHello, and the result is a PSK, which only that server can compute.

use alloc::vec::Vec;

use crate::auth::{KeyId, PeerIdentity, PeerPublicKey, VerifierDigest, VerifierPolicy};
use crate::crypto::{Provider, Secret, SharedSecret};
use crate::schedule::{KeyDerivation, Label};

/// The static key of a KEM that a server has, and who that server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownServerKey {
    /// The key: of a certificate, or agreed otherwise. `tessera-webpki`'s `kem_public_key_of_certificate` and
    /// `kem_public_key` read it.
    pub public_key: PeerPublicKey,
    /// The identity of a server with this key, as a verifier would name it.
    pub identity: PeerIdentity,
}

impl KnownServerKey {
    /// Returns the digest under which sessions that begin with it are accepted.
    pub(crate) fn digest(&self, provider: &Provider) -> VerifierDigest {
        let policy = VerifierPolicy::new("tessera: known server key, 1")
            .with(&self.public_key.scheme().0.to_be_bytes())
            .with(self.public_key.as_bytes())
            .with(&self.identity.blob);
        VerifierDigest::of(&policy, provider)
    }
}

/// The identity of a PSK of a known key: which key it is, and what is encapsulated to it.
#[derive(Clone, Copy)]
pub(crate) struct KnownKeyIdentity<'i> {
    pub(crate) id: KeyId,
    pub(crate) encapsulation: &'i [u8],
}

impl<'i> KnownKeyIdentity<'i> {
    /// Reads an identity, which may be of any other kind: then no key has its id.
    pub(crate) fn read(identity: &'i [u8]) -> Option<Self> {
        let (id, encapsulation) = identity.split_first_chunk()?;
        Some(Self { id: KeyId(*id), encapsulation })
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        [&self.id.0[..], self.encapsulation].concat()
    }
}

/// Returns the PSK of an identity, from what is encapsulated in it. Its hash is SHA-256 (RFC 8446 §4.2.11).
pub(crate) fn psk_of_known_key(
    kdf: KeyDerivation,
    shared: &SharedSecret,
    identity: &[u8],
) -> Secret {
    let identity = kdf.hash.hash(identity);
    kdf.with_extracted(&[], shared.expose(), |secret| {
        kdf.expand_label_to_secret(secret, Label::KNOWN_KEY, identity.as_ref())
    })
}
