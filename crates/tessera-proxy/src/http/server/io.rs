//! The stream below HTTP: it starts with the bytes read to detect the protocol, and its writes have a time limit.

use std::io;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use tessera_tokio::{Stall, StreamUse, TrackedStream, Tracker};
use tokio::io::ReadBuf;
use tokio::time::Instant;

use super::connection_summary::StalledWrite;
use crate::http::upgrade::Leftover;

/// A stream with a time limit on writes.
pub(super) type Io<S> = TrackedStream<S, WriteState>;

/// The bytes that were already read, and the time limit on writes.
pub(super) struct WriteState {
    leftover: Leftover,
    stall: Duration,
    /// Since when a write is blocked.
    blocked: Option<Instant>,
    timer: Stall,
}

impl WriteState {
    pub(super) fn new(leftover: Bytes, stall: Duration) -> Self {
        Self { leftover: Leftover::new(leftover), stall, blocked: None, timer: Stall::default() }
    }

    /// Takes back bytes that HTTP didn't use.
    pub(super) fn unread(&mut self, bytes: Bytes) {
        self.leftover.prepend(bytes);
    }
}

impl<S> Tracker<S> for WriteState {
    fn precede(&mut self, buffer: &mut ReadBuf<'_>) -> bool {
        self.leftover.read(buffer)
    }

    fn after(
        &mut self,
        _: &mut S,
        what: StreamUse,
        moved: Poll<io::Result<usize>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if what == StreamUse::Read {
            return moved;
        }
        if moved.is_ready() {
            self.blocked = None;
            return moved;
        }
        let since = *self.blocked.get_or_insert_with(Instant::now);
        ready!(self.timer.poll(since, self.stall, cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, StalledWrite)))
    }
}
