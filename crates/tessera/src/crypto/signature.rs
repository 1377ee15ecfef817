//! Signing with the private key of a certificate.

use alloc::vec::Vec;

use crate::wire::SignatureScheme;

/// A local private key that signs a CertificateVerify. For a key elsewhere (an HSM, another process)
/// the driver answers the `Sign` question later.
pub trait Signer: Send + Sync {
    /// Returns the schemes that this key can sign with, in order of preference.
    fn schemes(&self) -> &[SignatureScheme];

    /// Signs `message` with `scheme`, one of [`schemes`](Self::schemes).
    fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Result<Vec<u8>, SigningError>;
}

/// The key could not sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SigningError;

impl core::fmt::Display for SigningError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the private key could not sign")
    }
}

impl core::error::Error for SigningError {}
