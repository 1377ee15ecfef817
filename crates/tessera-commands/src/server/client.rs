//! A client's stream, and what is known of it.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tessera::EarlyDataStatus;
use tessera_kit::facts::{ConnectionFacts, SocketFacts};
use tessera_kit::report::Report;
use tessera_tokio::fast_open::syn_data_was_taken;
use tessera_tokio::{AcceptedClient, ClientSocket, Ending, ServerStream, TimedOut};
use tokio::io::{AsyncRead, AsyncWriteExt};
use tokio::time::timeout;

use crate::receive::receive;

/// A client's stream, and what is known of it.
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

    /// Completes the handshake, unless early data was accepted, which is answered before. Neither answer does more when
    /// it is given twice.
    pub(super) async fn handshake(&mut self) -> io::Result<()> {
        self.stream.writable().await?;
        if self.stream.facts().early_data != EarlyDataStatus::Accepted {
            self.stream.handshake().await?;
        }
        self.note_handshake();
        Ok(())
    }

    /// Sends close_notify, and waits a moment for the client's: data that arrives at a closed socket resets the
    /// connection, and the client may lose what it has not read yet.
    pub(super) async fn leave(&mut self) -> io::Result<()> {
        let left = self.stream.shutdown().await;
        // If early data was answered, this completed the handshake.
        self.note_handshake();
        left?;
        until_its_end(&mut self.stream).await
    }

    /// Notes the time at which the handshake was complete.
    pub(super) fn note_handshake(&mut self) {
        if self.handshake.is_none() && self.stream.is_handshake_complete() {
            self.handshake = Some(self.started.elapsed());
        }
    }

    /// Returns which limit of the server ended it, if one did.
    pub(super) fn timed_out(&self) -> Option<TimedOut> {
        self.stream.get_ref().timed_out()
    }

    /// Reports the connection, which has ended.
    pub(super) fn tell(&self, result: io::Result<()>, report: &Report) {
        let why = |error: io::Error| {
            self.timed_out().map_or_else(|| error.to_string(), |it| it.to_string())
        };
        report.print(&self.facts(result.err().map(why)));
    }

    /// Returns what is known so far.
    pub(super) fn facts(&self, error: Option<String>) -> ConnectionFacts {
        let counted = self.stream.get_ref();
        let socket = SocketFacts {
            address: Some(self.address),
            // Null if it began without Fast Open.
            fast_open: syn_data_was_taken(counted.get_ref())
                .and_then(|was_taken| was_taken.then_some("taken")),
            syn_bytes: None,
            received: counted.received(),
            sent: counted.sent(),
            handshake: self.handshake,
            total: self.started.elapsed(),
            error,
            ..SocketFacts::default()
        };
        ConnectionFacts::new(self.stream.facts(), socket)
    }
}

/// Waits a moment for the close of a client that has received the server's. What it sends until then is lost.
pub(super) async fn until_its_end(reader: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
    let read = async {
        while !receive(reader).await?.is_empty() {}
        Ok(())
    };
    timeout(LAST_WORDS, read).await.unwrap_or(Ok(()))
}

/// How long a client may take to end a connection that the server has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);
