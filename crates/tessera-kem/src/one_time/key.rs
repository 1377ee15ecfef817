//! What every kind of one-time key has: a decryption key of K-PKE, and the hash of the public half.

use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::error::Error;
use crate::k_pke::{DecryptionKey, EncryptionKey, decrypt, key_gen};
use crate::parameters::{POLYNOMIAL_LEN, Parameters};

#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct OneTimeKey<const K: usize> {
    decryption: DecryptionKey<K>,
    pub(crate) hash: [u8; 32],
}

impl<const K: usize> OneTimeKey<K> {
    /// Derives a key as algorithm 16 does, and writes its public half.
    pub(crate) fn generate(d: &[u8; 32], public: &mut [u8]) -> Result<Self, Error> {
        if public.len() != Parameters::<K>::ENCAPSULATION_KEY_LEN {
            return Err(Error::Length);
        }
        let mut key = Self { decryption: [[0; POLYNOMIAL_LEN]; K], hash: [0; 32] };
        let mut encryption = EncryptionKey::ZERO;
        key_gen(d, &mut encryption, &mut key.decryption);
        encryption.write(public)?;
        key.hash = encryption.hash();
        Ok(key)
    }

    pub(crate) fn decrypt(&self, ciphertext: &[u8]) -> Result<Zeroizing<[u8; 32]>, Error> {
        if ciphertext.len() != Parameters::<K>::CIPHERTEXT_LEN {
            return Err(Error::Length);
        }
        Ok(decrypt(&self.decryption, ciphertext))
    }
}
