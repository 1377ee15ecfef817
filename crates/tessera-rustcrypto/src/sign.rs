//! Signing with the private key of a certificate.

use alloc::vec::Vec;
use core::fmt;

use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{DerSignature, SigningKey as P256Key};
use p256::pkcs8::DecodePrivateKey;
use tessera::crypto::{Signer, SigningError};
use tessera::wire::SignatureScheme;

/// A private key: ECDSA on P-256. Its signatures are deterministic (RFC 6979): they need no random bytes.
pub struct SigningKey(P256Key);

impl SigningKey {
    /// Reads an unencrypted PKCS#8 key (RFC 5958) as DER.
    ///
    /// # Errors
    /// Returns an error if the bytes are not DER, or the key is of another kind or curve.
    pub fn from_pkcs8(der: &[u8]) -> Result<Self, KeyRejected> {
        P256Key::from_pkcs8_der(der).map(Self).map_err(|_| KeyRejected)
    }

    /// Returns the public half, in the format of the BIT STRING of a SubjectPublicKeyInfo (RFC 5280 §4.1.2.7),
    /// to check that a certificate belongs to this key.
    pub fn public_key(&self) -> Vec<u8> {
        self.0.verifying_key().to_sec1_point(false).as_bytes().to_vec()
    }
}

impl Signer for SigningKey {
    fn schemes(&self) -> &[SignatureScheme] {
        &[SignatureScheme::ECDSA_SECP256R1_SHA256]
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Result<Vec<u8>, SigningError> {
        if !self.schemes().contains(&scheme) {
            return Err(SigningError);
        }
        let signature: DerSignature = self.0.try_sign(message).map_err(|_| SigningError)?;
        Ok(signature.as_bytes().to_vec())
    }
}

/// A private key could not be loaded: the bytes are not DER, or the key is not of P-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyRejected;

impl fmt::Display for KeyRejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes are not an unencrypted PKCS#8 key of P-256")
    }
}

impl core::error::Error for KeyRejected {}
