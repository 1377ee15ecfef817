//! A client's stream on its way to the backend.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use tessera_proxy::socket::Socket;
use tessera_tokio::{ClientSocket, ServerStream, StreamUse, TrackedStream, Tracker};

use crate::metrics::{HandshakeKind, TunnelMetrics};

/// A client's stream that counts bytes, notices the end of its handshake, and fails when a reload withdraws what it
/// relies on.
pub(super) type Carrier = TrackedStream<Stream, Watch>;

type Stream = ServerStream<ClientSocket<Socket>>;

/// What a client's stream has carried, and the state of its handshake.
pub(super) struct Watch {
    metrics: Arc<TunnelMetrics>,
    /// When the handshake began; `None` once it is counted.
    began: Option<Instant>,
    pub(super) received: u64,
    pub(super) sent: u64,
    pub(super) is_withdrawn: bool,
}

impl Watch {
    pub(super) fn new(metrics: Arc<TunnelMetrics>, began: Instant) -> Self {
        Self { metrics, began: Some(began), received: 0, sent: 0, is_withdrawn: false }
    }

    /// Returns whether the handshake is incomplete; counts it as failed then.
    pub(super) fn end(&mut self, stream: &Stream) -> bool {
        self.notice(stream);
        let failed = self.began.take().is_some();
        if failed {
            self.metrics.handshakes.count(HandshakeKind::Failed);
        }
        failed
    }

    /// Counts the handshake when it is complete.
    pub(super) fn notice(&mut self, stream: &Stream) {
        if let Some(began) = self.began
            && stream.is_handshake_complete()
        {
            self.metrics.handshake(stream.facts(), began.elapsed());
            self.began = None;
        }
    }
}

impl Tracker<Stream> for Watch {
    fn before(&mut self, stream: &mut Stream, what: StreamUse) -> io::Result<()> {
        let moves = matches!(what, StreamUse::Read | StreamUse::Write);
        if moves && (self.is_withdrawn || stream.is_withdrawn()) {
            self.is_withdrawn = true;
            let what = "the peer is no longer allowed";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
        }
        Ok(())
    }

    fn after(
        &mut self,
        stream: &mut Stream,
        what: StreamUse,
        moved: Poll<io::Result<usize>>,
        _: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(count @ 1..)) = moved {
            let count = count as u64;
            if what == StreamUse::Read {
                self.received += count;
                self.metrics.received_bytes.inc_by(count);
                if stream.is_early() {
                    self.metrics.early_data_bytes.inc_by(count);
                }
            } else {
                self.sent += count;
                self.metrics.sent_bytes.inc_by(count);
            }
        }
        // After an answer to early data, the handshake completes at the shutdown.
        self.notice(stream);
        moved
    }
}
