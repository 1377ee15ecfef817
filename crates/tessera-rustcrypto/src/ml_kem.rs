//! ML-KEM-768 (FIPS 203).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::marker::PhantomData;

use ml_kem::kem::{Decapsulate, KeyExport};
use ml_kem::{B32, DecapsulationKey768, EncapsulationKey768, Seed};
use tessera::crypto::{AgreementError, Ephemeral, KeyAgreement, SharedSecret};
use tessera::wire::NamedGroup;
use zeroize::Zeroizing;

use crate::random::RandomSource;

pub(crate) struct MlKem768<R>(PhantomData<fn() -> R>);

impl<R> MlKem768<R> {
    pub(crate) const NEW: Self = Self(PhantomData);
}

impl<R: RandomSource> KeyAgreement for MlKem768<R> {
    fn group(&self) -> NamedGroup {
        NamedGroup::MLKEM768
    }

    /// FIPS 203 §8, table 3.
    fn share_len(&self) -> usize {
        1184
    }

    /// FIPS 203 §8, table 3.
    fn reply_len(&self) -> usize {
        1088
    }

    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError> {
        let mut seed = Zeroizing::new(Seed::default());
        R::fill(&mut seed)?;
        let key = Box::new(DecapsulationKey768::from_seed(*seed));
        let share = key.encapsulation_key().to_bytes().to_vec();
        Ok(Box::new(Key { key, share }))
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        let share = share.try_into().map_err(|_| AgreementError::InvalidShare)?;
        // FIPS 203 §7.2: a coefficient of q or more is refused.
        let key = EncapsulationKey768::new(&share).map_err(|_| AgreementError::InvalidShare)?;
        let mut message = Zeroizing::new(B32::default());
        R::fill(&mut message)?;
        let (ciphertext, secret) = key.encapsulate_deterministic(&message);
        Ok((ciphertext.to_vec(), SharedSecret::new(Zeroizing::new(secret).to_vec())))
    }
}

struct Key {
    key: Box<DecapsulationKey768>,
    share: Vec<u8>,
}

impl Ephemeral for Key {
    fn share(&self) -> &[u8] {
        &self.share
    }

    /// One of the right length that was not made for this key yields a secret that the peer does not know (FIPS 203
    /// §6.3, implicit rejection), never an error.
    fn decapsulate(self: Box<Self>, reply: &[u8]) -> Result<SharedSecret, AgreementError> {
        let reply = reply.try_into().map_err(|_| AgreementError::InvalidShare)?;
        let secret = Zeroizing::new(self.key.decapsulate(&reply));
        Ok(SharedSecret::new(secret.to_vec()))
    }
}
