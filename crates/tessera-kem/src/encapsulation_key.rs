//! Encapsulation keys and encapsulation.

use crate::compress::is_reduced;
use crate::error::Error;
use crate::hashes::{g, h};
use crate::k_pke::{EncryptionKey, encrypt};
use crate::parameters::{POLYNOMIAL_LEN, Parameters};
use crate::secret::SharedSecret;

/// A public key of ML-KEM whose parameter set has rank `K`, and its hash.
pub struct EncapsulationKey<const K: usize> {
    pub(crate) encryption: EncryptionKey<K>,
    pub(crate) hash: [u8; 32],
}

impl<const K: usize> EncapsulationKey<K> {
    /// The length of an encoded key.
    pub const LEN: usize = Parameters::<K>::ENCAPSULATION_KEY_LEN;
    /// The length of a ciphertext.
    pub const CIPHERTEXT_LEN: usize = Parameters::<K>::CIPHERTEXT_LEN;

    /// Reads a key and checks it (FIPS 203 §7.2).
    ///
    /// # Errors
    /// [`Error::Length`] or [`Error::Modulus`].
    pub fn new(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() != Self::LEN {
            return Err(Error::Length);
        }
        let mut key = Self { encryption: EncryptionKey::ZERO, hash: *h(&[bytes]) };
        let (polynomials, rho) = bytes.split_at(POLYNOMIAL_LEN * K);
        if !polynomials.chunks_exact(POLYNOMIAL_LEN).all(is_reduced) {
            return Err(Error::Modulus);
        }
        key.encryption.t_hat.as_flattened_mut().copy_from_slice(polynomials);
        key.encryption.rho.copy_from_slice(rho);
        Ok(key)
    }

    /// Writes the encoded key.
    ///
    /// # Errors
    /// [`Error::Length`] if `bytes` is not exactly [`LEN`](Self::LEN) bytes long.
    pub fn write(&self, bytes: &mut [u8]) -> Result<(), Error> {
        self.encryption.write(bytes)
    }

    /// Writes a ciphertext and returns the secret that it encapsulates (algorithm 17, ML-KEM.Encaps_internal).
    ///
    /// `m`: 32 random bytes, never data and never twice (FIPS 203 §6.2), since the secret follows from them. They come
    /// from a generator of random bits that fits the parameter set (§3.3).
    ///
    /// # Errors
    /// [`Error::Length`] if `ciphertext` is not exactly [`CIPHERTEXT_LEN`](Self::CIPHERTEXT_LEN) bytes long.
    pub fn encapsulate(&self, m: &[u8; 32], ciphertext: &mut [u8]) -> Result<SharedSecret, Error> {
        let derived = g(&[m, &self.hash]);
        self.encrypt(m, &derived.second, ciphertext)?;
        Ok(derived.first.into())
    }

    /// Writes a ciphertext of K-PKE.
    pub(crate) fn encrypt(
        &self,
        m: &[u8; 32],
        r: &[u8; 32],
        ciphertext: &mut [u8],
    ) -> Result<(), Error> {
        if ciphertext.len() != Self::CIPHERTEXT_LEN {
            return Err(Error::Length);
        }
        let mut at = 0;
        encrypt(&self.encryption, m, r, |part| {
            let (_, rest) = ciphertext.split_at_mut(at);
            let (written, _) = rest.split_at_mut(part.len());
            written.copy_from_slice(part);
            at += part.len();
        });
        Ok(())
    }
}

impl<const K: usize> EncryptionKey<K> {
    pub(crate) fn write(&self, bytes: &mut [u8]) -> Result<(), Error> {
        if bytes.len() != Parameters::<K>::ENCAPSULATION_KEY_LEN {
            return Err(Error::Length);
        }
        let (polynomials, rho) = bytes.split_at_mut(POLYNOMIAL_LEN * K);
        polynomials.copy_from_slice(self.t_hat.as_flattened());
        rho.copy_from_slice(&self.rho);
        Ok(())
    }

    /// H(ek).
    pub(crate) fn hash(&self) -> [u8; 32] {
        *h(&[self.t_hat.as_flattened(), &self.rho])
    }
}
