//! One client.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::ending::Ending;
use tessera::EarlyDataStatus;
use tessera_kit::facts::{ConnectionFacts, SocketFacts};
use tessera_kit::report::Report;
use tessera_tokio::{Acceptor, ServerStream};
use tokio::net::TcpStream;

use super::{echo, http};
use crate::counted::Counted;
use crate::options::Answer;

/// A client's stream, with what was learned on the way.
pub(super) struct Client {
    pub(super) stream: ServerStream<Counted<TcpStream>>,
    pub(super) address: SocketAddr,
    started: Instant,
    handshake: Option<Duration>,
}

/// What the clients of a server share.
pub(super) struct Server {
    pub(super) acceptor: Acceptor,
    pub(super) answer: Answer,
    pub(super) report: Arc<Report>,
    /// Becomes true when the server ends.
    pub(super) ending: Ending,
}

impl Server {
    /// Serves a client to its end, and tells about it.
    pub(super) async fn serve(&self, socket: TcpStream, address: SocketAddr) {
        // Without it only the answer is slower.
        let _ = socket.set_nodelay(true);
        let mut ending = self.ending.clone();
        let stream = match self.acceptor.start(Counted::new(socket)) {
            Ok(stream) => stream,
            Err(error) => return self.report.line(&format_args!("{address}: {error}")),
        };
        let mut client = Client { stream, address, started: Instant::now(), handshake: None };
        let result = client.serve(self.answer, &mut ending).await;
        self.report.tell(&client.facts(result.err()));
    }
}

impl Client {
    async fn serve(&mut self, answer: Answer, ending: &mut Ending) -> io::Result<()> {
        tokio::select! {
            handshake = self.handshake() => handshake?,
            // Whoever is not through yet will come again.
            () = ending.begun() => return Ok(()),
        }
        match answer {
            Answer::Echo => echo::answer(self, ending).await,
            Answer::Http => http::answer(self, ending).await,
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
    pub(super) fn facts(&self, error: Option<io::Error>) -> ConnectionFacts {
        let counted = self.stream.get_ref();
        let socket = SocketFacts {
            address: Some(self.address),
            received: counted.received,
            sent: counted.sent,
            handshake: self.handshake,
            total: self.started.elapsed(),
            error: error.map(|error| error.to_string()),
        };
        ConnectionFacts::new(self.stream.facts(), socket)
    }
}
