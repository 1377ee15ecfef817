//! The stream below HTTP: what was read to find out the protocol comes first, and no write waits for ever.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use super::ended::StalledWrite;
use crate::http::deadline::after;

/// A stream whose writes end after `stall`.
pub(super) struct Io<S> {
    inner: S,
    /// Read already.
    prefix: Bytes,
    stall: Duration,
    /// Since when there is something to write and no room for it.
    blocked: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S> Io<S> {
    pub(super) fn new(inner: S, prefix: Bytes, stall: Duration) -> Self {
        Self { inner, prefix, stall, blocked: None, timer: None }
    }

    /// What a write or a flush says, unless it has waited for too long.
    fn limit<T>(&mut self, cx: &mut Context<'_>, poll: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if poll.is_ready() {
            self.blocked = None;
            return poll;
        }
        let end = after(*self.blocked.get_or_insert_with(Instant::now), self.stall);
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(end)));
        // It is set once and moved only when it rings.
        while timer.deadline() < end {
            ready!(timer.as_mut().poll(cx));
            timer.as_mut().reset(end);
        }
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, StalledWrite)))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Io<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.prefix.is_empty() {
            return Pin::new(&mut this.inner).poll_read(cx, buffer);
        }
        let count = this.prefix.len().min(buffer.remaining());
        buffer.put_slice(&this.prefix[..count]);
        this.prefix.advance(count);
        if this.prefix.is_empty() {
            this.prefix = Bytes::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Io<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let poll = Pin::new(&mut this.inner).poll_write(cx, data);
        this.limit(cx, poll)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let poll = Pin::new(&mut this.inner).poll_write_vectored(cx, slices);
        this.limit(cx, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let poll = Pin::new(&mut this.inner).poll_flush(cx);
        this.limit(cx, poll)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let poll = Pin::new(&mut this.inner).poll_shutdown(cx);
        this.limit(cx, poll)
    }
}
