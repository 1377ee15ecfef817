//! Key agreements whose ephemeral keys were made ahead.

use tessera::crypto::{AgreementError, Ephemeral, KeyAgreement, SharedSecret};
use tessera::wire::NamedGroup;

use super::pool::{FillStep, KeyPool, KeyUsage, LIFETIME, Pool};
use crate::dh::{DiffieHellman, EphemeralKey as ExchangeKey};
use crate::kem::{EphemeralKey as KemKey, MlKem};

/// A key agreement with ephemeral keys that can be made before they are needed.
pub(crate) trait EphemeralKeys: KeyAgreement {
    type Key: Ephemeral + Send + 'static;

    fn generate_ephemeral(&self) -> Result<Self::Key, AgreementError>;

    /// Answers a peer's share, with a key of `keys` if this end needs one and there is one.
    fn encapsulate_with(
        &self,
        share: &[u8],
        keys: &Pool<Self::Key>,
    ) -> Result<(Vec<u8>, SharedSecret), AgreementError>;
}

impl EphemeralKeys for DiffieHellman {
    type Key = ExchangeKey;

    fn generate_ephemeral(&self) -> Result<ExchangeKey, AgreementError> {
        self.generate_ephemeral()
    }

    fn encapsulate_with(
        &self,
        share: &[u8],
        keys: &Pool<ExchangeKey>,
    ) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        // First, so that a bad share costs no key. One of small order does, as it does a key made on demand: only the
        // agreement itself finds it (RFC 7748 §6.1).
        let share = self.read(share)?;
        let key = keys.take().map_or_else(|| self.generate_ephemeral(), Ok)?;
        key.answer(share)
    }
}

impl EphemeralKeys for MlKem {
    type Key = KemKey;

    fn generate_ephemeral(&self) -> Result<KemKey, AgreementError> {
        self.generate_ephemeral()
    }

    /// Only the other end has a key.
    fn encapsulate_with(
        &self,
        share: &[u8],
        _: &Pool<KemKey>,
    ) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        self.encapsulate(share)
    }
}

/// The same key agreement, with keys made ahead.
pub(crate) struct SharesAhead<A: EphemeralKeys + 'static> {
    inner: &'static A,
    keys: Pool<A::Key>,
}

impl<A: EphemeralKeys> SharesAhead<A> {
    pub(crate) const fn new(inner: &'static A) -> Self {
        Self { inner, keys: Pool::new(LIFETIME) }
    }
}

impl<A: EphemeralKeys> KeyPool for SharesAhead<A> {
    fn trim(&self, most: usize) {
        self.keys.trim(most);
    }

    fn make(&self) -> FillStep {
        self.keys.make(|| self.inner.generate_ephemeral())
    }

    fn len(&self) -> usize {
        self.keys.len()
    }

    fn usage(&self) -> KeyUsage {
        self.keys.usage()
    }
}

impl<A: EphemeralKeys> KeyAgreement for SharesAhead<A> {
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
        match self.keys.take() {
            Some(key) => Ok(Box::new(key)),
            None => self.inner.generate(),
        }
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        self.inner.encapsulate_with(share, &self.keys)
    }
}
