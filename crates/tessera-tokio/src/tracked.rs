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

    /// After a read or a write, with its bytes.
    fn record(&mut self, what: StreamUse, bytes: &[u8]) {
        let _ = (what, bytes);
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
        self: &mut Pin<&mut Self>,
        what: StreamUse,
        cx: &mut Context<'_>,
        poll: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let Self { stream, tracker } = &mut **self;
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
        read.map_ok(|_| self.tracker.record(StreamUse::Read, &buffer.filled()[before..]))
    }
}

impl<S: AsyncWrite + Unpin, T: Tracker<S> + Unpin> AsyncWrite for TrackedStream<S, T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = self.track(StreamUse::Write, cx, |stream, cx| stream.poll_write(cx, data));
        written.map_ok(|count| {
            self.tracker.record(StreamUse::Write, &data[..count]);
            count
        })
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let write =
            |stream: Pin<&mut S>, cx: &mut Context<'_>| stream.poll_write_vectored(cx, slices);
        self.track(StreamUse::Write, cx, write).map_ok(|count| {
            let mut rest = count;
            for slice in slices {
                let (written, _) = slice.split_at(rest.min(slice.len()));
                self.tracker.record(StreamUse::Write, written);
                rest -= written.len();
            }
            count
        })
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flush =
            |stream: Pin<&mut S>, cx: &mut Context<'_>| stream.poll_flush(cx).map_ok(|()| 0);
        self.track(StreamUse::Flush, cx, flush).map_ok(drop)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let end =
            |stream: Pin<&mut S>, cx: &mut Context<'_>| stream.poll_shutdown(cx).map_ok(|()| 0);
        self.track(StreamUse::Shutdown, cx, end).map_ok(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use tokio::io::AsyncWriteExt;

    use super::*;

    struct Recorder(Vec<u8>);

    impl<S> Tracker<S> for Recorder {
        fn record(&mut self, _: StreamUse, bytes: &[u8]) {
            self.0.extend_from_slice(bytes);
        }
    }

    #[tokio::test]
    async fn of_several_slices_only_what_was_written_is_recorded() {
        let stream = Cursor::new(Box::from([0; 4]));
        let mut tracked = TrackedStream { stream, tracker: Recorder(Vec::new()) };
        let slices = ["ab", "cde", "f"].map(|slice| IoSlice::new(slice.as_bytes()));
        assert_eq!(tracked.write_vectored(&slices).await.unwrap(), 4);
        assert_eq!(tracked.tracker.0, b"abcd");
    }
}
