//! Static keys of ML-KEM: the holder of a certificate or of a known key authenticates by decapsulating.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use tessera::crypto::{AgreementError, Decapsulator, SharedSecret};
use tessera::wire::SignatureScheme;
use tessera_kem::{DecapsulationKey, EncapsulationKey, Error};

use crate::ml_kem::{agreement_error, shared_secret};

/// A private key of ML-KEM whose parameter set has rank `K`: 2, 3 or 4 for ML-KEM-512, ML-KEM-768 or ML-KEM-1024. It is always
/// ML-KEM with its re-encryption, never a one-time key.
pub struct KemKey<const K: usize> {
    key: Box<DecapsulationKey<K>>,
    public: Vec<u8>,
}

impl<const K: usize> KemKey<K> {
    const SCHEME: SignatureScheme = [
        SignatureScheme::KEM_MLKEM512,
        SignatureScheme::KEM_MLKEM768,
        SignatureScheme::KEM_MLKEM1024,
    ][K - 2];

    /// Derives the key from its seed, d and z (FIPS 203 §6.1), the form that RFC 9935 §6 recommends.
    #[must_use]
    pub fn from_seed(seed: &[u8; 64]) -> Self {
        Self::new(DecapsulationKey::from_seed(seed))
    }

    /// Reads the expanded form, and checks it (FIPS 203 §7.3).
    ///
    /// # Errors
    /// Returns an error if it is no such key.
    pub fn from_expanded(expanded: &[u8]) -> Result<Self, Error> {
        DecapsulationKey::from_expanded(expanded).map(Self::new)
    }

    /// Reads a key that is kept in both forms (RFC 9935 §6).
    ///
    /// # Errors
    /// Returns an error if they are of different keys.
    pub fn from_both(seed: &[u8; 64], expanded: &[u8]) -> Result<Self, Error> {
        DecapsulationKey::from_both(seed, expanded).map(Self::new)
    }

    fn new(key: DecapsulationKey<K>) -> Self {
        let mut public = vec![0; EncapsulationKey::<K>::LEN];
        let written = key.encapsulation_key().write(&mut public);
        debug_assert!(written.is_ok(), "it has the key's length");
        Self { key: Box::new(key), public }
    }

    /// Returns the public half, the contents of the BIT STRING of a SubjectPublicKeyInfo (RFC 9935 §4).
    #[must_use]
    pub fn public_key(&self) -> &[u8] {
        &self.public
    }
}

impl<const K: usize> Decapsulator for KemKey<K> {
    fn scheme(&self) -> &SignatureScheme {
        &Self::SCHEME
    }

    fn public_key(&self) -> Option<&[u8]> {
        Some(&self.public)
    }

    fn decapsulate(&self, encapsulation: &[u8]) -> Result<SharedSecret, AgreementError> {
        let secret = self.key.decapsulate(encapsulation).map_err(agreement_error)?;
        Ok(shared_secret(&secret))
    }
}

impl<const K: usize> fmt::Debug for KemKey<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KemKey").field("scheme", &Self::SCHEME).finish_non_exhaustive()
    }
}
