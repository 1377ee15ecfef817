//! When something has to be over.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

/// A moment of the monotonic clock by which something has to be over. It is copied along a call: whoever waits for
/// a part of it waits no longer.
///
/// ```
/// use std::time::Duration;
///
/// use tessera_proxy::http::deadline::Deadline;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let call = Deadline::after(Duration::from_millis(20));
/// let connecting = call.at_most(Duration::from_millis(5));
/// assert!(connecting.limit(std::future::pending::<()>()).await.is_err());
/// assert!(connecting.is_over());
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// In `duration` from now. A duration that the clock can't add is a year.
    pub fn after(duration: Duration) -> Self {
        Self(after(Instant::now(), duration))
    }

    /// At `instant`.
    pub fn at(instant: Instant) -> Self {
        Self(instant)
    }

    /// The moment.
    pub fn instant(self) -> Instant {
        self.0
    }

    /// What is left; zero once it is over.
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Whether nothing is left.
    pub fn is_over(self) -> bool {
        self.remaining().is_zero()
    }

    /// This deadline, or `duration` from now if that is earlier.
    #[must_use]
    pub fn at_most(self, duration: Duration) -> Self {
        self.min(Self::after(duration))
    }

    /// Waits for `future`, but not beyond the deadline. A future that is ready wins over a deadline that is over.
    pub async fn limit<F: Future>(self, future: F) -> Result<F::Output, Elapsed> {
        timeout_at(self.0, future).await.map_err(|_| Elapsed)
    }
}

/// A deadline is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elapsed;

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the deadline is over")
    }
}

impl std::error::Error for Elapsed {}

/// `duration` after `start`, or a year if the clock can't add it.
pub(super) fn after(start: Instant, duration: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
    start.checked_add(duration).unwrap_or_else(|| start + YEAR)
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn the_earlier_of_two_limits_holds() {
        let call = Deadline::after(3 * SECOND);
        assert_eq!(call.at_most(5 * SECOND), call);
        let (started, part) = (Instant::now(), call.at_most(SECOND));
        assert_eq!(part.limit(pending::<()>()).await, Err(Elapsed));
        assert_eq!(started.elapsed(), SECOND);
        assert!(part.is_over() && !call.is_over());
        assert_eq!(call.remaining(), 2 * SECOND);
        assert_eq!(call.limit(pending::<()>()).await, Err(Elapsed));
        assert_eq!(started.elapsed(), 3 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_ready_wins_over_a_deadline_that_is_over() {
        let deadline = Deadline::after(Duration::ZERO);
        assert!(deadline.is_over());
        assert_eq!(deadline.limit(ready(7)).await, Ok(7));
    }

    #[test]
    fn no_duration_is_too_long_for_the_clock() {
        assert!(!Deadline::after(Duration::MAX).is_over());
    }
}
