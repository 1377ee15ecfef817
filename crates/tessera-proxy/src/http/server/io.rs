//! The stream below HTTP: it starts with the bytes read to detect the protocol, and its writes have a time limit.

use std::io;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use tessera_tokio::{Stall, StreamUse, TrackedStream, Tracker};
use tokio::io::ReadBuf;
use tokio::time::Instant;

use super::connection_summary::StalledWrite;

/// A stream with a time limit on writes.
pub(super) type Io<S> = TrackedStream<S, WriteState>;

/// The bytes that were already read, and the time limit on writes.
pub(super) struct WriteState {
    prefix: Bytes,
    stall: Duration,
    /// Since when a write is blocked.
    blocked: Option<Instant>,
    timer: Stall,
}

impl WriteState {
    pub(super) fn new(prefix: Bytes, stall: Duration) -> Self {
        Self { prefix, stall, blocked: None, timer: Stall::default() }
    }
}

impl<S> Tracker<S> for WriteState {
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
