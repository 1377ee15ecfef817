//! A server that no single address can fill up.

mod accept;
mod address_refusal;
mod counts;
mod ending;
mod gate;
mod limits;
mod listener;
mod origin;
mod reset;
mod room;
mod socket;
mod stall;
mod timed;

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;

pub use self::address_refusal::AddressRefusal;
pub use self::counts::Counts;
pub use self::ending::Ending;
pub use self::gate::Gate;
pub use self::limits::Limits;
pub use self::listener::{ListenerStream, StreamInfo, TlsListener};
pub use self::origin::Origin;
pub use self::reset::ResetOnClose;
pub use self::room::{HandshakePlace, Vacancy};
pub use self::socket::ClientSocket;
pub use self::stall::Stall;
pub use self::timed::{IdleTimer, TimedOut, TimedSocket};

use self::ending::{End, ending};
use crate::acceptor::Acceptor;
use crate::stream::ServerStream;

/// Accepts TCP connections and runs a task for each, within [`Limits`]: no address can take all places, and a
/// client that neither sends nor reads loses its own.
///
/// ```no_run
/// use tessera::ServerConfig;
/// use tessera_tokio::{Acceptor, Limits, Server};
/// use tokio::io::AsyncWriteExt;
/// use tokio::net::TcpListener;
///
/// # async fn example(config: ServerConfig) -> Result<(), Box<dyn std::error::Error>> {
/// let listener = TcpListener::bind("[::]:443").await?;
/// let server = Server::new(listener, Acceptor::new(config.checked()?), Limits::default());
/// let asked_to_end = std::future::pending(); // such as tokio::signal::ctrl_c
/// server
///     .run(asked_to_end, async |mut client| {
///         // Nothing was read of the client until here.
///         if client.stream.handshake().await.is_ok() {
///             let _ = client.stream.write_all(b"hello").await;
///             let _ = client.stream.shutdown().await;
///         }
///     })
///     .await;
/// # Ok(())
/// # }
/// ```
pub struct Server {
    listener: TcpListener,
    acceptor: Acceptor,
    gate: Gate,
}

/// A client from which nothing was read yet.
#[non_exhaustive]
pub struct AcceptedClient {
    /// Its connection. The owner drives the handshake: with [`handshake`](ServerStream::handshake),
    /// [`writable`](ServerStream::writable), or by reading and writing.
    pub stream: ServerStream<ClientSocket>,
    /// Its address.
    pub address: SocketAddr,
    /// Reports when the server ends.
    pub ending: Ending,
}

/// A server's counts, readable while it runs. It can be cloned.
#[derive(Clone)]
pub struct ServerCounts(Gate);

impl ServerCounts {
    /// Returns the counts so far.
    pub fn now(&self) -> Counts {
        self.0.counts()
    }
}

impl Server {
    /// Makes a server for a listener.
    pub fn new(listener: TcpListener, acceptor: Acceptor, limits: Limits) -> Self {
        Self { listener, acceptor, gate: Gate::new(limits) }
    }

    /// Returns a handle to the server's counts.
    pub fn counts(&self) -> ServerCounts {
        ServerCounts(self.gate.clone())
    }

    /// Serves until `end` is ready: each client is passed to `handle`, in its own task. Then the clients that
    /// are already in the listener's queue are accepted, the listener is closed, all clients are notified
    /// ([`Ending`]), and those not done within [`Limits::drain`] are dropped.
    pub async fn run<H, F>(self, end: impl Future<Output = ()>, handle: H)
    where
        H: Fn(AcceptedClient) -> F,
        F: Future<Output = ()> + Send + 'static,
    {
        let Self { listener, acceptor, gate } = self;
        let (told, ending): (End, Ending) = ending();
        let mut tasks = JoinSet::new();
        let serve = |client, tasks: &mut JoinSet<()>| {
            if let Some((stream, address)) = start(client, &acceptor) {
                tasks.spawn(handle(AcceptedClient { stream, address, ending: ending.clone() }));
            }
        };
        let mut end = pin!(end);
        loop {
            let mut next = pin!(next(&listener, &gate));
            let client = poll_fn(|cx| {
                if end.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(None);
                }
                // A finished task holds its memory until it is joined.
                while let Poll::Ready(Some(_)) = tasks.poll_join_next(cx) {}
                next.as_mut().poll(cx).map(Some)
            });
            let Some(client) = client.await else { break };
            serve(client, &mut tasks);
        }
        // Connections already in the accept queue may carry early data; serve them before closing.
        for _ in 0..LATE {
            let next = timeout(Duration::ZERO, next(&listener, &gate));
            let Ok(client) = next.await else { break };
            serve(client, &mut tasks);
        }
        drop(listener);
        told.tell();
        let all_done = async { while tasks.join_next().await.is_some() {} };
        let _ = timeout(gate.limits().drain, all_done).await;
        tasks.shutdown().await;
    }
}

/// The maximum number of connections accepted at the end.
const LATE: usize = 1_024;

/// A client that was admitted, with its places.
type Incoming = (ClientSocket, SocketAddr, HandshakePlace);

/// Makes the stream of a client; `None` if its connection can't begin, which drops it and its places.
fn start(
    (socket, address, handshake): Incoming,
    acceptor: &Acceptor,
) -> Option<(ServerStream<ClientSocket>, SocketAddr)> {
    // A failure only makes answers slower.
    let _ = socket.get_ref().set_nodelay(true);
    let mut stream = acceptor.start(socket).ok()?;
    stream.drop_when_complete(Box::new(handshake));
    Some((stream, address))
}

/// Returns the next client to admit.
async fn next(listener: &TcpListener, gate: &Gate) -> Incoming {
    loop {
        let vacancy = gate.vacancy().await;
        let (socket, address) = gate.accept(|| listener.accept()).await;
        if let Ok((socket, handshake)) = vacancy.admit(socket, Origin::from(address.ip())) {
            return (socket, address, handshake);
        }
    }
}
