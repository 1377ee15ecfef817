//! State split into shards with separate locks, so that threads rarely contend.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A keyed hash of the name selects the shard. Names should be random, but clients know them: the key
/// prevents attacks on one shard, or on one bucket of its tables.
pub(crate) struct Sharded<S> {
    shards: Box<[Mutex<S>]>,
    hashing: RandomState,
}

const MAX_SHARDS: usize = 64;

/// With fewer entries per shard the hash would fill them too unevenly.
const ENTRIES_PER_SHARD: usize = 256;

impl<S> Sharded<S> {
    /// Makes as many shards as `capacity` entries justify. `make` gets the capacity of each; together they
    /// have exactly `capacity`.
    pub(crate) fn new(capacity: usize, make: impl Fn(usize) -> S) -> Self {
        let count = (capacity / ENTRIES_PER_SHARD).clamp(1, MAX_SHARDS);
        let share = |shard| capacity / count + usize::from(shard < capacity % count);
        let shards = (0..count).map(|shard| Mutex::new(make(share(shard)))).collect();
        Self { shards, hashing: RandomState::new() }
    }

    /// Locks the shard of a name.
    pub(crate) fn lock(&self, name: &impl Hash) -> MutexGuard<'_, S> {
        let shard = self.hashing.hash_one(name) as usize % self.shards.len();
        lock(&self.shards[shard])
    }

    /// Sums `of` over the shards, which are locked one after the other.
    pub(crate) fn sum(&self, of: impl Fn(&mut S) -> usize) -> usize {
        self.shards.iter().map(|shard| of(&mut lock(shard))).sum()
    }
}

/// A poisoned lock is fine: nothing under these locks panics half way.
fn lock<S>(shard: &Mutex<S>) -> MutexGuard<'_, S> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
