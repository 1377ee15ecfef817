//! A server as a listener, for programs with their own accept loop: axum's, tonic's.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use tessera::Facts;
use tessera::handshake::EarlyDataStatus;
use tessera::resume::PskKind;
use tokio::task::JoinSet;

use super::socket::ClientSocket;
use super::{Server, next, start};
use crate::stream::ServerStream;
use crate::tracked::{TrackedStream, Tracker};
use crate::watch::HandshakeWatch;

/// Yields the clients of a [`Server`] one by one, each as soon as its requests may be executed.
///
/// - A client with forward-secret early data is returned when the server's flight is built: its request has
///   arrived, half a round trip before the handshake is complete.
/// - Any other client is returned when its handshake is complete, so that [`StreamInfo::facts`] identifies
///   it. That costs no time, because the client sends nothing earlier.
/// - A client with replayable early data also waits for the end of the handshake, unless
///   [`with_replayable_early_data`](Self::with_replayable_early_data) declares that requests are checked.
///
/// Each handshake has its own task, so none blocks another. These tasks and the listener end when this is
/// dropped. Clients already returned stay, and ending them is up to their owner: `Limits::drain` only applies
/// to [`Server::run`].
///
/// With the feature `axum` it is a listener of `axum::serve`, and with `tonic` the stream of clients that
/// `serve_with_incoming` takes.
pub struct TlsListener {
    server: Server,
    handshakes: JoinSet<io::Result<ListenerStream>>,
    takes_replayable: bool,
}

impl TlsListener {
    /// Makes a listener that yields the clients of this server.
    pub fn new(server: Server) -> Self {
        Self { server, handshakes: JoinSet::new(), takes_replayable: false }
    }

    /// Returns clients with replayable early data before their handshakes are complete, too. Their requests
    /// may be replays: each must be marked and checked (`http::check`, with the feature `http`), as the
    /// middleware of the feature `axum` does.
    #[must_use]
    pub fn with_replayable_early_data(mut self) -> Self {
        self.takes_replayable = true;
        self
    }

    /// Returns the address it listens on.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.server.listener.local_addr()
    }

    /// Returns the next client. Dropping the future loses none.
    pub async fn accept(&mut self) -> ListenerStream {
        let Self { server, handshakes, takes_replayable } = self;
        let takes_replayable = *takes_replayable;
        loop {
            let mut next = pin!(next(&server.listener, &server.gate));
            // Finished handshakes first: they hold places that others wait for.
            let through = poll_fn(|cx| {
                while let Poll::Ready(Some(done)) = handshakes.poll_join_next(cx) {
                    // A client whose handshake failed got an alert.
                    if let Ok(Ok(stream)) = done {
                        return Poll::Ready(Ok(stream));
                    }
                }
                next.as_mut().poll(cx).map(Err)
            });
            let client = match through.await {
                Ok(stream) => return stream,
                Err(client) => client,
            };
            if let Some((stream, address)) = start(client, &server.acceptor) {
                handshakes.spawn(shake_hands(stream, address, takes_replayable));
            }
        }
    }
}

async fn shake_hands(
    mut stream: ServerStream<ClientSocket>,
    address: SocketAddr,
    takes_replayable: bool,
) -> io::Result<ListenerStream> {
    stream.writable().await?;
    let facts = stream.facts();
    let is_early = facts.early_data == EarlyDataStatus::Accepted;
    let is_forward_secret = facts.psk == Some(PskKind::ForwardSecret);
    if !(is_early && (is_forward_secret || takes_replayable)) {
        stream.handshake().await?;
    }
    let info = StreamInfo {
        address,
        facts: Arc::new(stream.facts().clone()),
        watch: stream.handshake_watch(),
    };
    Ok(TrackedStream { stream, tracker: info })
}

/// What is known of a client's connection. It can be cloned, and accompanies each request of the connection:
/// as `ConnectInfo` in axum, as an extension in tonic.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StreamInfo {
    /// The client's address.
    pub address: SocketAddr,
    /// The facts of the connection when its first request could be read: the client's identity, its protocol,
    /// the outcome of its early data.
    pub facts: Arc<Facts>,
    /// Reports when the handshake is complete.
    pub watch: HandshakeWatch,
}

/// A client's stream from a [`TlsListener`], for servers that know nothing of early data.
///
/// Shutting it down completes the handshake before: a client whose early request is answered at once gets its next
/// ticket after that, and nothing after the goodbye.
pub type ListenerStream = TrackedStream<ServerStream<ClientSocket>, StreamInfo>;

impl Tracker<ServerStream<ClientSocket>> for StreamInfo {}

impl ListenerStream {
    /// Returns what was known of the connection when it was returned.
    pub fn info(&self) -> &StreamInfo {
        &self.tracker
    }

    /// Returns the stream itself, for its current state.
    pub fn get_ref(&self) -> &ServerStream<ClientSocket> {
        &self.stream
    }
}
