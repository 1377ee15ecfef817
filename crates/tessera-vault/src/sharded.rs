//! State cut into shards with a lock each, so that threads rarely wait for each other.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Shards are chosen by a keyed hash of the name. Names should be random, but clients know them: with the
/// key nobody can aim at one shard, or at one bucket of the tables in it.
pub(crate) struct Sharded<S> {
    shards: Box<[Mutex<S>]>,
    hashing: RandomState,
}

const MAX_SHARDS: usize = 64;

/// With fewer entries per shard the hash would fill them too unevenly.
const ENTRIES_PER_SHARD: usize = 256;

impl<S> Sharded<S> {
    /// As many shards as `capacity` entries are worth. `make` gets the capacity of each; together
    /// they have exactly `capacity`.
    pub(crate) fn new(capacity: usize, make: impl Fn(usize) -> S) -> Self {
        let count = (capacity / ENTRIES_PER_SHARD).clamp(1, MAX_SHARDS);
        let share = |shard| capacity / count + usize::from(shard < capacity % count);
        let shards = (0..count).map(|shard| Mutex::new(make(share(shard)))).collect();
        Self { shards, hashing: RandomState::new() }
    }

    /// The shard of a name, locked.
    pub(crate) fn lock(&self, name: &impl Hash) -> MutexGuard<'_, S> {
        let shard = self.hashing.hash_one(name) as usize % self.shards.len();
        lock(&self.shards[shard])
    }

    /// What the shards give, summed up; they are locked one after the other.
    pub(crate) fn sum(&self, of: impl Fn(&mut S) -> usize) -> usize {
        self.shards.iter().map(|shard| of(&mut lock(shard))).sum()
    }
}

/// Nothing that happens under these locks panics half way, so a poisoned one is still good.
fn lock<S>(shard: &Mutex<S>) -> MutexGuard<'_, S> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
