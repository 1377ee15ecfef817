//! T_H (Huguenin-Dumittan and Vaudenay, Eurocrypt 2022): the secret is a hash of plaintext and ciphertext.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;

use super::key::OneTimeKey;
use crate::encapsulation_key::EncapsulationKey;
use crate::error::Error;
use crate::hashes::h;
use crate::secret::SharedSecret;

/// What is hashed first. What is hashed then has 872, 1192 or 1672 bytes, which separates it from other parameter sets, and
/// from the encapsulation keys that H hashes.
const DOMAIN: &[u8; 40] = b"Tessera one-time ML-KEM T_H EXPERIMENTAL";

/// A key that decapsulates once, by T_H: **experimental, and not FIPS 203** (`docs/one-time-kem.md`).
///
/// The secret is SHA3-256(domain, m, c, H(ek)), where K-PKE decrypts c to m. Keys and ciphertexts have ML-KEM's lengths.
/// A static key, or one that lies in a ticket, must be a [`DecapsulationKey`](crate::DecapsulationKey).
///
/// A second decapsulation doesn't compile:
///
/// ```compile_fail,E0382
/// # use tessera_kem::{EncapsulationKey768, ExperimentalOneTimeKey};
/// let mut public = [0; EncapsulationKey768::LEN];
/// let key = ExperimentalOneTimeKey::<3>::generate(&[1; 32], &mut public)?;
/// let ciphertext = [0; EncapsulationKey768::CIPHERTEXT_LEN];
/// key.decapsulate(&ciphertext)?;
/// key.decapsulate(&ciphertext)?;
/// # Ok::<(), tessera_kem::Error>(())
/// ```
///
/// nor does a copy:
///
/// ```compile_fail,E0599
/// # use tessera_kem::{EncapsulationKey768, ExperimentalOneTimeKey};
/// let mut public = [0; EncapsulationKey768::LEN];
/// let key = ExperimentalOneTimeKey::<3>::generate(&[1; 32], &mut public)?;
/// let copy = key.clone();
/// # Ok::<(), tessera_kem::Error>(())
/// ```
pub struct ExperimentalOneTimeKey<const K: usize>(OneTimeKey<K>);

impl<const K: usize> ExperimentalOneTimeKey<K> {
    /// Derives a key from `d`, and writes its public half, an encapsulation key of ML-KEM.
    ///
    /// `d`: 32 random bytes, never twice: a key that is derived again would decapsulate again.
    ///
    /// # Errors
    /// [`Error::Length`] if `public` is not exactly [`EncapsulationKey::LEN`] bytes long.
    pub fn generate(d: &[u8; 32], public: &mut [u8]) -> Result<Self, Error> {
        OneTimeKey::generate(d, public).map(Self)
    }

    /// Writes a ciphertext to a one-time key and returns the secret.
    ///
    /// `random`: m, then r, the coins of K-PKE. Each is 32 random bytes, never data and never twice, and neither depends
    /// on the other.
    ///
    /// # Errors
    /// [`Error::Length`] if `ciphertext` is not exactly [`EncapsulationKey::CIPHERTEXT_LEN`] bytes long.
    pub fn encapsulate(
        public: &EncapsulationKey<K>,
        random: &[[u8; 32]; 2],
        ciphertext: &mut [u8],
    ) -> Result<SharedSecret, Error> {
        let [m, r] = random;
        public.encrypt(m, r, ciphertext)?;
        Ok(t_h(m, ciphertext, &public.hash))
    }

    /// Returns the secret that a ciphertext encapsulates, and destroys the key, even on an error. Moving the key into the
    /// call can leave a copy on the stack, which the caller wipes: see `decapsulate_boxed`, with feature `alloc`.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn decapsulate(self, ciphertext: &[u8]) -> Result<SharedSecret, Error> {
        self.open(ciphertext)
    }

    /// The same for a key in a box, where it is wiped without having been moved.
    ///
    /// # Errors
    /// [`Error::Length`].
    #[cfg(feature = "alloc")]
    #[expect(clippy::boxed_local, reason = "the box is what keeps the key where it is")]
    pub fn decapsulate_boxed(self: Box<Self>, ciphertext: &[u8]) -> Result<SharedSecret, Error> {
        self.open(ciphertext)
    }

    fn open(&self, ciphertext: &[u8]) -> Result<SharedSecret, Error> {
        let m = self.0.decrypt(ciphertext)?;
        Ok(t_h(&m, ciphertext, &self.0.hash))
    }
}

fn t_h(m: &[u8; 32], ciphertext: &[u8], public_hash: &[u8; 32]) -> SharedSecret {
    h(&[DOMAIN, m, ciphertext, public_hash]).into()
}
