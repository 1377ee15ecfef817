//! The connection to the server that carries a program's connection, and its counters.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use tessera_proxy::socket::Socket;
use tessera_tokio::{
    EarlyDataOutcome, FirstFlight, StreamUse, TimedSocket, TrackedStream, Tracker,
};
use tokio::time::Instant;

use super::verdict::ServerState;
use crate::metrics::{EarlyDataVerdict, HandshakeKind, TunnelMetrics};

/// A stream to the server that counts bytes and the outcome of its handshake. It fails in both directions once a reload
/// withdraws the server's trust.
pub(super) type Carrier = TrackedStream<Stream, Watch>;

type Stream = FirstFlight<TimedSocket<Socket>>;

/// The state of a stream's handshake.
pub(super) struct Watch {
    metrics: Arc<TunnelMetrics>,
    /// When the connection was made; `None` once its handshake is counted.
    began: Option<Instant>,
    is_withdrawn: bool,
}

impl Watch {
    /// Watches a stream before its handshake.
    pub(super) fn new(metrics: Arc<TunnelMetrics>) -> Self {
        Self { metrics, began: Some(Instant::now()), is_withdrawn: false }
    }

    /// Watches a stream whose handshake is already counted.
    pub(super) fn handshaken(metrics: Arc<TunnelMetrics>) -> Self {
        Self { metrics, began: None, is_withdrawn: false }
    }

    /// Returns what is known at the end; an incomplete handshake counts as failed.
    pub(super) fn end(&mut self, stream: &Stream) -> ServerState {
        self.notice(stream);
        let early_data = stream.early_data();
        if self.began.take().is_some() {
            self.metrics.handshakes.count(HandshakeKind::Failed);
            self.count_early_data(early_data);
        }
        let facts = stream.facts();
        let handshake = facts.handshake_complete.then(|| HandshakeKind::of(facts));
        ServerState { handshake, early_data, is_withdrawn: self.is_withdrawn }
    }

    /// Counts the handshake when it is complete.
    fn notice(&mut self, stream: &Stream) {
        let Some(began) = self.began else { return };
        let facts = stream.facts();
        if facts.handshake_complete {
            self.metrics.handshake(facts, began.elapsed());
            self.began = None;
            self.count_early_data(stream.early_data());
        }
    }

    fn count_early_data(&self, early: EarlyDataOutcome) {
        if let Some(verdict) = EarlyDataVerdict::of(early) {
            self.metrics.early_data.count(verdict);
            self.metrics.early_data_bytes.inc_by(early.accepted as u64);
        }
    }
}

impl Tracker<Stream> for Watch {
    fn before(&mut self, stream: &mut Stream, what: StreamUse) -> io::Result<()> {
        let moves = matches!(what, StreamUse::Read | StreamUse::Write);
        // A handshake in progress fails by itself.
        if moves && self.began.is_none() && (self.is_withdrawn || stream.is_withdrawn()) {
            self.is_withdrawn = true;
            let what = "the server is no longer allowed";
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
        if let Poll::Ready(Ok(count)) = moved {
            let metrics = &self.metrics;
            let bytes = match what {
                StreamUse::Read => &metrics.received_bytes,
                _ => &metrics.sent_bytes,
            };
            bytes.inc_by(count as u64);
        }
        if what == StreamUse::Read {
            self.notice(stream);
        }
        moved
    }
}
