//! One client: its stream, with what was learned on the way.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tessera::EarlyDataStatus;
use tessera_kit::facts::{ConnectionFacts, SocketFacts};
use tessera_kit::report::Report;
use tessera_tokio::{AcceptedClient, ClientSocket, Ending, ServerStream, TimedOut};
use tokio::io::AsyncWriteExt;

use super::{echo, http};
use crate::options::Answer;

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

    /// Serves it to its end, and tells about it.
    pub(super) async fn serve(mut self, answer: Answer, report: &Report) {
        let result = self.answer(answer).await;
        let timed_out = self.stream.get_ref().timed_out();
        if timed_out == Some(TimedOut::Idle) {
            // Nothing is missing: the client may know.
            let _ = self.stream.shutdown().await;
        }
        let why =
            |error: io::Error| timed_out.map_or_else(|| error.to_string(), |it| it.to_string());
        report.tell(&self.facts(result.err().map(why)));
    }

    async fn answer(&mut self, answer: Answer) -> io::Result<()> {
        let mut ending = self.ending.clone();
        tokio::select! {
            handshake = self.handshake() => handshake?,
            // Whoever is not through yet will come again.
            () = ending.begun() => return Ok(()),
        }
        match answer {
            Answer::Echo => echo::answer(self).await,
            Answer::Http => http::answer(self).await,
        }
    }

    /// Shakes hands. Early data is answered before the handshake is complete: both answers do no more
    /// when they are given twice.
    async fn handshake(&mut self) -> io::Result<()> {
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
