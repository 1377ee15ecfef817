//! Verifies ML-DSA-44 (FIPS 204).

use ml_dsa::{MlDsa44, Signature, VerifyingKey};
use pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id};

#[derive(Debug)]
pub(crate) struct MlDsa44Pure;

impl SignatureVerificationAlgorithm for MlDsa44Pure {
    /// With the empty context string, as draft-ietf-tls-mldsa and RFC 9881 require.
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let key = public_key.try_into().map_err(|_| InvalidSignature)?;
        let signature = Signature::try_from(signature).map_err(|_| InvalidSignature)?;
        let key = VerifyingKey::<MlDsa44>::decode(&key);
        key.verify_with_context(message, &[], &signature).then_some(()).ok_or(InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ML_DSA_44
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ML_DSA_44
    }
}
