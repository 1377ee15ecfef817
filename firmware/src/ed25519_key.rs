//! A server's key of Ed25519: `tessera-rustcrypto` verifies alone.

use alloc::vec::Vec;

use ed25519_dalek::SigningKey;
use tessera::crypto::{Signer, SigningError};
use tessera::wire::SignatureScheme;

pub struct Ed25519Key(SigningKey);

impl Ed25519Key {
    /// Reads a key (RFC 8410 §7), with its public half behind it or not.
    pub fn from_pkcs8(der: &[u8]) -> Option<Self> {
        // The lengths, a version, the algorithm, and the heads of two OCTET STRINGs: 16 bytes before it.
        let (_, rest) = der.split_at_checked(16)?;
        rest.first_chunk().map(SigningKey::from_bytes).map(Self)
    }
}

impl Signer for Ed25519Key {
    fn schemes(&self) -> &[SignatureScheme] {
        &[SignatureScheme::ED25519]
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Result<Vec<u8>, SigningError> {
        if !self.schemes().contains(&scheme) {
            return Err(SigningError);
        }
        let signature =
            ed25519_dalek::Signer::try_sign(&self.0, message).map_err(|_| SigningError)?;
        Ok(signature.to_bytes().to_vec())
    }
}
