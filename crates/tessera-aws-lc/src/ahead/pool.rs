//! A bounded number of key pairs, each of which is used once.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The key pairs of one kind.
pub(crate) struct Pool<K>(Mutex<Kept<K>>);

struct Kept<K> {
    /// The oldest first, with the time when it was made.
    keys: VecDeque<(Instant, K)>,
    /// The process that made them: after `fork` both would use the same.
    process: u32,
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
    /// The provider couldn't make one: there is no randomness. Handshakes fail too until that ends.
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
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Kept { keys: VecDeque::new(), process: 0, usage: KeyUsage::NONE }))
    }

    /// Returns the oldest key pair, if there is one; otherwise the caller makes one.
    pub(crate) fn take(&self) -> Option<K> {
        let mut kept = self.lock();
        if !kept.keys.is_empty() {
            kept.is_of(std::process::id());
        }
        let key = kept.keys.pop_front().map(|(_, key)| key);
        match key {
            Some(_) => kept.usage.used += 1,
            None => kept.usage.on_demand += 1,
        }
        key
    }

    /// Drops the key pairs that are too old or too many.
    pub(crate) fn trim(&self, most: usize, lifetime: Duration) {
        let now = Instant::now();
        let mut kept = self.lock();
        kept.is_of(std::process::id());
        let is_old = |made: &Instant| now.saturating_duration_since(*made) >= lifetime;
        while kept.keys.len() > most || kept.keys.front().is_some_and(|(made, _)| is_old(made)) {
            kept.keys.pop_front();
            kept.usage.wiped += 1;
        }
    }

    /// Adds a key pair. Handshakes don't wait while it is made.
    pub(crate) fn make<E>(&self, make: impl FnOnce() -> Result<K, E>) -> FillStep {
        let Ok(key) = make() else { return FillStep::Failed };
        let mut kept = self.lock();
        kept.is_of(std::process::id());
        kept.keys.push_back((Instant::now(), key));
        kept.usage.made += 1;
        FillStep::Made
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().keys.len()
    }

    pub(crate) fn usage(&self) -> KeyUsage {
        self.lock().usage
    }

    fn lock(&self) -> MutexGuard<'_, Kept<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> Kept<K> {
    /// Drops what another process made.
    fn is_of(&mut self, process: u32) {
        if self.process != process {
            self.usage.wiped += self.keys.len() as u64;
            self.keys.clear();
            self.process = process;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    fn filled(count: u32) -> Pool<u32> {
        let pool = Pool::new();
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
        pool.trim(3, LONG);
        assert_eq!(pool.len(), 3);
        pool.trim(1, LONG);
        assert_eq!(pool.take(), Some(2), "the youngest stays");
        assert_eq!(pool.usage(), KeyUsage { made: 3, used: 1, wiped: 2, on_demand: 0 });
        let pool = filled(3);
        pool.trim(3, Duration::ZERO);
        assert_eq!((pool.len(), pool.usage().wiped), (0, 3));
    }

    #[test]
    fn without_randomness_no_key_is_made_and_none_comes_twice() {
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
