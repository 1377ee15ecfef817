//! Proxies that the table doesn't have.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// How often the store may be read for them: a caller who invents names must not keep it from renewing leases.
pub(super) struct UnknownProxies(Mutex<Reads>);

struct Reads {
    left: u32,
    /// When `left` last grew.
    since: Instant,
}

/// How many reads may happen at once; then one each second.
const AT_ONCE: u32 = 16;

impl UnknownProxies {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Reads { left: AT_ONCE, since: Instant::now() }))
    }

    /// Whether the store may be read now; counts it.
    pub(super) fn may_read(&self, now: Instant) -> bool {
        let mut reads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = now.saturating_duration_since(reads.since).as_secs();
        if let Ok(grown @ 1..) = u32::try_from(waited.min(AT_ONCE.into())) {
            reads.left = reads.left.saturating_add(grown).min(AT_ONCE);
            reads.since = now;
        }
        let may = reads.left > 0;
        reads.left = reads.left.saturating_sub(1);
        may
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_flood_of_unknown_names_reads_the_store_once_a_second() {
        let (unknown, begun) = (UnknownProxies::new(), Instant::now());
        let reads = |after: f64| {
            let now = begun + Duration::from_secs_f64(after);
            (0..100).filter(|_| unknown.may_read(now)).count()
        };
        assert_eq!(reads(0.1), 16);
        assert_eq!(reads(0.9), 0);
        assert_eq!([reads(1.5), reads(2.4), reads(2.6)], [1, 0, 1]);
        assert_eq!(reads(1e6), 16);
    }
}
