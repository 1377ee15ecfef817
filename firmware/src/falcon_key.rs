//! A server's key of Falcon, before its standard: `tessera-rustcrypto` verifies alone.

use alloc::vec;
use alloc::vec::Vec;
use core::marker::PhantomData;

use fn_dsa_sign::{
    CryptoRng, DOMAIN_NONE, FN_DSA_LOGN_512, HASH_ID_RAW, RngCore, RngError, SigningKey,
    signature_size,
};
pub use fn_dsa_sign::{SigningKey512, SigningKey1024};
use tessera::crypto::{Signer, SigningError};
use tessera::wire::SignatureScheme;
use tessera_rustcrypto::RandomSource;

use crate::random::NotRandom;

/// The private key as it is encoded, which each signature reads again: `K` has 60 KB with Falcon-512.
pub struct FalconKey<K> {
    private: Vec<u8>,
    logn: u32,
    key: PhantomData<fn() -> K>,
}

impl<K: SigningKey> FalconKey<K> {
    /// Reads a key as `firmware/pki/make` writes it.
    pub fn from_pkcs8(der: &[u8]) -> Option<Self> {
        // The length, a version, the algorithm, and the head of an OCTET STRING: 20 bytes before it.
        let (_, private) = der.split_at_checked(20)?;
        let logn = K::decode(private)?.get_logn();
        Some(Self { private: private.to_vec(), logn, key: PhantomData })
    }
}

impl<K: SigningKey> Signer for FalconKey<K> {
    fn schemes(&self) -> &[SignatureScheme] {
        match self.logn {
            FN_DSA_LOGN_512 => &[SignatureScheme::FALCON512_PRE_STANDARD],
            _ => &[SignatureScheme::FALCON1024_PRE_STANDARD],
        }
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Result<Vec<u8>, SigningError> {
        if !self.schemes().contains(&scheme) {
            return Err(SigningError);
        }
        let mut key = K::decode(&self.private).ok_or(SigningError)?;
        let mut signature = vec![0; signature_size(self.logn)];
        key.sign(&mut Salt, &DOMAIN_NONE, &HASH_ID_RAW, message, &mut signature)
            .ok_or(SigningError)?;
        Ok(signature)
    }
}

/// Draws salts and seeds.
struct Salt;

impl RngCore for Salt {
    fn next_u32(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.fill_bytes(&mut bytes);
        u32::from_ne_bytes(bytes)
    }

    fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.fill_bytes(&mut bytes);
        u64::from_ne_bytes(bytes)
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        // It never fails.
        let _ = NotRandom::fill(bytes);
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), RngError> {
        self.fill_bytes(bytes);
        Ok(())
    }
}

/// The numbers are not random, like all of the image's.
impl CryptoRng for Salt {}
