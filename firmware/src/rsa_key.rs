//! A server's key of RSA: `tessera-rustcrypto` verifies alone.

use alloc::vec::Vec;
use core::convert::Infallible;

use rsa::PrivateKey;
use rsa::pkcs8::DecodePrivateKey;
use rsa::pss::SigningKey;
use rsa::rand_core::{TryCryptoRng, TryRng};
use rsa::sha2::Sha256;
use rsa::signature::{RandomizedSigner, SignatureEncoding};
use tessera::crypto::{Signer, SigningError};
use tessera::wire::SignatureScheme;
use tessera_rustcrypto::RandomSource;

use crate::random::NotRandom;

pub struct RsaKey(SigningKey<Sha256>);

impl RsaKey {
    pub fn from_pkcs8(der: &[u8]) -> Option<Self> {
        PrivateKey::from_pkcs8_der(der).ok().map(SigningKey::new).map(Self)
    }
}

impl Signer for RsaKey {
    fn schemes(&self) -> &[SignatureScheme] {
        &[SignatureScheme::RSA_PSS_RSAE_SHA256]
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Result<Vec<u8>, SigningError> {
        if !self.schemes().contains(&scheme) {
            return Err(SigningError);
        }
        let signature = self.0.try_sign_with_rng(&mut Salt, message).map_err(|_| SigningError)?;
        Ok(signature.to_vec())
    }
}

/// Draws salts, and what hides a key's factors.
struct Salt;

impl TryRng for Salt {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_ne_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        // It never fails.
        let _ = NotRandom::fill(bytes);
        Ok(())
    }
}

/// The numbers are not random, like all of the image's.
impl TryCryptoRng for Salt {}
