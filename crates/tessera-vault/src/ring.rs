//! The ticket-key ring: seals with the newest key, opens with all, changes while it runs.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use tessera::crypto::{Provider, Secret};
use tessera::handshake::Reply;
use tessera::resume::{OpenTicket, SessionState, TicketKeys};

use crate::key::{RingError, TicketKey};
use crate::sealed::{Parsed, Sealing};

/// Seals sessions into tickets and opens them again, under keys that rotate.
///
/// Servers of one process share a ring through an [`Arc`]; servers of a fleet have one each, with the
/// same keys. Without a key that issues now clients get no tickets, and a ticket whose key is not
/// here costs its client a full handshake: neither is an error.
///
/// Keys past their time are not used, but their memory is wiped only by [`purge`](Self::purge),
/// [`install`](Self::install) or [`add`](Self::add): a clock that jumps ahead for a moment must not
/// destroy keys. An owner that rotates keys calls one of them anyway.
pub struct TicketKeyRing {
    sealing: Option<Sealing>,
    keys: RwLock<Keys>,
}

/// The newest issuer comes first. A key is wiped when the ring and the last thread that is just
/// using it have let go of it.
type Keys = Vec<Arc<Key>>;

/// A key, ready for use.
struct Key {
    id: [u8; 16],
    prk: Secret,
    known_from: Duration,
    issues_from: Duration,
    issues_until: Duration,
    opens_until: Duration,
}

impl TicketKeyRing {
    /// A ring without keys. It seals with the provider's AES-256-GCM, or with its first suite that
    /// has 32-byte keys; servers that share keys need providers that agree in that. A provider with
    /// neither gets a ring that never seals.
    pub fn new(provider: &Provider) -> Self {
        Self { sealing: Sealing::new(provider), keys: RwLock::default() }
    }

    /// Replaces all keys at `now` (since the Unix epoch). Keys that don't open tickets any more are
    /// checked, but not kept.
    ///
    /// # Errors
    /// If a key is unusable or there twice; the ring keeps the keys that it had.
    pub fn install(&self, keys: Vec<TicketKey>, now: Duration) -> Result<(), RingError> {
        let mut fresh = Vec::with_capacity(keys.len());
        for key in keys {
            self.insert(&mut fresh, key)?;
        }
        fresh.retain(|key| key.opens_until > now);
        let old = std::mem::replace(&mut *self.write(), fresh);
        // Wiped here, after the lock is free.
        drop(old);
        Ok(())
    }

    /// Adds one key at `now` (since the Unix epoch), and destroys those that don't open tickets any
    /// more.
    ///
    /// # Errors
    /// If the key is unusable or already there; the ring keeps the keys that it had.
    pub fn add(&self, key: TicketKey, now: Duration) -> Result<(), RingError> {
        let mut keys = self.write();
        let mut fresh = keys.clone();
        self.insert(&mut fresh, key)?;
        fresh.retain(|key| key.opens_until > now);
        *keys = fresh;
        Ok(())
    }

    /// Destroys a key before its time; its tickets are unknown from now on. `false` if it is not
    /// there.
    pub fn retire(&self, id: &[u8; 16]) -> bool {
        let mut keys = self.write();
        let before = keys.len();
        keys.retain(|key| key.id != *id);
        keys.len() < before
    }

    /// Destroys the keys that don't open tickets any more at `now` (since the Unix epoch), and says
    /// how many they were.
    pub fn purge(&self, now: Duration) -> usize {
        let mut keys = self.write();
        let before = keys.len();
        keys.retain(|key| key.opens_until > now);
        before - keys.len()
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.read().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn insert(&self, keys: &mut Keys, key: TicketKey) -> Result<(), RingError> {
        key.check()?;
        // Without algorithms the secret itself is kept, only to find duplicates.
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
        let key = Key {
            id: key.id,
            prk,
            known_from: key.known_from,
            issues_from: key.issues_from,
            issues_until: key.issues_until,
            opens_until: key.opens_until,
        };
        // The id decides between equals, so that all servers choose the same key.
        let order = |key: &Key| (key.issues_from, key.id);
        let at = keys.partition_point(|other| order(other) > order(&key));
        keys.insert(at, Arc::new(key));
        Ok(())
    }

    /// The key is copied out by reference: cryptography happens outside the lock.
    fn find(&self, wanted: impl Fn(&Key) -> bool) -> Option<Arc<Key>> {
        self.read().iter().find(|key| wanted(key)).cloned()
    }

    /// Every change is one assignment or `retain`, so a panic elsewhere leaves nothing half done.
    fn read(&self) -> RwLockReadGuard<'_, Keys> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Keys> {
        self.keys.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TicketKeys for TicketKeyRing {
    fn seal(&self, session: &SessionState, unix: Duration) -> Option<Vec<u8>> {
        let sealing = self.sealing.as_ref()?;
        let key = self.find(|key| key.issues_from <= unix && unix < key.issues_until)?;
        sealing.seal(&key.id, &key.prk, session)
    }

    /// Without a clock nobody can say whether a key may still open: its tickets are unknown.
    fn open(&self, question: &OpenTicket) -> Reply<Option<SessionState>> {
        let open = || {
            let (sealing, unix) = (self.sealing.as_ref()?, question.unix?);
            let ticket = Parsed::read(&question.identity)?;
            let key = self.find(|key| key.id == *ticket.id)?;
            let opens = key.known_from <= unix && unix < key.opens_until;
            opens.then(|| sealing.open(&key.prk, &ticket)).flatten()
        };
        Reply::Now(open())
    }
}
