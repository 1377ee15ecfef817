//! A client's stream, with what was learned on the way.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tessera::EarlyDataStatus;
use tessera_kit::facts::{ConnectionFacts, SocketFacts};
use tessera_tokio::{AcceptedClient, ClientSocket, Ending, ServerStream};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use crate::receive::receive;

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

    /// Says goodbye first, and waits a moment for the client's: what comes to a closed socket resets the
    /// connection, and the client may lose what it has not read yet.
    pub(super) async fn leave(&mut self) -> io::Result<()> {
        // An answer to early data may have left before. The next ticket follows the end of the handshake.
        self.stream.handshake().await?;
        self.note_handshake();
        self.stream.shutdown().await?;
        let until_its_end = async {
            while !receive(&mut self.stream).await?.is_empty() {}
            Ok(())
        };
        timeout(LAST_WORDS, until_its_end).await.unwrap_or(Ok(()))
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

/// How long a client may take to end a connection that the server has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);
