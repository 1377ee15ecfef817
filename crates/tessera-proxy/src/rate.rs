//! How often each address begins something.

use std::num::NonZeroU32;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use tessera_tokio::Origin;

/// Lets each address begin so many things a second.
pub(crate) struct RateByOrigin {
    limiter: DefaultKeyedRateLimiter<Origin>,
    /// When addresses that begin nothing any more were forgotten last.
    forgot: Mutex<Instant>,
}

impl RateByOrigin {
    pub(crate) fn new(per_second: NonZeroU32) -> Self {
        Self {
            limiter: RateLimiter::keyed(Quota::per_second(per_second)),
            forgot: Mutex::new(Instant::now()),
        }
    }

    /// Whether this address may begin one more now; it has begun it then.
    pub(crate) fn allows(&self, origin: Origin) -> bool {
        self.forget();
        self.limiter.check_key(&origin).is_ok()
    }

    /// Forgets addresses that have all of their share again, which takes a second: the table holds those of a few
    /// seconds, and a look at all of them is as seldom.
    fn forget(&self) {
        let Ok(mut forgot) = self.forgot.try_lock() else { return };
        if forgot.elapsed() >= BETWEEN_LOOKS {
            *forgot = Instant::now();
            self.limiter.retain_recent();
            self.limiter.shrink_to_fit();
        }
    }
}

const BETWEEN_LOOKS: Duration = Duration::from_secs(2);
