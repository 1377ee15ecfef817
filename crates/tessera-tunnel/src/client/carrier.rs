//! The connection to the server that carries a program's connection, and its counters.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tessera_tokio::{EarlyDataOutcome, FirstFlight};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use super::verdict::ServerState;
use crate::metrics::{EarlyDataVerdict, HandshakeKind, TunnelMetrics};

/// A stream to the server that counts bytes and the outcome of its handshake. It fails in both directions once a reload
/// withdraws the server's trust.
pub(super) struct Carrier<IO> {
    stream: FirstFlight<IO>,
    metrics: Arc<TunnelMetrics>,
    /// When the connection was made; `None` once its handshake is counted.
    began: Option<Instant>,
    is_withdrawn: bool,
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Carrier<IO> {
    /// Wraps a stream before its handshake.
    pub(super) fn new(stream: FirstFlight<IO>, metrics: Arc<TunnelMetrics>) -> Self {
        Self { stream, metrics, began: Some(Instant::now()), is_withdrawn: false }
    }

    /// Wraps a stream whose handshake is already counted.
    pub(super) fn handshaken(stream: FirstFlight<IO>, metrics: Arc<TunnelMetrics>) -> Self {
        Self { stream, metrics, began: None, is_withdrawn: false }
    }

    /// Returns the stream below TLS.
    pub(super) fn get_ref(&self) -> &IO {
        self.stream.get_ref()
    }

    /// Returns what is known at the end; an incomplete handshake counts as failed.
    pub(super) fn end(&mut self) -> ServerState {
        self.notice();
        let early_data = self.stream.early_data();
        if self.began.take().is_some() {
            self.metrics.handshakes.count(HandshakeKind::Failed);
            self.count_early_data(early_data);
        }
        let facts = self.stream.facts();
        let handshake = facts.handshake_complete.then(|| HandshakeKind::of(facts));
        ServerState { handshake, early_data, is_withdrawn: self.is_withdrawn }
    }

    fn check(&mut self) -> io::Result<()> {
        // A handshake in progress fails by itself.
        if self.began.is_none() && (self.is_withdrawn || self.stream.is_withdrawn()) {
            self.is_withdrawn = true;
            let what = "the server is no longer allowed";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
        }
        Ok(())
    }

    /// Counts the handshake when it is complete.
    fn notice(&mut self) {
        let Some(began) = self.began else { return };
        let facts = self.stream.facts();
        if facts.handshake_complete {
            self.metrics.handshake(facts, began.elapsed());
            self.began = None;
            self.count_early_data(self.stream.early_data());
        }
    }

    fn count_early_data(&self, early: EarlyDataOutcome) {
        if let Some(verdict) = EarlyDataVerdict::of(early) {
            self.metrics.early_data.count(verdict);
            self.metrics.early_data_bytes.inc_by(early.accepted as u64);
        }
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncRead for Carrier<IO> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.check()?;
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, buffer);
        let count = buffer.filled().len() - before;
        if count > 0 {
            this.metrics.received_bytes.inc_by(count as u64);
        }
        this.notice();
        read
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Carrier<IO> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.check()?;
        let written = Pin::new(&mut this.stream).poll_write(cx, data);
        if let Poll::Ready(Ok(count)) = written {
            this.metrics.sent_bytes.inc_by(count as u64);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
