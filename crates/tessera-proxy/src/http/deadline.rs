//! Deadlines.

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pin_project_lite::pin_project;
use tokio::task::unconstrained;
use tokio::time::{Instant, Sleep, sleep_until};

/// A deadline on the monotonic clock. It is passed along a call, so that no part of the call waits longer.
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
    /// Creates a deadline `duration` from now. If the clock can't add it, the deadline is in a year.
    pub fn after(duration: Duration) -> Self {
        Self(after(Instant::now(), duration))
    }

    /// Creates a deadline at `instant`.
    pub fn at(instant: Instant) -> Self {
        Self(instant)
    }

    /// Returns the instant.
    pub fn instant(self) -> Instant {
        self.0
    }

    /// Returns the time left; zero if it is over.
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Whether no time is left.
    pub fn is_over(self) -> bool {
        self.remaining().is_zero()
    }

    /// Returns this deadline, or `duration` from now if that is earlier.
    #[must_use]
    pub fn at_most(self, duration: Duration) -> Self {
        self.min(Self::after(duration))
    }

    /// Waits for `future` until the deadline. A future that is ready wins over a deadline that is over.
    pub fn limit<F: Future>(self, future: F) -> Limited<F> {
        Limited { future, deadline: self.0, timer: None }
    }
}

pin_project! {
    /// A future with a deadline.
    #[must_use = "futures do nothing unless polled"]
    pub struct Limited<F> {
        #[pin]
        future: F,
        deadline: Instant,
        // Most futures are ready at once and need none.
        #[pin]
        timer: Option<Sleep>,
    }
}

impl<F: Future> Future for Limited<F> {
    type Output = Result<F::Output, DeadlineError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Poll::Ready(output) = this.future.poll(cx) {
            return Poll::Ready(Ok(output));
        }
        if this.timer.is_none() {
            this.timer.set(Some(sleep_until(*this.deadline)));
        }
        let Some(timer) = this.timer.as_pin_mut() else { return Poll::Pending };
        // A future that uses up the task's budget each time must not outlive its deadline.
        ready!(pin!(unconstrained(timer)).poll(cx));
        Poll::Ready(Err(DeadlineError))
    }
}

/// The error of a deadline that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadlineError;

impl fmt::Display for DeadlineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the deadline has passed")
    }
}

impl std::error::Error for DeadlineError {}

/// Returns `start` plus `duration`, or a year later if the clock can't add it.
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
        assert_eq!(part.limit(pending::<()>()).await, Err(DeadlineError));
        assert_eq!(started.elapsed(), SECOND);
        assert!(part.is_over() && !call.is_over());
        assert_eq!(call.remaining(), 2 * SECOND);
        assert_eq!(call.limit(pending::<()>()).await, Err(DeadlineError));
        assert_eq!(started.elapsed(), 3 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn a_ready_result_wins_over_an_expired_deadline() {
        let deadline = Deadline::after(Duration::ZERO);
        assert!(deadline.is_over());
        assert_eq!(deadline.limit(ready(7)).await, Ok(7));
    }

    #[tokio::test]
    async fn a_future_that_uses_up_the_budget_of_its_task_does_not_outlive_its_deadline() {
        let busy = async {
            loop {
                tokio::task::coop::consume_budget().await;
            }
        };
        let deadline = Deadline::after(Duration::from_millis(10));
        assert_eq!(
            deadline.limit::<futures_util::future::BoxFuture<'_, ()>>(Box::pin(busy)).await,
            Err(DeadlineError)
        );
    }

    #[test]
    fn no_duration_is_too_long_for_the_clock() {
        assert!(!Deadline::after(Duration::MAX).is_over());
    }
}
