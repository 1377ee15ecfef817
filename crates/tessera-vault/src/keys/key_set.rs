//! Sets of rotating keys: the newest seals, all open, and they can be replaced during use.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use tessera::crypto::{HmacState, Provider, Secret};
use zeroize::Zeroizing;

use super::key::{RingError, TicketKey};
use super::sealed::{SealAlgorithms, SealedMessage};

/// A set of keys for one purpose.
pub(crate) struct KeySet {
    sealing: Option<SealAlgorithms>,
    keys: RwLock<Vec<Arc<Key>>>,
}

/// A key, ready for use. It is wiped when the set and the last thread using it have dropped it.
struct Key {
    id: [u8; 16],
    /// To find duplicates.
    prk: Secret,
    /// HMAC keyed with it, for each message; `None` without algorithms.
    hmac: Option<Box<HmacState>>,
    known_from: Duration,
    issues_from: Duration,
    issues_until: Duration,
    opens_until: Duration,
}

impl KeySet {
    pub(crate) fn new(provider: &Provider, label: &'static [u8]) -> Self {
        Self { sealing: SealAlgorithms::new(provider, label), keys: RwLock::default() }
    }

    pub(crate) fn install<'k>(
        &self,
        keys: impl Iterator<Item = &'k TicketKey>,
        now: Duration,
    ) -> Result<(), RingError> {
        let mut fresh = Vec::new();
        for key in keys {
            self.insert(&mut fresh, key)?;
        }
        fresh.retain(|key| key.opens_until > now);
        let old = std::mem::replace(&mut *self.write(), fresh);
        // Wiped here, after the lock is released.
        drop(old);
        Ok(())
    }

    pub(crate) fn add(&self, key: TicketKey, now: Duration) -> Result<(), RingError> {
        let mut keys = self.write();
        let mut fresh = keys.clone();
        self.insert(&mut fresh, &key)?;
        fresh.retain(|key| key.opens_until > now);
        *keys = fresh;
        Ok(())
    }

    pub(crate) fn retire(&self, id: &[u8; 16]) -> bool {
        let mut keys = self.write();
        let before = keys.len();
        keys.retain(|key| key.id != *id);
        keys.len() < before
    }

    pub(crate) fn purge(&self, now: Duration) -> usize {
        let mut keys = self.write();
        let before = keys.len();
        keys.retain(|key| key.opens_until > now);
        before - keys.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.read().len()
    }

    /// Returns the time until which the key that seals at `unix` opens.
    pub(crate) fn opens_until(&self, unix: Duration) -> Option<Duration> {
        self.issuer(unix).map(|key| key.opens_until)
    }

    /// Seals with the newest key that seals at `unix`, bound to `context`.
    pub(crate) fn seal(&self, context: &[u8], plaintext: &[u8], unix: Duration) -> Option<Vec<u8>> {
        let sealing = self.sealing.as_ref()?;
        let key = self.issuer(unix)?;
        sealing.seal(&key.id, key.hmac.as_deref()?, context, plaintext)
    }

    /// Opens a message sealed here, or under the same key elsewhere, and bound to `context`.
    pub(crate) fn open(
        &self,
        context: &[u8],
        message: &[u8],
        unix: Duration,
    ) -> Option<Zeroizing<Vec<u8>>> {
        let sealing = self.sealing.as_ref()?;
        let message = SealedMessage::read(message)?;
        let key = self.find(|key| key.id == *message.id)?;
        let opens = key.known_from <= unix && unix < key.opens_until;
        opens.then(|| sealing.open(key.hmac.as_deref()?, context, &message)).flatten()
    }

    /// Whether the set has the key that a message names; `None` if it is no message.
    #[cfg(unix)]
    pub(crate) fn has_key_of(&self, message: &[u8]) -> Option<bool> {
        let message = SealedMessage::read(message)?;
        Some(self.find(|key| key.id == *message.id).is_some())
    }

    fn issuer(&self, unix: Duration) -> Option<Arc<Key>> {
        self.find(|key| key.issues_from <= unix && unix < key.issues_until)
    }

    fn insert(&self, keys: &mut Vec<Arc<Key>>, key: &TicketKey) -> Result<(), RingError> {
        key.check()?;
        // Without algorithms the secret itself is kept, only to detect duplicates.
        let prk = match &self.sealing {
            Some(sealing) => sealing.prk(&key.secret),
            None => Secret::filled_by(key.secret.len(), |out| out.copy_from_slice(&*key.secret)),
        };
        for other in keys.iter() {
            if other.id == key.id {
                return Err(RingError::DuplicateId { id: key.id });
            }
            // PRKs are compared in constant time; equal ones come from equal secrets.
            if other.prk == prk {
                return Err(RingError::DuplicateSecret { first: other.id, second: key.id });
            }
        }
        let hmac = self.sealing.as_ref().map(|sealing| sealing.hmac(&prk));
        let key = Key {
            id: key.id,
            prk,
            hmac,
            known_from: key.known_from,
            issues_from: key.issues_from,
            issues_until: key.issues_until,
            opens_until: key.opens_until,
        };
        // The newest issuer comes first; the id breaks ties, so that all servers choose the same key.
        let order = |key: &Key| (key.issues_from, key.id);
        let at = keys.partition_point(|other| order(other) > order(&key));
        keys.insert(at, Arc::new(key));
        Ok(())
    }

    /// Clones the `Arc`, so that the cryptography runs outside the lock.
    fn find(&self, wanted: impl Fn(&Key) -> bool) -> Option<Arc<Key>> {
        self.read().iter().find(|key| wanted(key)).cloned()
    }

    /// A poisoned lock is fine: every change is one assignment or `retain`, which a panic can't leave half
    /// done.
    fn read(&self) -> RwLockReadGuard<'_, Vec<Arc<Key>>> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Vec<Arc<Key>>> {
        self.keys.write().unwrap_or_else(PoisonError::into_inner)
    }
}
