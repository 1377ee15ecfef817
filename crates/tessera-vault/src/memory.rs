//! The embedded vault: bounded memory, wiped.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tessera::handshake::Reply;
use tessera::resume::{Absent, OneTimeSecret, PutRefused, TakeSecret, Taken, TicketId, Vault};

use crate::millis::millis;
use crate::shard::{Shard, Stored};
use crate::sharded::Sharded;

/// Holds one-time secrets in the memory of this process, and gives each out once.
///
/// A full vault evicts the oldest secret for a new one: a secret that is gone costs its client a
/// round trip, nothing else. Of secrets that were taken or burned it remembers ids, not secrets, in
/// bounded memory of their own; what it has forgotten is [`Absent::Unknown`]. It fills in shards, so
/// eviction may begin shortly before the capacity is reached, and "oldest" is within a shard.
///
/// Expired secrets are never given out. They are destroyed as traffic comes by; so that they are
/// destroyed in time without traffic too, the owner calls [`purge`](Self::purge) from a timer.
///
/// A classical secret (X25519) takes less than 200 bytes with everything around it.
pub struct MemoryVault {
    shards: Sharded<Shard>,
    /// The latest reading of a clock, in milliseconds since the Unix epoch, for [`Vault::put`], which
    /// is not told the time. It follows the clock back too; 0, before the first, expires nothing.
    clock: AtomicU64,
}

impl MemoryVault {
    /// A vault for at most `capacity` secrets and as many tombstones. It uses memory as it fills.
    pub fn new(capacity: usize) -> Self {
        Self::with_tombstones(capacity, capacity)
    }

    /// A vault for at most `capacity` secrets that remembers about `tombstones` of those that are
    /// gone.
    pub fn with_tombstones(capacity: usize, tombstones: usize) -> Self {
        let share = |of_capacity: usize| match capacity {
            0 => 0,
            _ => (tombstones as u128 * of_capacity as u128 / capacity as u128) as usize,
        };
        let shards = Sharded::new(capacity, |capacity| Shard::new(capacity, share(capacity)));
        Self { shards, clock: AtomicU64::new(0) }
    }

    /// Destroys every secret that has expired at `now` (since the Unix epoch), and says how many they
    /// were. Looks at all secrets, and locks one shard after the other.
    pub fn purge(&self, now: Duration) -> usize {
        let now = self.note(Some(now));
        self.shards.sum(|shard| shard.purge(now, self.shards.hashing()))
    }

    fn note(&self, unix: Option<Duration>) -> u64 {
        match unix {
            Some(unix) => {
                let now = millis(unix);
                self.clock.store(now, Ordering::Relaxed);
                now
            }
            None => self.clock.load(Ordering::Relaxed),
        }
    }
}

impl Vault for MemoryVault {
    /// Refuses an id that is or was here, so that no id is ever given out twice.
    fn put(
        &self,
        id: &TicketId,
        secret: OneTimeSecret,
        expires_at: Duration,
    ) -> Result<(), PutRefused> {
        // Copied, because making a vector smaller leaves the old memory behind; the vector is wiped.
        let stored = Stored::new(Box::from(secret.encode().as_slice()));
        let now = self.note(None);
        let hashing = self.shards.hashing();
        let (mut shard, hash) = self.shards.lock(id);
        let kept = shard.put((id, hash), stored, millis(expires_at), now, hashing);
        kept.then_some(()).ok_or(PutRefused)
    }

    fn take(&self, question: &TakeSecret) -> Reply<Taken> {
        let TakeSecret { id, purpose, unix } = question;
        let now = self.note(*unix);
        let hashing = self.shards.hashing();
        let taken = {
            let (mut shard, hash) = self.shards.lock(id);
            let taken = shard.take((id, hash), *purpose, now, hashing);
            shard.sweep(now, hashing);
            taken
        };
        Reply::Now(match taken {
            Ok(stored) => {
                OneTimeSecret::decode(&stored).map_or(Taken::Absent(Absent::Unknown), Taken::Taken)
            }
            Err(absent) => Taken::Absent(absent),
        })
    }

    fn burn(&self, id: &TicketId) {
        let (mut shard, hash) = self.shards.lock(id);
        shard.burn((id, hash), self.shards.hashing());
    }

    /// Counts secrets that have expired and were not yet destroyed.
    fn len(&self) -> usize {
        self.shards.sum(|shard| shard.len())
    }
}
