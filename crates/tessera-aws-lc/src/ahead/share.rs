//! Key agreements whose ephemeral keys were made ahead.

use std::time::Duration;

use tessera::crypto::{AgreementError, Ephemeral, KeyAgreement, SharedSecret};
use tessera::wire::NamedGroup;

use super::pool::Pool;
use crate::dh::{DiffieHellman, EphemeralKey};
use crate::kem::MlKem;

/// Diffie-Hellman: both ends take an ephemeral key.
pub(crate) struct ExchangeAhead {
    inner: &'static DiffieHellman,
    pool: Pool<EphemeralKey>,
}

impl ExchangeAhead {
    pub(crate) const fn new(inner: &'static DiffieHellman) -> Self {
        Self { inner, pool: Pool::new() }
    }

    pub(crate) fn fill(&self, most: usize, lifetime: Duration) -> bool {
        self.pool.fill(most, lifetime, || self.inner.generate_ephemeral())
    }

    pub(crate) fn len(&self) -> usize {
        self.pool.len()
    }
}

impl KeyAgreement for ExchangeAhead {
    fn group(&self) -> NamedGroup {
        self.inner.group()
    }

    fn share_len(&self) -> usize {
        self.inner.share_len()
    }

    fn reply_len(&self) -> usize {
        self.inner.reply_len()
    }

    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError> {
        match self.pool.take() {
            Some(key) => Ok(Box::new(key)),
            None => self.inner.generate(),
        }
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        // First, so that a bad share costs no key.
        let share = self.inner.read(share)?;
        match self.pool.take() {
            Some(key) => key.answer(share),
            None => self.inner.encapsulate_to(share),
        }
    }
}

/// A KEM: only the end that decapsulates has a key.
pub(crate) struct KemAhead {
    inner: &'static MlKem,
    pool: Pool<Box<dyn Ephemeral>>,
}

impl KemAhead {
    pub(crate) const fn new(inner: &'static MlKem) -> Self {
        Self { inner, pool: Pool::new() }
    }

    pub(crate) fn fill(&self, most: usize, lifetime: Duration) -> bool {
        self.pool.fill(most, lifetime, || self.inner.generate())
    }

    pub(crate) fn len(&self) -> usize {
        self.pool.len()
    }
}

impl KeyAgreement for KemAhead {
    fn group(&self) -> NamedGroup {
        self.inner.group()
    }

    fn share_len(&self) -> usize {
        self.inner.share_len()
    }

    fn reply_len(&self) -> usize {
        self.inner.reply_len()
    }

    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError> {
        self.pool.take().map_or_else(|| self.inner.generate(), Ok)
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        self.inner.encapsulate(share)
    }
}
