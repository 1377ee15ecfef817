//! Peers identified by their public keys.

use alloc::vec::Vec;
use core::fmt;

use pki_types::SignatureVerificationAlgorithm;
use tessera::Role;
#[cfg(feature = "kems")]
use tessera::auth::AskedKey;
use tessera::auth::{
    PeerAcceptance, PeerIdentity, PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer, joined,
};
use tessera::handshake::Reply;
use tessera::wire::{CertificateType, SignatureScheme};

use crate::algorithms::{Algorithms, key_parts};
use crate::defect::Defect;
use crate::error::ConfigError;
#[cfg(feature = "kems")]
use crate::kems;
use crate::proof::check_proof;

/// A public key known in advance, and its owner. Borrows its bytes, which an image has in its flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PinnedKey {
    /// The key: a SubjectPublicKeyInfo as DER (RFC 5280 §4.1.2.7).
    pub public_key: &'static [u8],
    /// The only server name for which the key is valid; or the name given to a client.
    pub name: &'static str,
}

/// Verifies peers by raw public keys (RFC 7250): no certificates, no authorities, no expiry, no clock. A key that a peer
/// presents is compared with those pinned.
///
/// A name may have several keys. Identities are those of `tessera_webpki::PinnedKeyVerifier`: of a server its name, as
/// requested, and of a client `key:NAME`. Neither expires.
pub struct PinnedKeyVerifier {
    keys: Vec<PinnedKey>,
    algorithms: Algorithms,
    /// Those of the keys, in their order.
    schemes: Vec<SignatureScheme>,
}

impl PinnedKeyVerifier {
    /// Makes a verifier that knows these keys. The algorithms are a provider's, such as
    /// `tessera_rustcrypto::HANDSHAKE_ALGORITHMS`; the list is empty if no key signs. With the feature `kems` a key may be
    /// one of ML-KEM (RFC 9935): its owner decapsulates instead of signing (docs/kem-auth.md).
    ///
    /// # Errors
    /// Returns an error if there is no key, or if one isn't DER, is of no algorithm given, or has no name or one that doesn't fit
    /// into [`PeerIdentity::MAX_LEN`].
    pub fn new(keys: Vec<PinnedKey>, algorithms: Algorithms) -> Result<Self, ConfigError> {
        if keys.is_empty() {
            return Err(ConfigError::NoKeys);
        }
        let mut schemes = Vec::new();
        for key in &keys {
            if key.name.is_empty() || CLIENT_PREFIX.len() + key.name.len() > PeerIdentity::MAX_LEN {
                return Err(ConfigError::KeyName);
            }
            let of_key = schemes_of(key.public_key, algorithms).map_err(|_| ConfigError::Key)?;
            if of_key.is_empty() {
                return Err(ConfigError::KeyAlgorithm);
            }
            for scheme in of_key {
                if !schemes.contains(&scheme) {
                    schemes.push(scheme);
                }
            }
        }
        Ok(Self { keys, algorithms, schemes })
    }

    fn judge(&self, question: &VerifyPeer) -> Result<PeerAcceptance, Defect> {
        let (CertificateType::RAW_PUBLIC_KEY, [public_key]) =
            (question.certificate_type, question.chain.as_slice())
        else {
            return Err(Defect::NotRawKey);
        };
        let asked = match question.peer {
            Role::Server => Some(question.server_name.as_deref().ok_or(Defect::ServerName)?),
            Role::Client => None,
        };
        let fits = |key: &&PinnedKey| {
            // RFC 4343: host names are case-insensitive.
            key.public_key == *public_key
                && asked.is_none_or(|name| key.name.eq_ignore_ascii_case(name))
        };
        let known = self.keys.iter().find(fits).ok_or(Defect::UnknownKey)?;
        let key = check_proof(question, known.public_key, self.algorithms, &self.schemes)?;
        let blob = match asked {
            Some(name) => joined(&[name.as_bytes()]),
            None => joined(&[CLIENT_PREFIX, known.name.as_bytes()]),
        };
        let blob = blob.map_err(|_| Defect::OutOfMemory)?;
        let mut accepted = PeerAcceptance::new(PeerIdentity { blob, expires_at: None });
        accepted.public_key = key;
        Ok(accepted)
    }
}

/// Returns the schemes with which the owner of a key (a SubjectPublicKeyInfo) can prove that it has it.
fn schemes_of(public_key: &[u8], algorithms: Algorithms) -> Result<Vec<SignatureScheme>, Defect> {
    let (of_key, _) = key_parts(public_key)?;
    let fits = |(scheme, algorithm): &&(SignatureScheme, &dyn SignatureVerificationAlgorithm)| {
        scheme.signs_handshakes() && algorithm.public_key_alg_id().as_ref() == of_key
    };
    let schemes = algorithms.iter().filter(fits).map(|(scheme, _)| *scheme);
    #[cfg(feature = "kems")]
    let schemes = schemes.chain(kems::kem_public_key(public_key).map(|key| key.scheme()));
    Ok(schemes.collect())
}

/// Distinguishes a client with a pinned key from one with a certificate.
const CLIENT_PREFIX: &[u8] = b"key:";

impl PeerVerifier for PinnedKeyVerifier {
    fn schemes(&self) -> &[SignatureScheme] {
        &self.schemes
    }

    fn certificate_types(&self) -> &[CertificateType] {
        &[CertificateType::RAW_PUBLIC_KEY]
    }

    /// The algorithms are those of the keys' own kinds: they decide nothing more.
    fn policy(&self) -> VerifierPolicy {
        // Of several names for one client's key, the first is its identity: the order matters.
        self.keys
            .iter()
            .fold(VerifierPolicy::new("tessera-fixed-pki: pinned keys, 1"), |keys, key| {
                keys.with(key.public_key).with(key.name.as_bytes())
            })
    }

    /// Also of a key that isn't pinned: its owner waits for an encapsulation, and gets an alert.
    #[cfg(feature = "kems")]
    fn kem_scheme(&self, asked: &AskedKey<'_>) -> Option<SignatureScheme> {
        kems::of_key(asked.chain.first()?)
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        Reply::Now(self.judge(question).map_err(PeerRejected::from))
    }
}

impl fmt::Debug for PinnedKeyVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedKeyVerifier")
            .field("keys", &self.keys.len())
            .field("schemes", &self.schemes)
            .finish()
    }
}
