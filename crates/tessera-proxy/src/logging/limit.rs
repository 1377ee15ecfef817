//! Rate limits on lines.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use tracing::Metadata;
use tracing::callsite::Identifier;

use super::TRUSTED;

/// Limits how many lines each place in the code may write. The number of places is that of the program.
pub(super) struct Limits {
    quota: Quota,
    places: RwLock<HashMap<Identifier, Arc<Place>>>,
    left_out: AtomicU64,
}

struct Place {
    limiter: DefaultDirectRateLimiter,
    /// Limits notices to one a second.
    notices: DefaultDirectRateLimiter,
    /// Since the last notice.
    left_out: AtomicU64,
}

/// What to do with a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    LeaveOut,
    /// Write it, after a notice about lines left out before, if that is due.
    Write {
        left_out: u64,
    },
}

impl Limits {
    pub(super) fn new(lines_per_second: NonZeroU32) -> Self {
        Self::with_quota(Quota::per_second(lines_per_second))
    }

    pub(super) fn with_quota(quota: Quota) -> Self {
        Self { quota, places: RwLock::default(), left_out: AtomicU64::new(0) }
    }

    /// Whether an event becomes a line.
    pub(super) fn decide(&self, event: &Metadata<'_>) -> Decision {
        if event.target() == TRUSTED {
            return Decision::Write { left_out: 0 };
        }
        let place = self.place(event.callsite());
        if place.limiter.check().is_err() {
            place.left_out.fetch_add(1, Ordering::Relaxed);
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return Decision::LeaveOut;
        }
        let is_told = place.left_out.load(Ordering::Relaxed) > 0 && place.notices.check().is_ok();
        let left_out = if is_told { place.left_out.swap(0, Ordering::Relaxed) } else { 0 };
        Decision::Write { left_out }
    }

    /// Returns how many were left out since the beginning.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed)
    }

    fn place(&self, id: Identifier) -> Arc<Place> {
        let places = self.places.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = places.get(&id) {
            return place.clone();
        }
        drop(places);
        let mut places = self.places.write().unwrap_or_else(PoisonError::into_inner);
        let place = || {
            let limiter = RateLimiter::direct(self.quota);
            let notices = RateLimiter::direct(Quota::per_second(NonZeroU32::MIN));
            Arc::new(Place { limiter, notices, left_out: AtomicU64::new(0) })
        };
        places.entry(id).or_insert_with(place).clone()
    }
}
