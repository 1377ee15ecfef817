//! A server that no address can fill up.

mod accept;
mod address;
mod counts;
mod ending;
mod limits;
mod listener;
mod room;
mod socket;
mod stall;

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

pub use self::counts::Counts;
pub use self::ending::Ending;
pub use self::limits::Limits;
pub use self::listener::{ListenerStream, StreamInfo, TlsListener};
pub use self::socket::{ClientSocket, TimedOut};

use self::accept::accept;
use self::address::Address;
use self::ending::{End, ending};
use self::room::{ConnectionPlace, HandshakePlace, Room};
use crate::acceptor::Acceptor;
use crate::stream::ServerStream;

/// Accepts TCP connections and gives each a task, within [`Limits`]: no address can have all places, and
/// whoever neither sends nor reads loses its own.
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
    limits: Limits,
    room: Arc<Room>,
}

/// A client, of whom nothing was read.
#[non_exhaustive]
pub struct AcceptedClient {
    /// Its connection. The handshake is its owner's: [`handshake`](ServerStream::handshake),
    /// [`writable`](ServerStream::writable), or just reading and writing.
    pub stream: ServerStream<ClientSocket>,
    /// Where it comes from.
    pub address: SocketAddr,
    /// Tells when the server ends.
    pub ending: Ending,
}

/// What a server counts, to be looked at while it runs. It can be cloned.
#[derive(Clone)]
pub struct ServerCounts(Arc<Room>);

impl ServerCounts {
    /// What was counted until now.
    pub fn now(&self) -> Counts {
        self.0.counters.counts()
    }
}

impl Server {
    /// A server for a listener.
    pub fn new(listener: TcpListener, acceptor: Acceptor, limits: Limits) -> Self {
        Self { listener, acceptor, limits, room: Arc::new(Room::new(limits)) }
    }

    /// What the server counts.
    pub fn counts(&self) -> ServerCounts {
        ServerCounts(self.room.clone())
    }

    /// Serves until `end` is ready: each client is given to `handle`, in a task of its own. Then the
    /// listener is closed, all clients are told ([`Ending`]), and what is not done within
    /// [`Limits::drain`] is dropped.
    pub async fn run<H, F>(self, end: impl Future<Output = ()>, handle: H)
    where
        H: Fn(AcceptedClient) -> F,
        F: Future<Output = ()> + Send + 'static,
    {
        let Self { listener, acceptor, limits, room } = self;
        let (told, ending): (End, Ending) = ending();
        let mut tasks = JoinSet::new();
        let mut end = pin!(end);
        loop {
            let mut next = pin!(next(&listener, &room));
            let client = poll_fn(|cx| {
                if end.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(None);
                }
                // Tasks that are done hold their memory until they are joined.
                while let Poll::Ready(Some(_)) = tasks.poll_join_next(cx) {}
                next.as_mut().poll(cx)
            });
            let Some(client) = client.await else { break };
            if let Some((stream, address)) = start(client, &acceptor, limits) {
                tasks.spawn(handle(AcceptedClient { stream, address, ending: ending.clone() }));
            }
        }
        drop(listener);
        told.tell();
        let all_done = async { while tasks.join_next().await.is_some() {} };
        let _ = timeout(limits.drain, all_done).await;
        tasks.shutdown().await;
    }
}

/// A client that came in, with its places.
type Incoming = (TcpStream, SocketAddr, ConnectionPlace, HandshakePlace);

/// The stream of a client; `None` if its connection can't begin: it is dropped, and its places with it.
fn start(
    (socket, address, connection, handshake): Incoming,
    acceptor: &Acceptor,
    limits: Limits,
) -> Option<(ServerStream<ClientSocket>, SocketAddr)> {
    // Without it only answers are slower.
    let _ = socket.set_nodelay(true);
    let socket = ClientSocket::new(socket, limits.idle, limits.write, connection);
    let mut stream = acceptor.start(socket).ok()?;
    stream.drop_when_complete(Box::new(handshake));
    Some((stream, address))
}

/// The next client that may come in; `None` never comes.
async fn next(listener: &TcpListener, room: &Arc<Room>) -> Option<Incoming> {
    loop {
        let vacancy = room.vacancy().await?;
        let (socket, address) = accept(|| listener.accept(), &room.counters).await;
        if let Some((connection, handshake)) = room.take(Address::from(address.ip()), vacancy) {
            counts::count(&room.counters.accepted);
            return Some((socket, address, connection, handshake));
        }
    }
}
