//! The single timer of a connection.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use super::ServerOptions;

/// Fires when something is due, or slightly later if many things may be.
pub(super) struct Alarm(Pin<Box<Sleep>>);

impl Alarm {
    pub(super) fn at(instant: Instant) -> Self {
        Self(Box::pin(sleep_until(instant)))
    }

    /// Fires at `due` at the latest.
    pub(super) fn no_later_than(&mut self, due: Instant) {
        if due < self.0.deadline() {
            self.0.as_mut().reset(due);
        }
    }

    /// After it has fired, it must be set again.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }

    pub(super) fn set(&mut self, due: Instant) {
        self.0.as_mut().reset(due);
    }
}

/// How often to check open exchanges: this limits the precision of all time limits, but no exchange needs its own
/// timer.
pub(super) fn tick(options: &ServerOptions) -> Duration {
    let shortest = options.request_time.min(options.exchange_time).min(options.stall_time);
    (shortest / 8).clamp(Duration::from_millis(5), Duration::from_secs(1))
}
