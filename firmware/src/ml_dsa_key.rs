//! A server's key of ML-DSA-44: `tessera-rustcrypto` verifies alone.

use alloc::vec::Vec;

use ml_dsa::{MlDsa44, SigningKey};
use tessera::crypto::{Signer, SigningError};
use tessera::wire::SignatureScheme;

/// The seed, which each signature expands again: the expanded key has 30 KB.
pub struct MlDsaKey([u8; 32]);

impl MlDsaKey {
    /// Reads a key that consists of its seed (RFC 9881 §6), which comes last.
    pub fn from_pkcs8(der: &[u8]) -> Option<Self> {
        // A version, the algorithm, and the seed: 22 bytes before it.
        (der.len() == 54).then_some(der)?.last_chunk().copied().map(Self)
    }
}

impl Signer for MlDsaKey {
    fn schemes(&self) -> &[SignatureScheme] {
        &[SignatureScheme::MLDSA44]
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Result<Vec<u8>, SigningError> {
        if !self.schemes().contains(&scheme) {
            return Err(SigningError);
        }
        let key = SigningKey::<MlDsa44>::from_seed(&self.0.into());
        let signature = ml_dsa::Signer::try_sign(&key, message).map_err(|_| SigningError)?;
        Ok(signature.encode().to_vec())
    }
}
