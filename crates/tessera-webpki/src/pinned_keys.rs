//! Peers identified by their public keys.

use alloc::string::String;
use alloc::vec::Vec;

use pki_types::SubjectPublicKeyInfoDer;
use tessera::Role;
use tessera::auth::{
    PeerAcceptance, PeerIdentity, PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer,
};
use tessera::handshake::Reply;
use tessera::wire::{AlertDescription, CertificateType, SignatureScheme};
use webpki::RawPublicKeyEntity;

use crate::alerts::reject;
use crate::algorithms::Algorithms;
use crate::error::ConfigError;

/// A public key known in advance, and its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedKey {
    /// The key: a SubjectPublicKeyInfo as DER (RFC 5280 §4.1.2.7).
    pub public_key: Vec<u8>,
    /// The only server name for which the key is valid; or the name given to a client.
    pub name: String,
}

/// Verifies peers by raw public keys (RFC 7250): no certificates, no authorities, no expiry, no clock. The
/// private key proves the peer's identity, so remove a key from the list when it is no longer trusted.
/// Sessions that began under another list are not resumed.
///
/// A name may have several keys. A server's [`PeerIdentity::blob`] is its name, as requested; a client's is
/// `key:NAME`. Neither expires.
#[derive(Debug)]
pub struct PinnedKeyVerifier {
    keys: Vec<PinnedKey>,
    algorithms: Algorithms,
    schemes: Vec<SignatureScheme>,
}

impl PinnedKeyVerifier {
    /// Makes a verifier that knows these keys and uses AWS-LC's algorithms.
    #[cfg(feature = "aws-lc")]
    pub fn new(keys: Vec<PinnedKey>) -> Result<Self, ConfigError> {
        Self::with_algorithms(keys, Algorithms::AWS_LC)
    }

    /// Makes a verifier that knows these keys and uses the caller's algorithms, those for handshakes.
    pub fn with_algorithms(
        keys: Vec<PinnedKey>,
        algorithms: Algorithms,
    ) -> Result<Self, ConfigError> {
        if keys.is_empty() {
            return Err(ConfigError::NoKeys);
        }
        let named = |key: &PinnedKey| {
            !key.name.is_empty() && CLIENT_PREFIX.len() + key.name.len() <= PeerIdentity::MAX_LEN
        };
        if !keys.iter().all(named) {
            return Err(ConfigError::KeyName);
        }
        for key in &keys {
            let der = SubjectPublicKeyInfoDer::from(key.public_key.as_slice());
            RawPublicKeyEntity::try_from(&der).map_err(ConfigError::key)?;
        }
        Ok(Self { keys, schemes: algorithms.handshake_schemes()?, algorithms })
    }

    fn judge(&self, question: &VerifyPeer) -> Result<PeerIdentity, PeerRejected> {
        let (CertificateType::RAW_PUBLIC_KEY, [public_key]) =
            (question.certificate_type, question.chain.as_slice())
        else {
            return Err(reject(
                AlertDescription::UNSUPPORTED_CERTIFICATE,
                "not a raw public key, and nothing else is accepted",
            ));
        };
        // First, so that malformed data gets another alert than an unknown key.
        self.algorithms.verify_signature(question)?;
        let asked = match (question.peer, question.server_name.as_deref()) {
            (Role::Server, None) => {
                let reason = "no server name to verify the server for";
                return Err(reject(AlertDescription::INTERNAL_ERROR, reason));
            }
            (Role::Server, name) => name,
            (Role::Client, _) => None,
        };
        let fits = |key: &&PinnedKey| {
            // RFC 4343: host names are case-insensitive.
            key.public_key == *public_key
                && asked.is_none_or(|name| key.name.eq_ignore_ascii_case(name))
        };
        let known = self.keys.iter().find(fits).ok_or_else(|| {
            reject(AlertDescription::CERTIFICATE_UNKNOWN, "the peer's public key is not known")
        })?;
        let blob = match asked {
            Some(name) => name.as_bytes().to_vec(),
            None => [CLIENT_PREFIX, known.name.as_bytes()].concat(),
        };
        Ok(PeerIdentity { blob, expires_at: None })
    }
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

    fn policy(&self) -> VerifierPolicy {
        let keys = self.keys.iter().fold(VerifierPolicy::new("keys"), |keys, key| {
            keys.with(&key.public_key).with(key.name.as_bytes())
        });
        // Of several names for one client's key, the first is its identity: the order matters.
        self.algorithms
            .add_to(VerifierPolicy::new("tessera-webpki: pinned keys, 1"), &[])
            .with_policy(&keys)
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        Reply::Now(self.judge(question).map(PeerAcceptance::from))
    }

    fn is_proof_right(&self, question: &VerifyPeer) -> bool {
        self.algorithms.verify_signature(question).is_ok()
    }
}
