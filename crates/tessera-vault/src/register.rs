//! The replay register: what was used, until it expires.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::time::Duration;

use tessera::resume::{AlreadyUsed, SingleUseRegister};
use tessera::wire::TICKET_ID_LEN;

use crate::millis::millis;
use crate::sharded::Sharded;

/// Remembers in the memory of this process which tickets came with replayable early data.
///
/// It refuses any ticket that an earlier life of it may have seen (RFC 8446 §8.1): tickets issued before it
/// started, or at the same moment. It also refuses tickets from the future, because the clock of an earlier
/// life may have been ahead, and everything while it is full.
///
/// It guards one process. If several servers open each other's tickets, each accepts a ticket once: use a
/// separate ticket-key ring for each, or accept only forward-secret early data, which a vault guards for all
/// of them. It trusts the clock: if the clock is set back between two lives, `started_at` must be the latest
/// time that the earlier life saw.
pub struct MemoryRegister {
    shards: Sharded<Shard>,
    started_at: Duration,
}

type Key = [u8; TICKET_ID_LEN];

struct Shard {
    used: HashSet<Key>,
    /// The same keys, the first to expire on top; times are in milliseconds since the Unix epoch.
    expiring: BinaryHeap<Reverse<(u64, Key)>>,
    capacity: usize,
    /// Entries that expire up to here may have been forgotten. Unlike the clock, this never goes back.
    forgotten_until: u64,
}

impl MemoryRegister {
    /// Makes a register for at most `capacity` tickets, which started to listen at `started_at` (since the
    /// Unix epoch). It is sharded, so it may refuse shortly before it is full.
    pub fn new(capacity: usize, started_at: Duration) -> Self {
        let shards = Sharded::new(capacity, |capacity| Shard {
            used: HashSet::new(),
            expiring: BinaryHeap::new(),
            capacity,
            forgotten_until: 0,
        });
        Self { shards, started_at }
    }

    /// Returns the number of tickets remembered.
    pub fn len(&self) -> usize {
        self.shards.sum(|shard| shard.used.len())
    }

    /// Returns whether no tickets are remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl SingleUseRegister for MemoryRegister {
    fn claim(
        &self,
        key: &Key,
        issued_at: Duration,
        expires_at: Duration,
        now: Duration,
    ) -> Result<(), AlreadyUsed> {
        // Issue times are truncated to milliseconds, which only makes them earlier.
        if issued_at <= self.started_at || issued_at > now {
            return Err(AlreadyUsed);
        }
        let mut shard = self.shards.lock(key);
        shard.forget(millis(now));
        shard.claim(key, millis(expires_at), millis(now))
    }
}

impl Shard {
    /// Forgets expired entries.
    fn forget(&mut self, now: u64) {
        while let Some(Reverse((expires_at, key))) = self.expiring.peek()
            && *expires_at <= now
        {
            self.forgotten_until = self.forgotten_until.max(*expires_at);
            self.used.remove(key);
            self.expiring.pop();
        }
    }

    fn claim(&mut self, key: &Key, expires_at: u64, now: u64) -> Result<(), AlreadyUsed> {
        let may_be_forgotten = expires_at <= now.max(self.forgotten_until);
        if may_be_forgotten || self.used.len() >= self.capacity || !self.used.insert(*key) {
            return Err(AlreadyUsed);
        }
        self.expiring.push(Reverse((expires_at, *key)));
        Ok(())
    }
}
