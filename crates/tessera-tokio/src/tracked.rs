//! A stream that is tracked: counted, watched, or judged.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What is done with a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamUse {
    /// Bytes are read.
    Read,
    /// Bytes are written.
    Write,
    /// What was written leaves.
    Flush,
    /// It ends.
    Shutdown,
}

/// What happens around each use of a [`TrackedStream`].
pub trait Tracker<S> {
    /// Before a read: puts bytes into the buffer that come before the stream's, and returns whether there were any.
    fn precede(&mut self, buffer: &mut ReadBuf<'_>) -> bool {
        let _ = buffer;
        false
    }

    /// Before it. An error takes its place.
    ///
    /// # Errors
    /// If the stream may not be used so any more.
    fn before(&mut self, stream: &mut S, what: StreamUse) -> io::Result<()> {
        let _ = (stream, what);
        Ok(())
    }

    /// After it, with how many bytes were read or written. What it returns is what the user of the stream gets.
    fn after(
        &mut self,
        stream: &mut S,
        what: StreamUse,
        moved: Poll<io::Result<usize>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let _ = (stream, what, cx);
        moved
    }
}

/// A stream with what tracks its use.
#[derive(Debug)]
pub struct TrackedStream<S, T> {
    /// The stream itself: what is done with it here isn't tracked.
    pub stream: S,
    /// What tracks it.
    pub tracker: T,
}

impl<S: Unpin, T: Tracker<S> + Unpin> TrackedStream<S, T> {
    fn track(
        self: Pin<&mut Self>,
        what: StreamUse,
        cx: &mut Context<'_>,
        poll: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let Self { stream, tracker } = self.get_mut();
        tracker.before(stream, what)?;
        let moved = poll(Pin::new(stream), cx);
        tracker.after(stream, what, moved, cx)
    }
}

impl<S: AsyncRead + Unpin, T: Tracker<S> + Unpin> AsyncRead for TrackedStream<S, T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        if self.tracker.precede(buffer) {
            return Poll::Ready(Ok(()));
        }
        let read = self.track(StreamUse::Read, cx, |stream, cx| {
            let read = stream.poll_read(cx, buffer);
            read.map_ok(|()| buffer.filled().len() - before)
        });
        read.map_ok(drop)
    }
}

impl<S: AsyncWrite + Unpin, T: Tracker<S> + Unpin> AsyncWrite for TrackedStream<S, T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.track(StreamUse::Write, cx, |stream, cx| stream.poll_write(cx, data))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.track(StreamUse::Write, cx, |stream, cx| stream.poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flush =
            |stream: Pin<&mut S>, cx: &mut Context<'_>| stream.poll_flush(cx).map_ok(|()| 0);
        self.track(StreamUse::Flush, cx, flush).map_ok(drop)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let end =
            |stream: Pin<&mut S>, cx: &mut Context<'_>| stream.poll_shutdown(cx).map_ok(|()| 0);
        self.track(StreamUse::Shutdown, cx, end).map_ok(drop)
    }
}
