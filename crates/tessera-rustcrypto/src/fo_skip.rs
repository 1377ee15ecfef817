//! Experimental key agreement with ML-KEM whose client doesn't re-encrypt (`docs/one-time-kem.md` §6). Not FIPS 203, though no
//! peer sees the difference.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use tessera::crypto::{AgreementError, Ephemeral, KeyAgreement, SharedSecret};
use tessera::wire::NamedGroup;
use tessera_kem::{EncapsulationKey, ExperimentalFoSkipKey};
use zeroize::Zeroizing;

use crate::ml_kem::{MlKem, agreement_error, shared_secret};
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
        let mut d = Zeroizing::new([0; 32]);
        R::fill(&mut *d)?;
        let mut share = vec![0; EncapsulationKey::<K>::LEN];
        let key = ExperimentalFoSkipKey::generate(&d, &mut share).map_err(agreement_error)?;
        Ok(Box::new(Key::<K> { key: Box::new(key), share }))
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        self.0.encapsulate(share)
    }
}

struct Key<const K: usize> {
    key: Box<ExperimentalFoSkipKey<K>>,
    share: Vec<u8>,
}

impl<const K: usize> Ephemeral for Key<K> {
    fn share(&self) -> &[u8] {
        &self.share
    }

    fn decapsulate(self: Box<Self>, reply: &[u8]) -> Result<SharedSecret, AgreementError> {
        let secret = self.key.decapsulate_boxed(reply).map_err(agreement_error)?;
        Ok(shared_secret(&secret))
    }
}
