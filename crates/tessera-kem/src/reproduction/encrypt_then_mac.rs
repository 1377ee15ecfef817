//! OT-ML-KEM as the thesis' text has it: encrypt, then MAC, with Poly1305.

use poly1305::Poly1305;
use poly1305::universal_hash::KeyInit;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::decapsulation_key::select;
use crate::encapsulation_key::EncapsulationKey;
use crate::error::Error;
use crate::hashes::{g, j};
use crate::one_time::OneTimeKey;
use crate::secret::SharedSecret;

/// The length of the tag, which follows the ciphertext of K-PKE.
pub const TAG_LEN: usize = 16;

/// A key of OT-ML-KEM with encrypt-then-MAC. It decapsulates once.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct ExperimentalEncryptThenMacKey<const K: usize> {
    key: OneTimeKey<K>,
    z: [u8; 32],
}

impl<const K: usize> ExperimentalEncryptThenMacKey<K> {
    /// The length of a ciphertext with its tag.
    pub const CIPHERTEXT_LEN: usize = EncapsulationKey::<K>::CIPHERTEXT_LEN + TAG_LEN;

    /// Derives a key from `seed`: 64 random bytes, d and z, and writes its public half.
    ///
    /// # Errors
    /// [`Error::Length`] if `public` is not exactly [`EncapsulationKey::LEN`] bytes long.
    pub fn generate(seed: &[[u8; 32]; 2], public: &mut [u8]) -> Result<Self, Error> {
        let [d, z] = seed;
        Ok(Self { key: OneTimeKey::generate(d, public)?, z: *z })
    }

    /// Writes a ciphertext with its tag and returns the secret.
    ///
    /// `random`: m, then r, the coins of K-PKE. Each is 32 random bytes, never data and never twice.
    ///
    /// # Errors
    /// [`Error::Length`] if `ciphertext` is not exactly [`CIPHERTEXT_LEN`](Self::CIPHERTEXT_LEN) bytes long.
    pub fn encapsulate(
        public: &EncapsulationKey<K>,
        random: &[[u8; 32]; 2],
        ciphertext: &mut [u8],
    ) -> Result<SharedSecret, Error> {
        let [m, r] = random;
        let (encrypted, tag) = ciphertext.split_last_chunk_mut::<TAG_LEN>().ok_or(Error::Length)?;
        public.encrypt(m, r, encrypted)?;
        let derived = g(&[m, &public.hash]);
        *tag = mac(&derived.second, encrypted);
        Ok(j(&[&*derived.first, tag]).into())
    }

    /// Returns the secret that a ciphertext encapsulates, and destroys the key. A wrong tag yields a secret that its maker
    /// doesn't know.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn decapsulate(self, ciphertext: &[u8]) -> Result<SharedSecret, Error> {
        let (encrypted, tag) = ciphertext.split_last_chunk::<TAG_LEN>().ok_or(Error::Length)?;
        let m = self.key.decrypt(encrypted)?;
        let derived = g(&[&*m, &self.key.hash]);
        let accepted = j(&[&*derived.first, tag]);
        let rejected = j(&[&self.z, ciphertext]);
        let right = mac(&derived.second, encrypted).ct_eq(tag);
        Ok(select(&rejected, &accepted, right).into())
    }
}

/// Poly1305 (RFC 8439 §2.5), whose key is used once.
fn mac(key: &[u8; 32], message: &[u8]) -> [u8; TAG_LEN] {
    Poly1305::new(key.into()).compute_unpadded(message).into()
}
