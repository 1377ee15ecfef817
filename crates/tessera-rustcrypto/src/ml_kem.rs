//! ML-KEM-512, ML-KEM-768 and ML-KEM-1024 (FIPS 203).

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::marker::PhantomData;

use tessera::crypto::{AgreementError, Ephemeral, KeyAgreement, SharedSecret};
use tessera::wire::NamedGroup;
use tessera_kem::{DecapsulationKey, EncapsulationKey};
use zeroize::Zeroizing;

use crate::random::RandomSource;

/// The parameter set of rank `K`.
pub(crate) struct MlKem<const K: usize, R>(PhantomData<fn() -> R>);

impl<const K: usize, R> MlKem<K, R> {
    pub(crate) const NEW: Self = Self(PhantomData);
}

impl<const K: usize, R: RandomSource> KeyAgreement for MlKem<K, R> {
    fn group(&self) -> NamedGroup {
        const { [NamedGroup::MLKEM512, NamedGroup::MLKEM768, NamedGroup::MLKEM1024][K - 2] }
    }

    fn share_len(&self) -> usize {
        EncapsulationKey::<K>::LEN
    }

    fn reply_len(&self) -> usize {
        EncapsulationKey::<K>::CIPHERTEXT_LEN
    }

    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError> {
        let mut seed = Zeroizing::new([0; 64]);
        R::fill(&mut *seed)?;
        let key = Box::new(DecapsulationKey::<K>::from_seed(&seed));
        let mut share = vec![0; EncapsulationKey::<K>::LEN];
        key.encapsulation_key().write(&mut share).map_err(agreement_error)?;
        let open = |key: Box<DecapsulationKey<K>>, reply: &[u8]| key.decapsulate(reply);
        Ok(Box::new(EphemeralKey { key, share, open }))
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        let key = EncapsulationKey::<K>::new(share).map_err(agreement_error)?;
        let mut message = Zeroizing::new([0; 32]);
        R::fill(&mut *message)?;
        let mut ciphertext = vec![0; EncapsulationKey::<K>::CIPHERTEXT_LEN];
        let secret = key.encapsulate(&message, &mut ciphertext).map_err(agreement_error)?;
        Ok((ciphertext, shared_secret(&secret)))
    }
}

/// A key that decapsulates once, whatever its kind, and how it does.
struct EphemeralKey<T> {
    key: Box<T>,
    share: Vec<u8>,
    open: Open<T>,
}

type Open<T> = fn(Box<T>, &[u8]) -> Result<tessera_kem::SharedSecret, tessera_kem::Error>;

impl<T: Send + Sync> Ephemeral for EphemeralKey<T> {
    fn share(&self) -> &[u8] {
        &self.share
    }

    /// A ciphertext of the right length that was not made for this key yields a secret that the peer does not know (FIPS 203
    /// §6.3, implicit rejection), never an error.
    fn decapsulate(self: Box<Self>, reply: &[u8]) -> Result<SharedSecret, AgreementError> {
        let Self { key, open, .. } = *self;
        open(key, reply).map(|secret| shared_secret(&secret)).map_err(agreement_error)
    }
}

/// Generates a key of a one-time KEM, with a public half of this length.
#[cfg(any(feature = "one-time-experimental", feature = "fo-skip-experimental"))]
pub(crate) fn one_time_key<T: Send + Sync + 'static, R: RandomSource>(
    share_len: usize,
    generate: fn(&[u8; 32], &mut [u8]) -> Result<T, tessera_kem::Error>,
    open: Open<T>,
) -> Result<Box<dyn Ephemeral>, AgreementError> {
    let mut d = Zeroizing::new([0; 32]);
    R::fill(&mut *d)?;
    let mut share = vec![0; share_len];
    let key = Box::new(generate(&d, &mut share).map_err(agreement_error)?);
    Ok(Box::new(EphemeralKey { key, share, open }))
}

/// The peer's share or ciphertext is wrong: its length, or its coefficients (FIPS 203 §7.2). This side's have the right ones.
pub(crate) fn agreement_error(_: tessera_kem::Error) -> AgreementError {
    AgreementError::InvalidShare
}

pub(crate) fn shared_secret(secret: &tessera_kem::SharedSecret) -> SharedSecret {
    SharedSecret::new(secret.expose().to_vec())
}
