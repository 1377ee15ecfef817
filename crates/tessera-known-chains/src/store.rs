//! The store of known chains.

use alloc::sync::Arc;
use core::fmt;
use core::ops::DerefMut;

use tessera::crypto::{Hash, Provider};

use crate::entries::{Entries, StoreBounds};
use crate::error::StoreError;
use crate::key::{Key, Salt};
use crate::lock::Lock;
use crate::pinned::PinnedEntries;
use crate::record::{KnownPeer, Record};

/// The chains that verifiers know. One store serves any number of [`KnownChains`](crate::KnownChains) and
/// threads: equivalent verifiers share entries, others never do. Clones are the same store.
///
/// Without `std` its lock spins: code that interrupts another user of the store, such as a handler or an executor of higher
/// priority, must not use it, or it waits for ever.
///
/// It holds no secrets, no certificates, and nothing about refused chains. For each chain it keeps a hash, a
/// public key, the dates, and the peer's identity unless it follows from the question.
#[derive(Clone)]
pub struct ChainStore {
    sha256: &'static dyn Hash,
    salt: Arc<Salt>,
    kept: Arc<Lock<StoreState>>,
}

/// A store's counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StoreCounts {
    /// Chains in the store.
    pub entries: usize,
    /// Their bytes, table overhead included.
    pub bytes: usize,
    /// Chains that were evicted, but are kept until the connections that pinned them are done.
    pub held: usize,
    /// Questions about a known and valid chain.
    pub hits: u64,
    /// Questions about another chain, which was verified in full.
    pub misses: u64,
}

struct StoreState {
    entries: Entries,
    /// Chains that connections depend on.
    pinned: PinnedEntries,
    hits: u64,
    misses: u64,
}

impl ChainStore {
    /// Makes an empty store.
    ///
    /// # Errors
    /// Returns an error if the provider has no suite with SHA-256, or no randomness.
    pub fn new(provider: &Provider, bounds: StoreBounds) -> Result<Self, StoreError> {
        let (entries, pinned) = (Entries::new(bounds), PinnedEntries::default());
        let kept = StoreState { entries, pinned, hits: 0, misses: 0 };
        let sha256 = provider.sha256().ok_or(StoreError::NoSha256)?;
        let mut salt = Salt::default();
        provider.random.fill(&mut salt).map_err(|_| StoreError::NoRandom)?;
        Ok(Self { sha256, salt: Arc::new(salt), kept: Arc::new(Lock::new(kept)) })
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn counts(&self) -> StoreCounts {
        let kept = self.kept();
        StoreCounts {
            entries: kept.entries.len(),
            bytes: kept.entries.bytes(),
            held: kept.pinned.held(),
            hits: kept.hits,
            misses: kept.misses,
        }
    }

    pub(crate) fn sha256(&self) -> &'static dyn Hash {
        self.sha256
    }

    pub(crate) fn salt(&self) -> &Salt {
        &self.salt
    }

    /// Returns the peer, if its chain is valid now, and counts the question.
    pub(crate) fn get(&self, key: &Key, unix: u64) -> Option<KnownPeer> {
        let mut kept = self.kept();
        let record = kept.find(key).filter(|record| record.is_valid_at(unix));
        let peer = record.map(Record::known_peer);
        match peer.is_some() {
            true => kept.hits += 1,
            false => kept.misses += 1,
        }
        peer
    }

    /// Returns the peer, its chain valid or not, for a chain that came only as a hash. Counts the question if the
    /// record exists.
    pub(crate) fn get_at_any_time(&self, key: &Key) -> Option<KnownPeer> {
        let mut kept = self.kept();
        let peer = kept.find(key).map(Record::known_peer);
        if peer.is_some() {
            kept.hits += 1;
        }
        peer
    }

    /// Returns the peer, its chain valid or not, before the question about it.
    pub(crate) fn foresee(&self, key: &Key) -> Option<KnownPeer> {
        self.kept().find(key).map(Record::known_peer)
    }

    /// Stores the record of a chain whose end entity this authority issued.
    pub(crate) fn insert(&self, record: Record, authority: &[u8]) {
        let StoreState { entries, pinned, .. } = &mut *self.kept();
        let key = record.key();
        let left =
            entries.insert(record, authority, |record| pinned.keep(&record.key(), Some(record)));
        pinned.keep(&key, left);
    }

    /// Returns what `look` finds in the record, if it is valid now; the record stays until every pin is released. `None`
    /// also without memory for the pin.
    pub(crate) fn pin<R>(
        &self,
        key: &Key,
        unix: u64,
        look: impl FnOnce(&Record) -> R,
    ) -> Option<R> {
        let mut kept = self.kept();
        let found = kept.find(key).filter(|record| record.is_valid_at(unix)).map(look)?;
        kept.pinned.add(*key)?;
        Some(found)
    }

    pub(crate) fn unpin(&self, key: &Key) {
        self.kept().pinned.release(key);
    }

    fn kept(&self) -> impl DerefMut<Target = StoreState> {
        self.kept.lock()
    }
}

impl StoreState {
    fn find(&mut self, key: &Key) -> Option<&Record> {
        let Self { entries, pinned, .. } = self;
        entries.get(key).or_else(|| pinned.record(key))
    }
}

impl fmt::Debug for ChainStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ChainStore").field(&self.counts()).finish()
    }
}
