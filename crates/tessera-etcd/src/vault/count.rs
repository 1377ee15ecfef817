//! How many there are in etcd: counted from time to time, and what came from this server since.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Without what other servers added since, and without what went.
#[derive(Default)]
pub(super) struct Count {
    /// How many this server ever added.
    added: AtomicUsize,
    last: Mutex<Last>,
}

#[derive(Default)]
struct Last {
    counted: usize,
    /// How many this server had added when counting began.
    added: usize,
}

impl Count {
    /// One more.
    pub(super) fn add(&self) {
        self.added.fetch_add(1, Ordering::Relaxed);
    }

    /// How many this server has added by now: to be read before counting.
    pub(super) fn added(&self) -> usize {
        self.added.load(Ordering::Relaxed)
    }

    /// etcd has `counted`; counting began when `added` had been added.
    pub(super) fn set(&self, counted: usize, added: usize) {
        *self.last() = Last { counted, added };
    }

    pub(super) fn estimate(&self) -> usize {
        let last = self.last();
        last.counted.saturating_add(self.added().wrapping_sub(last.added))
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
