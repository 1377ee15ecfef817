//! Key agreement, observed.

use tessera::crypto::{
    AgreementError, Ephemeral, KeyAgreement, KeyForm, NewOneTimeKey, OneTimeKey, OneTimeKeys,
    Random, SharedSecret,
};
use tessera::wire::NamedGroup;

use crate::observer::{ObservedPart, Observer, during};
use crate::operation::Operation;

impl<O: Observer> KeyAgreement for ObservedPart<&'static dyn KeyAgreement, O> {
    fn group(&self) -> NamedGroup {
        self.inner.group()
    }

    fn share_len(&self) -> usize {
        self.inner.share_len()
    }

    fn reply_len(&self) -> usize {
        self.inner.reply_len()
    }

    fn suits_kem_authentication(&self) -> bool {
        self.inner.suits_kem_authentication()
    }

    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError> {
        let inner = self.during(Operation::KeyGeneration, |inner| inner.generate())?;
        Ok(Box::new(ObservedPart { inner, by: self.by }))
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        self.during(Operation::Encapsulation, |inner| inner.encapsulate(share))
    }
}

impl<O: Observer> Ephemeral for ObservedPart<Box<dyn Ephemeral>, O> {
    fn share(&self) -> &[u8] {
        self.inner.share()
    }

    fn decapsulate(self: Box<Self>, reply: &[u8]) -> Result<SharedSecret, AgreementError> {
        let Self { inner, by } = *self;
        during(by, Operation::Decapsulation, || inner.decapsulate(reply))
    }
}

impl<O: Observer> ObservedPart<&'static dyn OneTimeKeys, O> {
    fn read(
        &self,
        read: impl FnOnce(&dyn OneTimeKeys) -> Result<Box<dyn OneTimeKey>, AgreementError>,
    ) -> Result<Box<dyn OneTimeKey>, AgreementError> {
        let inner = self.during(Operation::OneTimeKeyReading, |inner| read(*inner))?;
        Ok(Box::new(ObservedPart { inner, by: self.by }))
    }
}

impl<O: Observer> OneTimeKeys for ObservedPart<&'static dyn OneTimeKeys, O> {
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
        self.read(|inner| inner.from_seed(seed))
    }

    fn expanded_len(&self) -> Option<usize> {
        self.inner.expanded_len()
    }

    fn generate_expanded(
        &self,
        random: &dyn Random,
        private: &mut [u8],
    ) -> Result<Vec<u8>, AgreementError> {
        let generate = |inner: &&dyn OneTimeKeys| inner.generate_expanded(random, private);
        self.during(Operation::OneTimeKeyGeneration, generate)
    }

    fn generate(
        &self,
        form: KeyForm,
        random: &dyn Random,
        id: &mut [u8],
    ) -> Result<NewOneTimeKey, AgreementError> {
        let generate = |inner: &&dyn OneTimeKeys| inner.generate(form, random, id);
        self.during(Operation::OneTimeKeyGeneration, generate)
    }

    fn from_expanded(&self, private: &[u8]) -> Result<Box<dyn OneTimeKey>, AgreementError> {
        self.read(|inner| inner.from_expanded(private))
    }

    fn from_kept(&self, form: KeyForm, kept: &[u8]) -> Result<Box<dyn OneTimeKey>, AgreementError> {
        self.read(|inner| inner.from_kept(form, kept))
    }
}

impl<O: Observer> OneTimeKey for ObservedPart<Box<dyn OneTimeKey>, O> {
    fn public(&self) -> Result<Vec<u8>, AgreementError> {
        self.during(Operation::OneTimeKeyGeneration, |inner| inner.public())
    }

    fn open(self: Box<Self>, encapsulated: &[u8]) -> Result<SharedSecret, AgreementError> {
        let Self { inner, by } = *self;
        during(by, Operation::OneTimeKeyOpening, || inner.open(encapsulated))
    }
}
