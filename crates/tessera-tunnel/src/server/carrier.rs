//! A client's stream on its way to the backend.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use tessera::Facts;
use tessera_proxy::socket::Socket;
use tessera_tokio::{ClientSocket, ServerStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::metrics::{HandshakeKind, TunnelMetrics};

/// A client's stream that counts bytes, notices the end of its handshake, and fails when a reload withdraws what it
/// relies on.
pub(super) struct Carrier {
    stream: ServerStream<ClientSocket<Socket>>,
    metrics: Arc<TunnelMetrics>,
    /// When the handshake began; `None` once it is counted.
    began: Option<Instant>,
    pub(super) received: u64,
    pub(super) sent: u64,
    pub(super) is_withdrawn: bool,
}

impl Carrier {
    pub(super) fn new(
        stream: ServerStream<ClientSocket<Socket>>,
        metrics: Arc<TunnelMetrics>,
        began: Instant,
    ) -> Self {
        let began = Some(began);
        Self { stream, metrics, began, received: 0, sent: 0, is_withdrawn: false }
    }

    pub(super) fn facts(&self) -> &Facts {
        self.stream.facts()
    }

    /// Waits until the server's flight is written: early data can be read then.
    pub(super) async fn writable(&mut self) -> io::Result<()> {
        let done = self.stream.writable().await;
        self.notice();
        done
    }

    pub(super) async fn handshake(&mut self) -> io::Result<()> {
        let done = self.stream.handshake().await;
        self.notice();
        done
    }

    pub(super) fn is_handshake_complete(&self) -> bool {
        self.stream.is_handshake_complete()
    }

    /// Returns whether the handshake is incomplete; counts it as failed then.
    pub(super) fn end(&mut self) -> bool {
        self.notice();
        let failed = self.began.take().is_some();
        if failed {
            self.metrics.handshakes.count(HandshakeKind::Failed);
        }
        failed
    }

    /// Counts the handshake when it is complete.
    fn notice(&mut self) {
        if let Some(began) = self.began
            && self.stream.is_handshake_complete()
        {
            self.metrics.handshake(self.stream.facts(), began.elapsed());
            self.began = None;
        }
    }

    fn check(&mut self) -> io::Result<()> {
        if self.is_withdrawn || self.stream.is_withdrawn() {
            self.is_withdrawn = true;
            let what = "the peer is no longer allowed";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
        }
        Ok(())
    }
}

impl AsyncRead for Carrier {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.check()?;
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, buffer);
        let count = (buffer.filled().len() - before) as u64;
        if count > 0 {
            this.received += count;
            this.metrics.received_bytes.inc_by(count);
            if this.stream.is_early() {
                this.metrics.early_data_bytes.inc_by(count);
            }
        }
        this.notice();
        read
    }
}

impl AsyncWrite for Carrier {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.check()?;
        let written = Pin::new(&mut this.stream).poll_write(cx, data);
        if let Poll::Ready(Ok(count)) = written {
            this.sent += count as u64;
            this.metrics.sent_bytes.inc_by(count as u64);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.stream).poll_shutdown(cx);
        // After an answer to early data, the handshake completes here.
        self.notice();
        done
    }
}
