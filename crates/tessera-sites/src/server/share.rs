//! A site's share of a server.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::limits::ServerLimits;

/// One site's connections and its rate.
pub(super) struct Share {
    connections: AtomicUsize,
    /// The time per request, at the full rate.
    step: Duration,
    /// When all requests so far would be done, one per step.
    done: Mutex<Instant>,
}

/// The place of one connection; freed when it is dropped.
pub(super) struct Place(Arc<Share>);

impl Share {
    pub(super) fn new(limits: &ServerLimits) -> Self {
        let step = Duration::from_secs(1) / limits.requests_per_second.max(1);
        Self { connections: AtomicUsize::new(0), step, done: Mutex::new(Instant::now()) }
    }

    pub(super) fn place(share: &Arc<Self>, limits: &ServerLimits) -> Option<Place> {
        let more = |held: usize| (held < limits.connections_per_site).then_some(held + 1);
        share.connections.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Place(share.clone()))
    }

    /// Returns how long this request must wait.
    fn wait(&self, now: Instant) -> Duration {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = done.saturating_duration_since(now + BURST);
        *done = (*done).max(now) + self.step;
        wait
    }
}

impl Place {
    /// Waits until the site may make one more request.
    pub(super) async fn pace(&self) {
        let wait = self.0.wait(Instant::now());
        if !wait.is_zero() {
            sleep(wait).await;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// As many requests as a second allows may come at once.
const BURST: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_may_make_a_seconds_requests_at_once_and_then_keeps_its_pace() {
        let limits = ServerLimits { requests_per_second: 10, ..ServerLimits::default() };
        let (share, now) = (Share::new(&limits), Instant::now());
        let waits: Vec<_> = (0..13).map(|_| share.wait(now).as_millis()).collect();
        assert_eq!(waits, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100, 200]);
        // An unused rate is saved up for no longer than a second.
        let later = now + Duration::from_secs(3600);
        let waits = (0..13).filter(|_| !share.wait(later).is_zero()).count();
        assert_eq!(waits, 2);
    }

    #[test]
    fn a_site_has_so_many_connections_and_gets_places_back() {
        let limits = ServerLimits { connections_per_site: 2, ..ServerLimits::default() };
        let share = Arc::new(Share::new(&limits));
        let first = Share::place(&share, &limits);
        let second = Share::place(&share, &limits);
        assert!(first.is_some() && second.is_some() && Share::place(&share, &limits).is_none());
        drop(first);
        assert!(Share::place(&share, &limits).is_some());
    }
}
