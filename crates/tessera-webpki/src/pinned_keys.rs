//! Peers identified by their public keys.

use alloc::string::String;
use alloc::vec::Vec;

use pki_types::SubjectPublicKeyInfoDer;
use tessera::Role;
use tessera::auth::{
    AskedKey, PeerAcceptance, PeerIdentity, PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer,
};
use tessera::handshake::Reply;
use tessera::wire::{AlertDescription, CertificateType, SignatureScheme};
use webpki::RawPublicKeyEntity;

use crate::alerts::reject;
use crate::algorithms::Algorithms;
use crate::error::ConfigError;
use crate::kems::{AcceptedKems, kem_of};
use crate::peer_proof::PeerProof;

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
    kems: AcceptedKems,
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
        let (kems, schemes) = (AcceptedKems::default(), algorithms.handshake_schemes()?);
        Ok(Self { keys, schemes, kems, algorithms })
    }

    /// Accepts peers with keys of these KEMs as well, as
    /// [`WebPkiVerifier::accepting_kems`](crate::WebPkiVerifier::accepting_kems).
    ///
    /// # Errors
    /// Returns an error for an empty list, and for other schemes.
    pub fn accepting_kems(mut self, kems: &[SignatureScheme]) -> Result<Self, ConfigError> {
        let added = self.kems.add(kems)?;
        self.schemes.extend(added);
        Ok(self)
    }

    /// Accepts peers with keys of these KEMs alone, and none that signs.
    ///
    /// # Errors
    /// Returns an error for an empty list, and for other schemes.
    pub fn accepting_kems_alone(mut self, kems: &[SignatureScheme]) -> Result<Self, ConfigError> {
        self.algorithms.handshake = &[];
        (self.kems, self.schemes) = (AcceptedKems::default(), Vec::new());
        self.accepting_kems(kems)
    }

    fn judge(&self, question: &VerifyPeer) -> Result<PeerAcceptance, PeerRejected> {
        let (CertificateType::RAW_PUBLIC_KEY, [public_key]) =
            (question.certificate_type, question.chain.as_slice())
        else {
            return Err(reject(
                AlertDescription::UNSUPPORTED_CERTIFICATE,
                "not a raw public key, and nothing else is accepted",
            ));
        };
        // First, so that malformed data gets another alert than an unknown key.
        let proof = PeerProof::of(question, &self.algorithms, &self.kems)?;
        let kem_key = proof.judge_by_key(public_key)?;
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
        let mut accepted = PeerAcceptance::new(PeerIdentity { blob, expires_at: None });
        accepted.public_key = kem_key;
        Ok(accepted)
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
        let policy = self
            .algorithms
            .add_to(VerifierPolicy::new("tessera-webpki: pinned keys, 1"), &[])
            .with_policy(&keys);
        self.kems.add_to(policy)
    }

    fn kem_scheme(&self, asked: &AskedKey<'_>) -> Option<SignatureScheme> {
        kem_of(asked).map(|kem| kem.scheme)
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        Reply::Now(self.judge(question))
    }

    fn is_proof_right(&self, question: &VerifyPeer) -> bool {
        self.algorithms.verify_signature(question).is_ok()
    }
}
