//! A client's stream, with what was learned on the way.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tessera::EarlyDataStatus;
use tessera_kit::facts::{ConnectionFacts, SocketFacts};
use tessera_kit::report::Report;
use tessera_tokio::{AcceptedClient, ClientSocket, Ending, ServerStream, TimedOut};

/// A client's stream, with what was learned on the way.
pub(super) struct Client {
    pub(super) stream: ServerStream<ClientSocket>,
    pub(super) ending: Ending,
    address: SocketAddr,
    started: Instant,
    handshake: Option<Duration>,
}

impl Client {
    pub(super) fn new(accepted: AcceptedClient) -> Self {
        let AcceptedClient { stream, address, ending, .. } = accepted;
        Self { stream, ending, address, started: Instant::now(), handshake: None }
    }

    /// Shakes hands. Early data is answered before the handshake is complete: both answers do no more
    /// when they are given twice.
    pub(super) async fn handshake(&mut self) -> io::Result<()> {
        self.stream.writable().await?;
        if self.stream.facts().early_data != EarlyDataStatus::Accepted {
            self.stream.handshake().await?;
        }
        self.note_handshake();
        Ok(())
    }

    /// Notes when the handshake was complete.
    pub(super) fn note_handshake(&mut self) {
        if self.handshake.is_none() && self.stream.is_handshake_complete() {
            self.handshake = Some(self.started.elapsed());
        }
    }

    /// Why the server's limits ended it, if they did.
    pub(super) fn timed_out(&self) -> Option<TimedOut> {
        self.stream.get_ref().timed_out()
    }

    /// Tells about the connection, which has ended.
    pub(super) fn tell(&self, result: io::Result<()>, report: &Report) {
        let why = |error: io::Error| {
            self.timed_out().map_or_else(|| error.to_string(), |it| it.to_string())
        };
        report.tell(&self.facts(result.err().map(why)));
    }

    /// What is known until now.
    pub(super) fn facts(&self, error: Option<String>) -> ConnectionFacts {
        let counted = self.stream.get_ref();
        let socket = SocketFacts {
            address: Some(self.address),
            received: counted.received(),
            sent: counted.sent(),
            handshake: self.handshake,
            total: self.started.elapsed(),
            error,
        };
        ConnectionFacts::new(self.stream.facts(), socket)
    }
}
