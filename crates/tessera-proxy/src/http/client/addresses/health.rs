//! The health of an address.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

/// The last failure.
pub(in crate::http::client) type Cause = Arc<dyn std::error::Error + Send + Sync>;

/// The health of an address: one that failed is avoided for a while.
#[derive(Debug, Default)]
pub(in crate::http::client) struct Health {
    /// In a row.
    failures: u32,
    sick_until: Option<Instant>,
    cause: Option<Cause>,
}

impl Health {
    /// Avoids the address from now on, for longer with each failure in a row. `random` is below 1.
    pub(in crate::http::client) fn failed(
        &mut self,
        now: Instant,
        (shortest, longest): (Duration, Duration),
        random: f64,
        cause: Cause,
    ) {
        let doubled = shortest.saturating_mul(1 << self.failures.min(20));
        // Addresses that failed together don't return together.
        let pause = doubled.min(longest).mul_f64(1.0 - random / 2.0);
        self.failures = self.failures.saturating_add(1);
        self.sick_until = now.checked_add(pause);
        self.cause = Some(cause);
    }

    /// A connection succeeded.
    pub(in crate::http::client) fn recovered(&mut self) {
        *self = Self::default();
    }

    pub(in crate::http::client) fn is_sick(&self, now: Instant) -> bool {
        self.sick_until.is_some_and(|until| until > now)
    }

    pub(in crate::http::client) fn sick_until(&self) -> Option<Instant> {
        self.sick_until
    }

    pub(in crate::http::client) fn cause(&self) -> Option<Cause> {
        self.cause.clone()
    }

    pub(in crate::http::client) fn failures(&self) -> u32 {
        self.failures
    }
}
