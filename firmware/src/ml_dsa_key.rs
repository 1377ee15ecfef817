//! A server's key of ML-DSA: `tessera-rustcrypto` verifies alone.

use alloc::vec::Vec;
use core::marker::PhantomData;

use ml_dsa::{MlDsa44, MlDsaParams, SigningKey};
#[cfg(feature = "suites")]
use ml_dsa::{MlDsa65, MlDsa87};
use tessera::crypto::{Signer, SigningError};
use tessera::wire::SignatureScheme;

/// The seed, which each signature expands again: the expanded key has 30 KB with ML-DSA-44.
pub struct MlDsaKey<P> {
    seed: [u8; 32],
    parameters: PhantomData<fn() -> P>,
}

/// Parameters that have a scheme.
pub trait HasScheme: MlDsaParams {
    const SCHEME: SignatureScheme;
}

impl HasScheme for MlDsa44 {
    const SCHEME: SignatureScheme = SignatureScheme::MLDSA44;
}

#[cfg(feature = "suites")]
impl HasScheme for MlDsa65 {
    const SCHEME: SignatureScheme = SignatureScheme::MLDSA65;
}

#[cfg(feature = "suites")]
impl HasScheme for MlDsa87 {
    const SCHEME: SignatureScheme = SignatureScheme::MLDSA87;
}

impl<P: HasScheme> MlDsaKey<P> {
    /// Reads a key that consists of its seed (RFC 9881 §6), which comes last.
    pub fn from_pkcs8(der: &[u8]) -> Option<Self> {
        // A version, the algorithm, and the seed: 22 bytes before it.
        let seed = *(der.len() == 54).then_some(der)?.last_chunk()?;
        Some(Self { seed, parameters: PhantomData })
    }
}

impl<P: HasScheme> Signer for MlDsaKey<P> {
    fn schemes(&self) -> &[SignatureScheme] {
        &[P::SCHEME]
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Result<Vec<u8>, SigningError> {
        if !self.schemes().contains(&scheme) {
            return Err(SigningError);
        }
        let key = SigningKey::<P>::from_seed(&self.seed.into());
        let signature = ml_dsa::Signer::try_sign(&key, message).map_err(|_| SigningError)?;
        Ok(signature.encode().to_vec())
    }
}
