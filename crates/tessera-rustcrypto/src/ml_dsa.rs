//! Verifies ML-DSA (FIPS 204).

use core::fmt;
use core::marker::PhantomData;

use ml_dsa::{MlDsaParams, Signature, VerifyingKey};
use pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id};

/// ML-DSA with these parameters, without a hash of the message before it.
pub(crate) struct MlDsaPure<P> {
    /// The same for keys and signatures (RFC 9881 §2).
    id: AlgorithmIdentifier,
    parameters: PhantomData<fn() -> P>,
}

impl MlDsaPure<ml_dsa::MlDsa44> {
    pub(crate) const ML_DSA_44: Self = Self { id: alg_id::ML_DSA_44, parameters: PhantomData };
}

#[cfg(feature = "ml-dsa-65")]
impl MlDsaPure<ml_dsa::MlDsa65> {
    pub(crate) const ML_DSA_65: Self = Self { id: alg_id::ML_DSA_65, parameters: PhantomData };
}

#[cfg(feature = "ml-dsa-87")]
impl MlDsaPure<ml_dsa::MlDsa87> {
    pub(crate) const ML_DSA_87: Self = Self { id: alg_id::ML_DSA_87, parameters: PhantomData };
}

impl<P: MlDsaParams> SignatureVerificationAlgorithm for MlDsaPure<P> {
    /// With the empty context string, as draft-ietf-tls-mldsa and RFC 9881 require.
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let key = public_key.try_into().map_err(|_| InvalidSignature)?;
        let signature = Signature::try_from(signature).map_err(|_| InvalidSignature)?;
        let key = VerifyingKey::<P>::decode(&key);
        key.verify_with_context(message, &[], &signature).then_some(()).ok_or(InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.id
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.id
    }
}

impl<P> fmt::Debug for MlDsaPure<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MlDsaPure")
    }
}
