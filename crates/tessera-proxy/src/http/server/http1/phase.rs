//! What an HTTP/1.1 connection waits for.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tessera_tokio::{StreamUse, Tracker};
use tokio::time::Instant;

use super::super::{Cause, ServerOptions};
use crate::http::body::{Body, BodyError};
use crate::http::deadline::after;

/// Shared by a connection, its stream and its answers.
#[derive(Clone)]
pub(super) struct Phase(Arc<Mutex<State>>);

#[derive(Clone, Copy)]
enum State {
    /// A request.
    Idle(Instant),
    /// The rest of a head.
    Head(Instant),
    /// The end of an answer.
    Answer(Instant),
    /// The client to read the rest of an answer.
    Flush(Instant),
}

impl Phase {
    pub(super) fn begin() -> Self {
        Self(Arc::new(Mutex::new(State::Idle(Instant::now()))))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_idle(&self) -> bool {
        matches!(*self.lock(), State::Idle(_))
    }

    /// Notes a complete head; returns the time.
    pub(super) fn request(&self) -> Instant {
        let now = Instant::now();
        *self.lock() = State::Answer(now);
        now
    }

    /// Returns when the current wait times out; an error if it has.
    pub(super) fn due(&self, now: Instant, options: &ServerOptions) -> Result<Instant, Cause> {
        let (due, cause) = match *self.lock() {
            State::Idle(since) => (after(since, options.idle_time), Cause::Idle),
            State::Head(since) => (after(since, options.head_time), Cause::SlowHead),
            State::Answer(since) | State::Flush(since) => {
                (after(since, options.exchange_time), Cause::SlowExchange)
            }
        };
        if now < due { Ok(due) } else { Err(cause) }
    }
}

/// The stream reports when a head begins, and when an answer was sent.
impl<IO> Tracker<IO> for Phase {
    fn after(
        &mut self,
        _: &mut IO,
        what: StreamUse,
        moved: Poll<io::Result<usize>>,
        _: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let mut state = self.lock();
        match (what, &moved, *state) {
            (StreamUse::Read, Poll::Ready(Ok(1..)), State::Idle(_)) => {
                *state = State::Head(Instant::now());
            }
            (StreamUse::Flush, Poll::Ready(_), State::Flush(_)) => {
                *state = State::Idle(Instant::now());
            }
            _ => {}
        }
        drop(state);
        moved
    }
}

/// The body of an answer: hyper drops it when it has read all of it, and then flushes.
pub(super) struct Answer {
    body: Body,
    phase: Phase,
}

impl Answer {
    pub(super) fn new(body: Body, phase: Phase) -> Self {
        Self { body, phase }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let mut state = self.phase.lock();
        if let State::Answer(since) = *state {
            *state = State::Flush(since);
        }
    }
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
