//! Counts the secrets in etcd: an occasional count, plus what this server has added since.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Excludes what other servers added since, and what was removed.
#[derive(Default)]
pub(super) struct Count {
    /// How many this server has added in all.
    added: AtomicUsize,
    last: Mutex<LastCount>,
}

#[derive(Default)]
struct LastCount {
    counted: usize,
    /// How many this server had added when counting began.
    added: usize,
}

impl Count {
    /// Adds one.
    pub(super) fn add(&self) {
        self.added.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many this server has added; read this before counting.
    pub(super) fn added(&self) -> usize {
        self.added.load(Ordering::Relaxed)
    }

    /// Sets the result of a count: `counted` in etcd, when this server had added `added`.
    pub(super) fn set(&self, counted: usize, added: usize) {
        *self.last() = LastCount { counted, added };
    }

    pub(super) fn estimate(&self) -> usize {
        let last = self.last();
        last.counted.saturating_add(self.added().wrapping_sub(last.added))
    }

    fn last(&self) -> MutexGuard<'_, LastCount> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
