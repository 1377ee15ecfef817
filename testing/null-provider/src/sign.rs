//! A signer whose signatures are all the same. **They prove nothing.**

use alloc::vec::Vec;

use tessera::crypto::{Signer, SigningError};
use tessera::wire::SignatureScheme;

/// The signature of every message; as long as an Ed25519 signature.
pub(crate) const SIGNATURE: [u8; 64] = [0x55; 64];

/// The one scheme that signer and verifier know.
pub(crate) const SCHEMES: [SignatureScheme; 1] = [SignatureScheme::ED25519];

/// Signs everything with the same bytes, as an "Ed25519" key. **It protects nothing.**
pub struct NullSigner;

impl Signer for NullSigner {
    fn schemes(&self) -> &[SignatureScheme] {
        &SCHEMES
    }

    fn sign(&self, scheme: SignatureScheme, _message: &[u8]) -> Result<Vec<u8>, SigningError> {
        SCHEMES.contains(&scheme).then(|| SIGNATURE.to_vec()).ok_or(SigningError)
    }
}
