//! Verifies Ed25519 (RFC 8032 §5.1).

use ed25519_dalek::{Signature, VerifyingKey};
use pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id};

#[derive(Debug)]
pub(crate) struct Ed25519;

impl SignatureVerificationAlgorithm for Ed25519 {
    /// Without the cofactor, and refuses keys and R of small order, under which a signature fits several messages (RFC 8032
    /// §8.4 leaves both open).
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let key = VerifyingKey::try_from(public_key).map_err(|_| InvalidSignature)?;
        let signature = Signature::try_from(signature).map_err(|_| InvalidSignature)?;
        key.verify_strict(message, &signature).map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ED25519
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ED25519
    }
}
