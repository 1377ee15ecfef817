//! A time-out for waits during which nothing moves.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// A timer that is set once and moved only when it fires, so that a byte in between only costs reading the
/// clock.
#[derive(Default)]
pub struct Stall(Option<Pin<Box<Sleep>>>);

impl Stall {
    /// Ready when nothing has moved since `since` for as long as `after`.
    pub fn poll(&mut self, since: Instant, after: Duration, cx: &mut Context<'_>) -> Poll<()> {
        let Some(deadline) = since.checked_add(after) else { return Poll::Pending };
        let timer = self.0.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        // It may fire for an earlier wait.
        while timer.deadline() < deadline {
            ready!(timer.as_mut().poll(cx));
            timer.as_mut().reset(deadline);
        }
        timer.as_mut().poll(cx)
    }
}
