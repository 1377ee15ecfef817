//! How many secrets each client has: counted without a list of clients.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU32, Ordering};

/// A fixed number of counters, each for all clients whose names hash to it. Clients that share one
/// share a limit, which with as many counters as secrets is rare and costs a round trip. The hash is
/// keyed, so that nobody can aim at another's counter.
pub(crate) struct ClientCounts {
    counts: Box<[AtomicU32]>,
    limit: u32,
    hashing: RandomState,
}

/// The counter of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Account(u32);

impl Account {
    /// Of unknown clients: they are not counted.
    pub(crate) const NOBODY: Self = Self(u32::MAX);
}

const MIN_COUNTERS: usize = 1024;
const MAX_COUNTERS: usize = 1 << 24;

impl ClientCounts {
    /// Counters for `secrets` secrets, of which each client may have `limit`.
    pub(crate) fn new(secrets: usize, limit: usize) -> Self {
        let counters = secrets.clamp(MIN_COUNTERS, MAX_COUNTERS);
        Self {
            counts: (0..counters).map(|_| AtomicU32::new(0)).collect(),
            limit: u32::try_from(limit).unwrap_or(u32::MAX),
            hashing: RandomState::new(),
        }
    }

    /// The account of a client.
    pub(crate) fn account(&self, client: Option<&[u8]>) -> Account {
        let Some(client) = client else { return Account::NOBODY };
        Account((self.hashing.hash_one(client) % self.counts.len() as u64) as u32)
    }

    /// Counts one more; not beyond the limit.
    pub(crate) fn open(&self, account: Account) -> bool {
        let Some(count) = self.counts.get(account.0 as usize) else { return true };
        let more = |count| (count < self.limit).then_some(count + 1);
        count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Counts one less.
    pub(crate) fn close(&self, account: Account) {
        if let Some(count) = self.counts.get(account.0 as usize) {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
