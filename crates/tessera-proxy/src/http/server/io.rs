//! The stream below HTTP: what was read to find out the protocol comes first, and no write waits for ever.

use std::io;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use tessera_tokio::{Stall, StreamUse, TrackedStream, Tracker};
use tokio::io::ReadBuf;
use tokio::time::Instant;

use super::ended::StalledWrite;

/// A stream whose writes end after some time.
pub(super) type Io<S> = TrackedStream<S, Writes>;

/// What was read already, and how long a write may wait.
pub(super) struct Writes {
    prefix: Bytes,
    stall: Duration,
    /// Since when there is something to write and no room for it.
    blocked: Option<Instant>,
    timer: Stall,
}

impl Writes {
    pub(super) fn new(prefix: Bytes, stall: Duration) -> Self {
        Self { prefix, stall, blocked: None, timer: Stall::default() }
    }
}

impl<S> Tracker<S> for Writes {
    fn precede(&mut self, buffer: &mut ReadBuf<'_>) -> bool {
        if self.prefix.is_empty() {
            return false;
        }
        let count = self.prefix.len().min(buffer.remaining());
        buffer.put_slice(&self.prefix[..count]);
        self.prefix.advance(count);
        if self.prefix.is_empty() {
            self.prefix = Bytes::new();
        }
        true
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
