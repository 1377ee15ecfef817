//! Rate limits by address.

use std::num::NonZeroU32;
use std::sync::Mutex;
use std::time::Duration;

use governor::clock::{Clock, DefaultClock, Reference};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use tessera_tokio::Origin;

/// Allows each address a number of events a second.
pub(super) struct RateByOrigin<C: Clock = DefaultClock> {
    limiter: RateLimiter<Origin, HashMapStateStore<Origin>, C, NoOpMiddleware<C::Instant>>,
    /// When idle addresses were last removed.
    forgot: Mutex<C::Instant>,
}

impl RateByOrigin {
    pub(super) fn new(per_second: NonZeroU32) -> Self {
        Self::with_clock(per_second, DefaultClock::default())
    }
}

impl<C: Clock> RateByOrigin<C> {
    fn with_clock(per_second: NonZeroU32, clock: C) -> Self {
        let forgot = Mutex::new(clock.now());
        let quota = Quota::per_second(per_second);
        Self { limiter: RateLimiter::hashmap_with_clock(quota, clock), forgot }
    }

    /// Whether this address may begin one more now; if so, counts it.
    pub(super) fn allows(&self, origin: Origin) -> bool {
        self.forget();
        self.limiter.check_key(&origin).is_ok()
    }

    /// Removes addresses that have regained their full share, which takes a second: so the table holds those of a few
    /// seconds, and is scanned only that often.
    fn forget(&self) {
        let Ok(mut forgot) = self.forgot.try_lock() else { return };
        let now = self.limiter.clock().now();
        if Duration::from(now.duration_since(*forgot)) >= BETWEEN_LOOKS {
            *forgot = now;
            self.limiter.retain_recent();
            self.limiter.shrink_to_fit();
        }
    }
}

const BETWEEN_LOOKS: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use governor::clock::FakeRelativeClock;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn origin(host: u32) -> Origin {
        IpAddr::from(host.to_be_bytes()).into()
    }

    #[test]
    fn each_address_has_a_rate_of_its_own() {
        let clock = FakeRelativeClock::default();
        let rate = RateByOrigin::with_clock(NonZeroU32::new(5).unwrap(), clock.clone());
        let begun = |host| (0..20).filter(|_| rate.allows(origin(host))).count();
        assert_eq!((begun(1), begun(2)), (5, 5));
        assert_eq!(begun(1), 0);
        clock.advance(SECOND / 5);
        assert_eq!(begun(1), 1);
        clock.advance(60 * SECOND);
        assert_eq!(begun(1), 5, "what was not begun is not saved up");
    }

    #[test]
    fn addresses_that_begin_nothing_any_more_are_forgotten() {
        let clock = FakeRelativeClock::default();
        let rate = RateByOrigin::with_clock(NonZeroU32::new(5).unwrap(), clock.clone());
        for host in 0..10_000 {
            assert!(rate.allows(origin(host)));
        }
        assert_eq!(rate.limiter.len(), 10_000);
        clock.advance(3 * SECOND);
        assert!(rate.allows(origin(0)));
        assert_eq!(rate.limiter.len(), 1);
    }
}
