//! X25519 (RFC 7748).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::marker::PhantomData;

use subtle::ConstantTimeEq;
use tessera::crypto::{AgreementError, Ephemeral, KeyAgreement, SharedSecret};
use tessera::wire::NamedGroup;
use x25519_dalek::{X25519_BASEPOINT_BYTES, x25519};
use zeroize::Zeroizing;

use crate::random::RandomSource;

/// Length of a scalar, of a share and of a secret, in bytes.
const LEN: usize = 32;

pub(crate) struct X25519<R>(PhantomData<fn() -> R>);

impl<R> X25519<R> {
    pub(crate) const NEW: Self = Self(PhantomData);
}

impl<R: RandomSource> KeyAgreement for X25519<R> {
    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }

    fn share_len(&self) -> usize {
        LEN
    }

    fn reply_len(&self) -> usize {
        LEN
    }

    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError> {
        // Boxed before it is filled: a move would leave a copy.
        let mut key = Box::new(Key { scalar: Zeroizing::new([0; LEN]), share: [0; LEN] });
        R::fill(&mut *key.scalar)?;
        // The ladder: the base point's tables would take 30 KB.
        key.share = x25519(*key.scalar, X25519_BASEPOINT_BYTES);
        Ok(key)
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        let key = self.generate()?;
        let reply = key.share().to_vec();
        Ok((reply, key.decapsulate(share)?))
    }
}

struct Key {
    scalar: Zeroizing<[u8; LEN]>,
    share: [u8; LEN],
}

impl Ephemeral for Key {
    fn share(&self) -> &[u8] {
        &self.share
    }

    fn decapsulate(self: Box<Self>, reply: &[u8]) -> Result<SharedSecret, AgreementError> {
        let reply = reply.try_into().map_err(|_| AgreementError::InvalidShare)?;
        let secret = Zeroizing::new(x25519(*self.scalar, reply));
        // RFC 8446 §7.4.2: points of small order.
        if secret.ct_eq(&[0; LEN]).into() {
            return Err(AgreementError::InvalidShare);
        }
        Ok(SharedSecret::new(secret.to_vec()))
    }
}
