//! Experimental key agreement with ML-KEM whose client doesn't re-encrypt (`docs/one-time-kem.md` §6). Not FIPS 203, though no
//! peer sees the difference.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tessera::crypto::{AgreementError, Ephemeral, KeyAgreement, SharedSecret};
use tessera::wire::NamedGroup;
use tessera_kem::ExperimentalFoSkipKey;

use crate::ml_kem::{MlKem, one_time_key};
use crate::random::RandomSource;

/// ML-KEM of rank `K`, of which this client's keys decapsulate without re-encryption.
pub(crate) struct FoSkip<const K: usize, R: RandomSource>(MlKem<K, R>);

impl<const K: usize, R: RandomSource> FoSkip<K, R> {
    pub(crate) const NEW: Self = Self(MlKem::NEW);
}

impl<const K: usize, R: RandomSource> KeyAgreement for FoSkip<K, R> {
    fn group(&self) -> NamedGroup {
        self.0.group()
    }

    fn share_len(&self) -> usize {
        self.0.share_len()
    }

    fn reply_len(&self) -> usize {
        self.0.reply_len()
    }

    fn suits_kem_authentication(&self) -> bool {
        false
    }

    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError> {
        let (generate, open) =
            (ExperimentalFoSkipKey::<K>::generate, ExperimentalFoSkipKey::decapsulate_boxed);
        one_time_key::<_, R>(self.share_len(), generate, open)
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        self.0.encapsulate(share)
    }
}
