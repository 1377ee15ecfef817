//! A provider, observed.

use tessera::crypto::{Aead, KeyAgreement, OneTimeKeys, Provider, Random, RandomFailed, Suite};

use crate::observer::{ObservedPart, Observer};
use crate::operation::Operation;

/// Returns the same provider, observed. It lives as long as the process.
///
/// Stacks are wiped as deep as before: an observer adds less to a call than providers round up.
pub(crate) fn observed<O: Observer>(inner: &Provider, by: &'static O) -> Provider {
    let groups = inner.groups.iter().map(|group| {
        let observed: &'static dyn KeyAgreement = leak(ObservedPart { inner: *group, by });
        observed
    });
    let kems = inner.kems.iter().map(|kem| {
        let observed: &'static dyn KeyAgreement = leak(ObservedPart { inner: *kem, by });
        observed
    });
    let one_time_keys = inner.one_time_keys.iter().map(|keys| {
        let observed: &'static dyn OneTimeKeys = leak(ObservedPart { inner: *keys, by });
        observed
    });
    let mut provider = Provider {
        groups: groups.collect::<Vec<_>>().leak(),
        kems: kems.collect::<Vec<_>>().leak(),
        one_time_keys: one_time_keys.collect::<Vec<_>>().leak(),
        random: leak(ObservedPart { inner: inner.random, by }),
        ..*inner
    };
    if O::SUITES {
        let suites = inner.suites.iter().map(|it| &*leak(suite(it, by)));
        provider.suites = suites.collect::<Vec<_>>().leak();
    }
    provider
}

fn suite<O: Observer>(inner: &'static Suite, by: &'static O) -> Suite {
    let hash = leak(ObservedPart { inner: inner.hash, by });
    let aead = leak(ObservedPart { inner: inner.aead, by });
    Suite::new(inner.id, hash, aead)
        .with_confidentiality_limit(inner.confidentiality_limit)
        .with_integrity_limit(inner.integrity_limit)
        .with_key_heap(inner.key_heap + size_of::<ObservedPart<Box<dyn Aead>, O>>())
}

fn leak<T>(value: T) -> &'static mut T {
    Box::leak(Box::new(value))
}

impl<O: Observer> Random for ObservedPart<&'static dyn Random, O> {
    fn fill(&self, out: &mut [u8]) -> Result<(), RandomFailed> {
        self.during(Operation::Random, |inner| inner.fill(out))
    }
}
