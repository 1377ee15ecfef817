//! A bounded number of key pairs, each of which is used once.

use std::collections::VecDeque;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// How old a key pair may be when it is used. An older one is wiped at the next call.
pub(super) const LIFETIME: Duration = Duration::from_secs(10 * 60);

/// The pool of one kind, whatever its keys are: what the owner of all of them uses.
pub(crate) trait KeyPool: Send + Sync {
    /// Wipes the key pairs that are too old or too many.
    fn trim(&self, most: usize);

    /// Makes one.
    fn make(&self) -> FillStep;

    fn len(&self) -> usize;

    fn usage(&self) -> KeyUsage;
}

/// The key pairs of one kind.
pub(crate) struct Pool<K> {
    contents: Mutex<Contents<K>>,
    /// How old a key pair may be when it is used.
    lifetime: Duration,
    /// Counted without the lock, which a handshake may not get.
    used: AtomicU64,
    on_demand: AtomicU64,
}

/// How often a handshake tries to get the lock, which another one holds for some 50 ns. While old keys are wiped it is held
/// for longer, and the handshake makes its own key.
const TRIES: usize = 64;

struct Contents<K> {
    /// The oldest first, with the time when it was made.
    keys: VecDeque<(Instant, K)>,
    /// The process that made them: after `fork` both would use the same.
    process: u32,
    /// Its `used` and `on_demand` stay 0: those of the [`Pool`] count.
    usage: KeyUsage,
}

/// What one call of [`KeysAhead::fill`](super::KeysAhead::fill) did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum FillStep {
    /// It made a key pair. Another may be missing.
    Made,
    /// None is missing.
    Full,
    /// AWS-LC couldn't make one, for example for lack of memory. Without randomness it aborts the process.
    Failed,
}

/// What became of the key pairs of a kind since the process started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct KeyUsage {
    /// Made ahead.
    pub made: u64,
    /// Of these, used by a handshake.
    pub used: u64,
    /// Of these, wiped unused: too old, too many, or made by the parent process.
    pub wiped: u64,
    /// Made by a handshake that found none.
    pub on_demand: u64,
}

impl KeyUsage {
    /// Whether a handshake has asked for this kind.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        self.used > 0 || self.on_demand > 0
    }

    const NONE: Self = Self { made: 0, used: 0, wiped: 0, on_demand: 0 };
}

impl<K> Pool<K> {
    pub(crate) const fn new(lifetime: Duration) -> Self {
        let contents = Contents { keys: VecDeque::new(), process: 0, usage: KeyUsage::NONE };
        let (used, on_demand) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { contents: Mutex::new(contents), lifetime, used, on_demand }
    }

    /// Returns the oldest key pair that isn't too old; `None` if the caller must make one. Doesn't wait for another thread:
    /// in a child of `fork`, a thread that only the parent has may hold the lock forever.
    pub(crate) fn take(&self) -> Option<K> {
        let key = self.try_lock().and_then(|mut contents| {
            if !contents.keys.is_empty() {
                contents.forget_others(std::process::id());
                contents.wipe_old(self.lifetime);
            }
            contents.keys.pop_front()
        });
        let count = if key.is_some() { &self.used } else { &self.on_demand };
        count.fetch_add(1, Ordering::Relaxed);
        key.map(|(_, key)| key)
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Contents<K>>> {
        for _ in 0..TRIES {
            match self.contents.try_lock() {
                Ok(contents) => return Some(contents),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => spin_loop(),
            }
        }
        None
    }

    /// Wipes the key pairs that are too old or too many, the oldest first.
    pub(crate) fn trim(&self, most: usize) {
        let mut contents = self.lock();
        contents.forget_others(std::process::id());
        contents.wipe_old(self.lifetime);
        while contents.keys.len() > most {
            contents.keys.pop_front();
            contents.usage.wiped += 1;
        }
    }

    /// Adds a key pair. Handshakes don't wait while it is made.
    pub(crate) fn make<E>(&self, make: impl FnOnce() -> Result<K, E>) -> FillStep {
        let Ok(key) = make() else { return FillStep::Failed };
        let mut contents = self.lock();
        contents.forget_others(std::process::id());
        contents.keys.push_back((Instant::now(), key));
        contents.usage.made += 1;
        FillStep::Made
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().keys.len()
    }

    pub(crate) fn usage(&self) -> KeyUsage {
        let (used, on_demand) = (&self.used, &self.on_demand);
        let [used, on_demand] = [used, on_demand].map(|count| count.load(Ordering::Relaxed));
        KeyUsage { used, on_demand, ..self.lock().usage }
    }

    fn lock(&self) -> MutexGuard<'_, Contents<K>> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> Contents<K> {
    /// Wipes what another process made.
    fn forget_others(&mut self, process: u32) {
        if self.process != process {
            self.usage.wiped += self.keys.len() as u64;
            self.keys.clear();
            self.process = process;
        }
    }

    fn wipe_old(&mut self, lifetime: Duration) {
        while self.keys.front().is_some_and(|(made, _)| made.elapsed() >= lifetime) {
            self.keys.pop_front();
            self.usage.wiped += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    fn filled(count: u32) -> Pool<u32> {
        filled_for(LONG, count)
    }

    fn filled_for(lifetime: Duration, count: u32) -> Pool<u32> {
        let pool = Pool::new(lifetime);
        for key in 0..count {
            assert_eq!(pool.make(|| Ok::<_, ()>(key)), FillStep::Made);
        }
        pool
    }

    #[test]
    fn each_key_is_taken_once_the_oldest_first() {
        let pool = filled(3);
        assert_eq!([(); 4].map(|()| pool.take()), [Some(0), Some(1), Some(2), None]);
        assert_eq!(pool.usage(), KeyUsage { made: 3, used: 3, wiped: 0, on_demand: 1 });
    }

    #[test]
    fn keys_too_old_or_too_many_are_dropped_and_counted() {
        let pool = filled(3);
        pool.trim(3);
        assert_eq!(pool.len(), 3);
        pool.trim(1);
        assert_eq!(pool.take(), Some(2), "the youngest stays");
        assert_eq!(pool.usage(), KeyUsage { made: 3, used: 1, wiped: 2, on_demand: 0 });
        let pool = filled_for(Duration::ZERO, 3);
        pool.trim(3);
        assert_eq!((pool.len(), pool.usage().wiped), (0, 3));
    }

    #[test]
    fn a_key_too_old_is_not_used_even_if_nothing_fills() {
        let pool = filled_for(Duration::ZERO, 3);
        assert_eq!(pool.take(), None);
        assert_eq!(pool.usage(), KeyUsage { made: 3, used: 0, wiped: 3, on_demand: 1 });
    }

    #[test]
    fn a_handshake_does_not_wait_for_the_lock() {
        let pool = filled(1);
        let held = pool.lock();
        assert_eq!(pool.take(), None);
        drop(held);
        assert_eq!(pool.take(), Some(0));
        assert_eq!((pool.usage().on_demand, pool.usage().used), (1, 1), "each is counted");
    }

    #[test]
    fn a_failure_adds_no_key_and_none_comes_twice() {
        let pool = filled(2);
        assert_eq!(pool.make(|| Err(())), FillStep::Failed);
        assert_eq!([(); 3].map(|()| pool.take()), [Some(0), Some(1), None]);
        assert_eq!(pool.make(|| Err(())), FillStep::Failed);
        assert_eq!((pool.take(), pool.usage().made), (None, 2));
        assert_eq!(pool.make(|| Ok::<_, ()>(2)), FillStep::Made);
        assert_eq!(pool.take(), Some(2));
    }

    #[test]
    fn a_child_process_uses_no_key_of_its_parent() {
        let pool = filled(2);
        // What a child finds in its copy of the memory.
        pool.lock().process = std::process::id() + 1;
        assert_eq!(pool.take(), None);
        assert_eq!((pool.len(), pool.usage().wiped), (0, 2));
    }
}
