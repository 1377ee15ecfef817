//! OT-ML-KEM as the thesis' code has it: K = SHA3-256(m, c), without domain, H(ek) and tag.

use crate::encapsulation_key::EncapsulationKey;
use crate::error::Error;
use crate::hashes::{g, h};
use crate::one_time::OneTimeKey;
use crate::secret::SharedSecret;

/// A key of OT-ML-KEM as coded. It decapsulates once.
pub struct ExperimentalAsCodedKey<const K: usize>(OneTimeKey<K>);

impl<const K: usize> ExperimentalAsCodedKey<K> {
    /// Derives a key from `d`, 32 random bytes, and writes its public half.
    ///
    /// # Errors
    /// [`Error::Length`] if `public` is not exactly [`EncapsulationKey::LEN`] bytes long.
    pub fn generate(d: &[u8; 32], public: &mut [u8]) -> Result<Self, Error> {
        OneTimeKey::generate(d, public).map(Self)
    }

    /// Writes a ciphertext and returns the secret. Both the coins of K-PKE and m follow from `coins`: 32 random bytes,
    /// never data and never twice.
    ///
    /// # Errors
    /// [`Error::Length`] if `ciphertext` is not exactly [`EncapsulationKey::CIPHERTEXT_LEN`] bytes long.
    pub fn encapsulate(
        public: &EncapsulationKey<K>,
        coins: &[u8; 32],
        ciphertext: &mut [u8],
    ) -> Result<SharedSecret, Error> {
        let derived = g(&[coins]);
        let (r, m) = (derived.first, derived.second);
        public.encrypt(&m, &r, ciphertext)?;
        Ok(h(&[&*m, ciphertext]).into())
    }

    /// Returns the secret that a ciphertext encapsulates, and destroys the key.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn decapsulate(self, ciphertext: &[u8]) -> Result<SharedSecret, Error> {
        let m = self.0.decrypt(ciphertext)?;
        Ok(h(&[&*m, ciphertext]).into())
    }
}
