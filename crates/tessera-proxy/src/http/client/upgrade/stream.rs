//! The stream after an upgrade.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tessera_tokio::TrackedStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;

use crate::http::client::connect::Stream;
use crate::http::client::connection::Lease;
use crate::http::upgrade::{Http2Stream, Leftover};
use crate::socket::either_stream;

/// The stream to a server that switched protocols, with the bytes that arrived together with its response. Holds its
/// place among the pool's [`upgrades`](super::super::PoolOptions::upgrades).
pub struct UpgradedStream {
    carrier: Carrier,
    _permit: OwnedSemaphorePermit,
    _lease: Option<Lease>,
}

enum Carrier {
    Http1(TrackedStream<Stream, Leftover>),
    Http2(Http2Stream),
}

either_stream!(Carrier: Http1, Http2);

impl UpgradedStream {
    pub(super) fn http1(
        stream: TrackedStream<Stream, Leftover>,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self { carrier: Carrier::Http1(stream), _permit: permit, _lease: None }
    }

    pub(super) fn http2(stream: Http2Stream, permit: OwnedSemaphorePermit, lease: Lease) -> Self {
        Self { carrier: Carrier::Http2(stream), _permit: permit, _lease: Some(lease) }
    }
}

impl AsyncRead for UpgradedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().carrier).poll_read(cx, buffer)
    }
}

impl AsyncWrite for UpgradedStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().carrier).poll_write(cx, data)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().carrier).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().carrier).poll_shutdown(cx)
    }
}

impl fmt::Debug for UpgradedStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpgradedStream").finish_non_exhaustive()
    }
}
