//! The store of known chains.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tessera::crypto::{Hash, Provider};

use super::entries::{Entries, StoreBounds};
use super::key::{Key, Salt};
use super::record::Record;
use crate::error::ConfigError;

/// The chains that verifiers know. One store serves any number of [`KnownChains`](super::KnownChains) and threads:
/// verifiers that accept alike share entries, others never do. Clones are the same store.
///
/// It holds no secrets, no certificates, and nothing about chains that were refused. Of a chain it keeps a
/// hash, a public key, the dates, and the peer's identity where the question doesn't say it.
#[derive(Clone)]
pub struct ChainStore {
    sha256: &'static dyn Hash,
    salt: Arc<Salt>,
    kept: Arc<Mutex<Kept>>,
}

/// What a store has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StoreCounts {
    /// Chains that are kept.
    pub entries: usize,
    /// Their bytes, with what they take in the tables.
    pub bytes: usize,
    /// Chains that had to leave, and are kept until connections have used them.
    pub held: usize,
    /// Questions about a chain that was known and valid.
    pub hits: u64,
    /// Questions about one that wasn't, which was judged whole.
    pub misses: u64,
}

struct Kept {
    entries: Entries,
    /// Chains that connections depend on.
    pins: BTreeMap<Key, Pinned>,
    hits: u64,
    misses: u64,
}

/// What pins of one entry have together.
#[derive(Default)]
struct Pinned {
    connections: usize,
    /// The record, once it has left the entries.
    record: Option<Record>,
}

impl ChainStore {
    /// An empty store.
    ///
    /// # Errors
    /// If the provider has no suite with SHA-256, or no random numbers.
    pub fn new(provider: &Provider, bounds: StoreBounds) -> Result<Self, ConfigError> {
        let kept =
            Kept { entries: Entries::new(bounds), pins: BTreeMap::new(), hits: 0, misses: 0 };
        let sha256 = provider.sha256().ok_or(ConfigError::NoSha256)?;
        let mut salt = Salt::default();
        provider.random.fill(&mut salt).map_err(|_| ConfigError::NoRandom)?;
        Ok(Self { sha256, salt: Arc::new(salt), kept: Arc::new(Mutex::new(kept)) })
    }

    /// What has happened until now.
    #[must_use]
    pub fn counts(&self) -> StoreCounts {
        let kept = self.kept();
        StoreCounts {
            entries: kept.entries.len(),
            bytes: kept.entries.bytes(),
            held: kept.pins.values().filter(|pin| pin.record.is_some()).count(),
            hits: kept.hits,
            misses: kept.misses,
        }
    }

    pub(super) fn sha256(&self) -> &'static dyn Hash {
        self.sha256
    }

    pub(super) fn salt(&self) -> &Salt {
        &self.salt
    }

    /// The record, if it is valid now. The question is counted.
    pub(super) fn get(&self, key: &Key, unix: u64) -> Option<Record> {
        let mut kept = self.kept();
        let record = kept.find(key).filter(|record| record.is_valid_at(unix));
        match record.is_some() {
            true => kept.hits += 1,
            false => kept.misses += 1,
        }
        record
    }

    /// The record, valid or not: of a chain that came as a hash alone. It is counted if it is there.
    pub(super) fn get_at_any_time(&self, key: &Key) -> Option<Record> {
        let mut kept = self.kept();
        let record = kept.find(key);
        if record.is_some() {
            kept.hits += 1;
        }
        record
    }

    /// Keeps the record of a chain whose end entity is this authority's.
    pub(super) fn insert(&self, record: Record, authority: &[u8]) {
        let Kept { entries, pins, .. } = &mut *self.kept();
        if let Some(pin) = pins.get_mut(&record.key()) {
            pin.record = None;
        }
        entries.insert(record, authority, |record| {
            if let Some(pin) = pins.get_mut(&record.key()) {
                pin.record = Some(record);
            }
        });
    }

    /// The record, if it is valid now; it stays until it is given back as often.
    pub(super) fn pin(&self, key: &Key, unix: u64) -> Option<Record> {
        let mut kept = self.kept();
        let record = kept.find(key).filter(|record| record.is_valid_at(unix))?;
        kept.pins.entry(*key).or_default().connections += 1;
        Some(record)
    }

    pub(super) fn unpin(&self, key: &Key) {
        let mut kept = self.kept();
        let Some(pin) = kept.pins.get_mut(key) else { return };
        pin.connections -= 1;
        if pin.connections == 0 {
            kept.pins.remove(key);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn find(&mut self, key: &Key) -> Option<Record> {
        let held = || self.pins.get(key).and_then(|pin| pin.record.as_ref());
        match self.entries.get(key) {
            Some(record) => Some(record.clone()),
            None => held().cloned(),
        }
    }
}

impl fmt::Debug for ChainStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ChainStore").field(&self.counts()).finish()
    }
}
