//! ECDH on NIST P-256.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::marker::PhantomData;

use p256::elliptic_curve::sec1::ToSec1Point;
use p256::{PublicKey, SecretKey};
use tessera::crypto::{AgreementError, Ephemeral, KeyAgreement, SharedSecret};
use tessera::wire::NamedGroup;
use zeroize::Zeroizing;

use crate::point;
use crate::random::RandomSource;

/// Length of an uncompressed point in bytes (SEC 1 §2.3.3).
const SHARE_LEN: usize = 65;

pub(crate) struct P256<R>(PhantomData<fn() -> R>);

impl<R> P256<R> {
    pub(crate) const NEW: Self = Self(PhantomData);
}

impl<R: RandomSource> KeyAgreement for P256<R> {
    fn group(&self) -> NamedGroup {
        NamedGroup::SECP256R1
    }

    fn share_len(&self) -> usize {
        SHARE_LEN
    }

    fn reply_len(&self) -> usize {
        SHARE_LEN
    }

    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError> {
        let mut scalar = Zeroizing::new([0; 32]);
        // One in 2^32 drawings is not below the order. A source that has no other is broken.
        for _ in 0..4 {
            R::fill(&mut *scalar)?;
            if let Ok(key) = SecretKey::from_slice(&*scalar) {
                let share = key.public_key().to_sec1_point(false).as_bytes().to_vec();
                return Ok(Box::new(Key { key, share }));
            }
        }
        Err(AgreementError::Provider)
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        // First, so that a bad share does not cost the generation of a key.
        read(share)?;
        let key = self.generate()?;
        let reply = key.share().to_vec();
        Ok((reply, key.decapsulate(share)?))
    }
}

struct Key {
    key: SecretKey,
    share: Vec<u8>,
}

impl Ephemeral for Key {
    fn share(&self) -> &[u8] {
        &self.share
    }

    /// The secret is the raw x-coordinate (RFC 8446 §7.4.2).
    fn decapsulate(self: Box<Self>, reply: &[u8]) -> Result<SharedSecret, AgreementError> {
        let secret = self.key.diffie_hellman(&read(reply)?);
        Ok(SharedSecret::new(secret.raw_secret_bytes().to_vec()))
    }
}

/// Reads a peer's share.
fn read(share: &[u8]) -> Result<PublicKey, AgreementError> {
    let point = point::read(share).ok_or(AgreementError::InvalidShare)?;
    PublicKey::from_affine(point).map_err(|_| AgreementError::InvalidShare)
}
