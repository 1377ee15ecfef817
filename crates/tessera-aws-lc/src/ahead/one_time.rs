//! One-time keys that were made ahead.

use tessera::crypto::{
    AgreementError, KeyForm, NewOneTimeKey, OneTimeKey, OneTimeKeys, Random, RandomFailed,
};
use tessera::wire::NamedGroup;

use super::pool::{FillStep, KeyPool, KeyUsage, LIFETIME, Pool};
use crate::random::AwsLc;

/// One-time keys, expanded if their kind has that form. A vault that keeps seeds where it could keep them expanded has
/// its keys made on demand.
pub(crate) struct OneTimeKeysAhead {
    inner: &'static dyn OneTimeKeys,
    pool: Pool<NewOneTimeKey>,
}

impl OneTimeKeysAhead {
    pub(crate) const fn new(inner: &'static dyn OneTimeKeys) -> Self {
        Self { inner, pool: Pool::new(LIFETIME) }
    }

    fn form(&self) -> KeyForm {
        if self.inner.expanded_len().is_some() { KeyForm::Expanded } else { KeyForm::Seed }
    }
}

impl KeyPool for OneTimeKeysAhead {
    fn trim(&self, most: usize) {
        self.pool.trim(most);
    }

    fn make(&self) -> FillStep {
        self.pool.make(|| self.inner.generate(KeyForm::Expanded, &AwsLc, &mut []))
    }

    fn len(&self) -> usize {
        self.pool.len()
    }

    fn usage(&self) -> KeyUsage {
        self.pool.usage()
    }
}

impl OneTimeKeys for OneTimeKeysAhead {
    fn kind(&self) -> NamedGroup {
        self.inner.kind()
    }

    fn public_len(&self) -> usize {
        self.inner.public_len()
    }

    fn seed_len(&self) -> usize {
        self.inner.seed_len()
    }

    fn from_seed(&self, seed: &[u8]) -> Result<Box<dyn OneTimeKey>, AgreementError> {
        self.inner.from_seed(seed)
    }

    fn expanded_len(&self) -> Option<usize> {
        self.inner.expanded_len()
    }

    fn generate_expanded(
        &self,
        random: &dyn Random,
        private: &mut [u8],
    ) -> Result<Vec<u8>, AgreementError> {
        self.inner.generate_expanded(random, private)
    }

    fn from_expanded(&self, private: &[u8]) -> Result<Box<dyn OneTimeKey>, AgreementError> {
        self.inner.from_expanded(private)
    }

    fn generate(
        &self,
        form: KeyForm,
        random: &dyn Random,
        id: &mut [u8],
    ) -> Result<NewOneTimeKey, AgreementError> {
        let has_form = form == self.form() || self.form() == KeyForm::Seed;
        match has_form.then(|| self.pool.take()).flatten() {
            Some(key) => {
                random.fill(id).map_err(|RandomFailed| AgreementError::Provider)?;
                Ok(key)
            }
            None => self.inner.generate(form, random, id),
        }
    }
}
