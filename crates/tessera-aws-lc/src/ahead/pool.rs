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
}

impl<K> Pool<K> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Kept { keys: VecDeque::new(), process: 0 }))
    }

    /// Returns the oldest key pair, if there is one.
    pub(crate) fn take(&self) -> Option<K> {
        let mut kept = self.lock();
        if kept.keys.is_empty() {
            return None;
        }
        kept.is_of(std::process::id());
        kept.keys.pop_front().map(|(_, key)| key)
    }

    /// Drops the key pairs that are too old or too many, and adds one if it is missing. Returns whether another is missing.
    pub(crate) fn fill<E>(
        &self,
        most: usize,
        lifetime: Duration,
        make: impl FnOnce() -> Result<K, E>,
    ) -> bool {
        let now = Instant::now();
        let mut kept = self.lock();
        kept.is_of(std::process::id());
        let is_old = |made: &Instant| now.saturating_duration_since(*made) >= lifetime;
        while kept.keys.len() > most || kept.keys.front().is_some_and(|(made, _)| is_old(made)) {
            kept.keys.pop_front();
        }
        if kept.keys.len() >= most {
            return false;
        }
        drop(kept);
        // Handshakes don't wait for this.
        let Ok(key) = make() else { return false };
        let mut kept = self.lock();
        kept.keys.push_back((now, key));
        kept.keys.len() < most
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().keys.len()
    }

    fn lock(&self) -> MutexGuard<'_, Kept<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> Kept<K> {
    /// Drops what another process made.
    fn is_of(&mut self, process: u32) {
        if self.process != process {
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
            let is_one_missing = pool.fill(count as usize, LONG, || Ok::<_, ()>(key));
            assert_eq!(is_one_missing, key + 1 < count);
        }
        pool
    }

    #[test]
    fn each_key_is_taken_once_the_oldest_first() {
        let pool = filled(3);
        assert!(!pool.fill(3, LONG, || -> Result<u32, ()> { panic!("it has as many as it may") }));
        assert_eq!([(); 4].map(|()| pool.take()), [Some(0), Some(1), Some(2), None]);
    }

    #[test]
    fn keys_too_old_or_too_many_are_dropped() {
        let pool = filled(3);
        pool.fill(1, LONG, || Err(()));
        assert_eq!(pool.len(), 1);
        assert_eq!(pool.take(), Some(2), "the youngest stays");
        let pool = filled(3);
        assert!(!pool.fill(3, Duration::ZERO, || Err(())));
        assert_eq!(pool.len(), 0);
    }

    #[test]
    fn a_pool_that_no_key_can_be_made_for_asks_for_no_more() {
        assert!(!Pool::<u32>::new().fill(3, LONG, || Err(())));
    }

    #[test]
    fn a_child_process_uses_no_key_of_its_parent() {
        let pool = filled(2);
        // What a child finds in its copy of the memory.
        pool.lock().process = std::process::id() + 1;
        assert_eq!(pool.take(), None);
        assert_eq!(pool.len(), 0);
    }
}
