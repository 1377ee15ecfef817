//! Experimental key agreement with keys of ML-KEM that decapsulate once (`docs/one-time-kem.md`). Not FIPS 203.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::marker::PhantomData;

use tessera::crypto::{AgreementError, Ephemeral, KeyAgreement, SharedSecret};
use tessera::wire::NamedGroup;
use tessera_kem::{EncapsulationKey, ExperimentalOneTimeKey};
use zeroize::Zeroizing;

use crate::ml_kem::{agreement_error, one_time_key, shared_secret};
use crate::random::RandomSource;

/// T_H over the parameter set of rank `K`.
pub(crate) struct OneTimeMlKem<const K: usize, R>(PhantomData<fn() -> R>);

impl<const K: usize, R> OneTimeMlKem<K, R> {
    pub(crate) const NEW: Self = Self(PhantomData);
}

impl<const K: usize, R: RandomSource> KeyAgreement for OneTimeMlKem<K, R> {
    fn group(&self) -> NamedGroup {
        const {
            [
                NamedGroup::EXPERIMENTAL_ONE_TIME_MLKEM512,
                NamedGroup::EXPERIMENTAL_ONE_TIME_MLKEM768,
                NamedGroup::EXPERIMENTAL_ONE_TIME_MLKEM1024,
            ][K - 2]
        }
    }

    fn share_len(&self) -> usize {
        EncapsulationKey::<K>::LEN
    }

    fn reply_len(&self) -> usize {
        EncapsulationKey::<K>::CIPHERTEXT_LEN
    }

    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError> {
        let (generate, open) =
            (ExperimentalOneTimeKey::<K>::generate, ExperimentalOneTimeKey::decapsulate_boxed);
        one_time_key::<_, R>(self.share_len(), generate, open)
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        let key = EncapsulationKey::<K>::new(share).map_err(agreement_error)?;
        let mut random = Zeroizing::new([[0; 32]; 2]);
        R::fill(random.as_flattened_mut())?;
        let mut ciphertext = vec![0; EncapsulationKey::<K>::CIPHERTEXT_LEN];
        let secret = ExperimentalOneTimeKey::encapsulate(&key, &random, &mut ciphertext);
        Ok((ciphertext, shared_secret(&secret.map_err(agreement_error)?)))
    }
}
