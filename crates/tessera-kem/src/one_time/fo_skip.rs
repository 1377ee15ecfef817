//! Decapsulation of standard ciphertexts without the re-encryption of Fujisaki and Okamoto's transform.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;

use super::key::OneTimeKey;
use crate::error::Error;
use crate::hashes::g;
use crate::secret::SharedSecret;

/// A key that decapsulates once what [`EncapsulationKey::encapsulate`](crate::EncapsulationKey::encapsulate) of any
/// implementation made, and checks nothing: **experimental, and not FIPS 203** (`docs/one-time-kem.md`).
///
/// The secret depends on the plaintext alone, so that other ciphertexts have the same secret. As a KEM it is not secure
/// against an attacker who can have one ciphertext decapsulated. TLS 1.3 with signatures binds the ciphertext by its
/// transcript; KEM authentication has no such proof, and must not use it.
///
/// ```compile_fail,E0382
/// # use tessera_kem::{EncapsulationKey768, ExperimentalFoSkipKey};
/// let mut public = [0; EncapsulationKey768::LEN];
/// let key = ExperimentalFoSkipKey::<3>::generate(&[1; 32], &mut public)?;
/// let ciphertext = [0; EncapsulationKey768::CIPHERTEXT_LEN];
/// key.decapsulate(&ciphertext)?;
/// key.decapsulate(&ciphertext)?;
/// # Ok::<(), tessera_kem::Error>(())
/// ```
pub struct ExperimentalFoSkipKey<const K: usize>(OneTimeKey<K>);

impl<const K: usize> ExperimentalFoSkipKey<K> {
    /// Derives a key from `d`, and writes its public half, an encapsulation key of ML-KEM.
    ///
    /// `d`: 32 random bytes, never twice: a key that is derived again would decapsulate again.
    ///
    /// # Errors
    /// [`Error::Length`] if `public` is not exactly [`EncapsulationKey::LEN`](crate::EncapsulationKey::LEN) bytes long.
    pub fn generate(d: &[u8; 32], public: &mut [u8]) -> Result<Self, Error> {
        OneTimeKey::generate(d, public).map(Self)
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

    /// Algorithm 18 up to its step 6.
    fn open(&self, ciphertext: &[u8]) -> Result<SharedSecret, Error> {
        let m = self.0.decrypt(ciphertext)?;
        Ok(g(&[&*m, &self.0.hash]).first.into())
    }
}
