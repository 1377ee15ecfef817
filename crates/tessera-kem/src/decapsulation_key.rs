//! Decapsulation keys and decapsulation, for keys that decapsulate many times.

use core::fmt;

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::encapsulation_key::EncapsulationKey;
use crate::error::Error;
use crate::hashes::{g, j};
use crate::k_pke::{DecryptionKey, EncryptionKey, decrypt, encrypt, key_gen};
use crate::parameters::{POLYNOMIAL_LEN, Parameters};
use crate::secret::SharedSecret;

/// A private key of ML-KEM whose parameter set has rank `K`, wiped when it is dropped. Its owner keeps it in a box, so
/// that moves leave no copies.
pub struct DecapsulationKey<const K: usize> {
    decryption: DecryptionKey<K>,
    encapsulation: EncapsulationKey<K>,
    z: [u8; 32],
}

impl<const K: usize> DecapsulationKey<K> {
    /// The length of the expanded form (FIPS 203 §6.1).
    pub const EXPANDED_LEN: usize = Parameters::<K>::DECAPSULATION_KEY_LEN;
    /// The length of a ciphertext.
    pub const CIPHERTEXT_LEN: usize = Parameters::<K>::CIPHERTEXT_LEN;

    const ZERO: Self = Self {
        decryption: [[0; POLYNOMIAL_LEN]; K],
        encapsulation: EncapsulationKey { encryption: EncryptionKey::ZERO, hash: [0; 32] },
        z: [0; 32],
    };

    /// Derives the key from its seed (algorithm 16, ML-KEM.KeyGen_internal).
    ///
    /// `seed`: 64 random bytes, d and z. A new key's comes from a generator of random bits that fits the parameter set
    /// (FIPS 203 §3.3).
    #[must_use]
    pub fn from_seed(seed: &[u8; 64]) -> Self {
        let mut key = Self::ZERO;
        let (d, z) = seed.split_at(32);
        key_gen(d, &mut key.encapsulation.encryption, &mut key.decryption);
        key.encapsulation.hash = key.encapsulation.encryption.hash();
        key.z.copy_from_slice(z);
        key
    }

    /// Reads the expanded form, and checks it (FIPS 203 §7.3) and its encapsulation key (§7.2).
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Hash`] or [`Error::Modulus`].
    pub fn from_expanded(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() != Self::EXPANDED_LEN {
            return Err(Error::Length);
        }
        let (decryption, rest) = bytes.split_at(POLYNOMIAL_LEN * K);
        let (encapsulation, rest) = rest.split_at(EncapsulationKey::<K>::LEN);
        let (hash, z) = rest.split_at(32);
        let mut key = Self::ZERO;
        key.encapsulation = EncapsulationKey::new(encapsulation)?;
        if key.encapsulation.hash != *hash {
            return Err(Error::Hash);
        }
        key.decryption.as_flattened_mut().copy_from_slice(decryption);
        key.z.copy_from_slice(z);
        Ok(key)
    }

    /// Reads a key that is kept in both forms (RFC 9935 §6).
    ///
    /// # Errors
    /// [`Error::Length`], or [`Error::SeedMismatch`] if the forms are of different keys.
    pub fn from_both(seed: &[u8; 64], expanded: &[u8]) -> Result<Self, Error> {
        if expanded.len() != Self::EXPANDED_LEN {
            return Err(Error::Length);
        }
        let key = Self::from_seed(seed);
        let (mut equal, mut rest) = (Choice::from(1), expanded);
        for part in key.parts() {
            let (kept, after) = rest.split_at(part.len());
            equal &= part.ct_eq(kept);
            rest = after;
        }
        if bool::from(equal) { Ok(key) } else { Err(Error::SeedMismatch) }
    }

    /// Writes the expanded form.
    ///
    /// # Errors
    /// [`Error::Length`] if `bytes` is not exactly [`EXPANDED_LEN`](Self::EXPANDED_LEN) bytes long.
    pub fn write_expanded(&self, bytes: &mut [u8]) -> Result<(), Error> {
        if bytes.len() != Self::EXPANDED_LEN {
            return Err(Error::Length);
        }
        let mut rest = bytes;
        for part in self.parts() {
            let (written, after) = rest.split_at_mut(part.len());
            written.copy_from_slice(part);
            rest = after;
        }
        Ok(())
    }

    /// The expanded form: of K-PKE, the encapsulation key with its hash, and z.
    fn parts(&self) -> [&[u8]; 5] {
        let EncapsulationKey { encryption, hash } = &self.encapsulation;
        let (s_hat, t_hat) = (self.decryption.as_flattened(), encryption.t_hat.as_flattened());
        [s_hat, t_hat, &encryption.rho, hash, &self.z]
    }

    /// Returns the public half.
    #[must_use]
    pub fn encapsulation_key(&self) -> &EncapsulationKey<K> {
        &self.encapsulation
    }

    /// Returns the secret that a ciphertext encapsulates (algorithm 18, ML-KEM.Decaps_internal). One that was not made for
    /// this key yields a secret that its maker doesn't know: implicit rejection.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn decapsulate(&self, ciphertext: &[u8]) -> Result<SharedSecret, Error> {
        if ciphertext.len() != Self::CIPHERTEXT_LEN {
            return Err(Error::Length);
        }
        let m = decrypt(&self.decryption, ciphertext);
        let accepted = g(&[&*m, &self.encapsulation.hash]);
        let rejected = j(&[&self.z, ciphertext]);

        let (mut equal, mut rest) = (Choice::from(1), ciphertext);
        encrypt(&self.encapsulation.encryption, &m, &accepted.second, |part| {
            let (received, after) = rest.split_at(part.len());
            equal &= part.ct_eq(received);
            rest = after;
        });
        Ok(select(&rejected, &accepted.first, equal).into())
    }
}

/// Returns `b` if `choice` is 1, and `a` if it is 0.
pub(crate) fn select(a: &[u8; 32], b: &[u8; 32], choice: Choice) -> Zeroizing<[u8; 32]> {
    let mut selected = Zeroizing::new(*a);
    for (selected, b) in selected.iter_mut().zip(b) {
        selected.conditional_assign(b, choice);
    }
    selected
}

impl<const K: usize> Zeroize for DecapsulationKey<K> {
    fn zeroize(&mut self) {
        self.decryption.zeroize();
        self.z.zeroize();
    }
}

impl<const K: usize> Drop for DecapsulationKey<K> {
    fn drop(&mut self) {
        self.zeroize();
    }
}

impl<const K: usize> ZeroizeOnDrop for DecapsulationKey<K> {}

impl<const K: usize> fmt::Debug for DecapsulationKey<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecapsulationKey").field("rank", &K).finish_non_exhaustive()
    }
}
