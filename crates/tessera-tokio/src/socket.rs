//! The underlying stream, and the tasks that wait for it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use tessera::Output;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::fast_open::never_left;
use crate::input::Input;
use crate::wakers::{Half, Wakers};

/// The underlying stream, with the state of its two directions.
pub(crate) struct Socket<IO> {
    pub(crate) io: IO,
    /// How many bytes the stream took to send, or may have taken before it failed.
    pub(crate) handed_over: u64,
    wakers: Arc<Wakers>,
    /// Wakes both halves.
    waker: Waker,
    /// Why nothing can be sent any more. Reading continues: an alert may give the reason.
    write_error: Option<io::ErrorKind>,
    /// Something was written and may sit in a buffer of the stream.
    unflushed: bool,
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Socket<IO> {
    pub(crate) fn new(io: IO) -> Self {
        let wakers = Arc::new(Wakers::default());
        let waker = Waker::from(wakers.clone());
        Self { io, handed_over: 0, wakers, waker, write_error: None, unflushed: false }
    }

    /// Registers the waiting task, before the stream is polled on behalf of both halves.
    pub(crate) fn register(&self, half: Half, cx: &Context<'_>) {
        self.wakers.register(half, cx.waker());
    }

    /// Wakes both halves: one may be waiting for what the other half did.
    pub(crate) fn wake_all(&self) {
        self.wakers.wake_all();
    }

    /// Wakes the half that is not driving at the moment.
    pub(crate) fn wake_other(&self, half: Half) {
        self.wakers.wake_other(half);
    }

    /// Returns the waker of both halves.
    pub(crate) fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Whether [`poll_send`](Self::poll_send) has anything to do.
    pub(crate) fn has_to_send(&self, output: &Output) -> bool {
        self.unflushed || !output.is_empty()
    }

    /// Sends all of the output. What can't be sent any more is dropped, and
    /// [`check_writable`](Self::check_writable) reports it.
    pub(crate) fn poll_send(&mut self, output: &mut Output) -> Poll<()> {
        let mut cx = Context::from_waker(&self.waker);
        while !output.is_empty() && self.write_error.is_none() {
            match ready!(Pin::new(&mut self.io).poll_write(&mut cx, output.as_slice())) {
                Ok(0) => self.write_error = Some(io::ErrorKind::WriteZero),
                Ok(count) => {
                    output.consume(count);
                    self.handed_over += count as u64;
                    self.unflushed = true;
                }
                Err(error) => {
                    // Not every stream knows how much of it was sent.
                    if !never_left(&error) {
                        self.handed_over += output.as_slice().len() as u64;
                    }
                    self.write_error = Some(error.kind());
                }
            }
        }
        if self.write_error.is_some() {
            output.consume(output.as_slice().len());
            self.unflushed = false;
        }
        if self.unflushed {
            if let Err(error) = ready!(Pin::new(&mut self.io).poll_flush(&mut cx)) {
                self.write_error = Some(error.kind());
            }
            self.unflushed = false;
        }
        Poll::Ready(())
    }

    /// Whether anything can still be sent.
    pub(crate) fn check_writable(&self) -> io::Result<()> {
        self.write_error.map_or(Ok(()), |kind| Err(kind.into()))
    }

    /// Receives once; 0 is the end of the stream.
    pub(crate) fn poll_receive(
        &mut self,
        waker: &Waker,
        input: &mut Input,
    ) -> Poll<io::Result<usize>> {
        let mut cx = Context::from_waker(waker);
        let mut buffer = ReadBuf::new(input.room());
        ready!(Pin::new(&mut self.io).poll_read(&mut cx, &mut buffer))?;
        let count = buffer.filled().len();
        input.received(count);
        Poll::Ready(Ok(count))
    }

    /// Receives once and drops the bytes; 0 is the end of the stream.
    pub(crate) fn poll_drain(&mut self) -> Poll<io::Result<usize>> {
        let mut cx = Context::from_waker(&self.waker);
        let mut bytes = [0; 4096];
        let mut buffer = ReadBuf::new(&mut bytes);
        ready!(Pin::new(&mut self.io).poll_read(&mut cx, &mut buffer))?;
        Poll::Ready(Ok(buffer.filled().len()))
    }

    /// Ends this side's direction of the stream.
    pub(crate) fn poll_shutdown(&mut self) -> Poll<io::Result<()>> {
        let mut cx = Context::from_waker(&self.waker);
        Pin::new(&mut self.io).poll_shutdown(&mut cx)
    }
}
