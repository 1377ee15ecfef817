//! A server under clients that try to take all of it.
//!
//! The clock is tokio's, and advances when all tasks are idle: no test waits in real time.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{Ends, destination, ends};
use tessera_tokio::{
    AcceptedClient, ClientStream, Limits, MemorySessionStore, Server, ServerCounts, TimedOut,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

const ONE: [u8; 4] = [127, 0, 0, 1];
const OTHER: [u8; 4] = [127, 0, 0, 2];
const SECOND: Duration = Duration::from_secs(1);

/// A server in this process. It echoes; a client that sends an `x` gets bytes until it stops reading.
struct RunningServer {
    address: SocketAddr,
    counts: ServerCounts,
    ends: Ends,
    /// Why the server ended clients.
    ended: mpsc::UnboundedReceiver<Option<TimedOut>>,
    end: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

async fn echo(client: &mut AcceptedClient) -> std::io::Result<()> {
    let mut buffer = [0; 1024];
    loop {
        let count = tokio::select! {
            count = client.stream.read(&mut buffer) => count?,
            () = client.ending.begun() => 0,
        };
        match &buffer[..count] {
            [] => return client.stream.shutdown().await,
            [b'x', ..] => loop {
                client.stream.write_all(&[0; 10_000]).await?;
            },
            echoed => client.stream.write_all(echoed).await?,
        }
    }
}

impl RunningServer {
    async fn start(change: impl FnOnce(&mut Limits)) -> Self {
        let mut limits = Limits::for_connections(16);
        (limits.connections_per_address, limits.handshakes_per_address) = (4, 4);
        change(&mut limits);
        let ends = ends();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = Server::new(listener, ends.acceptor(), limits);
        let counts = server.counts();
        let (end, ended) = oneshot::channel();
        let (sender, why) = mpsc::unbounded_channel();
        let task = tokio::spawn(server.run(
            async move {
                let _ = ended.await;
            },
            move |mut client| {
                let sender = sender.clone();
                async move {
                    let _ = echo(&mut client).await;
                    let _ = sender.send(client.stream.get_ref().timed_out());
                }
            },
        ));
        Self { address, counts, ends, ended: why, end: Some(end), task }
    }

    async fn connect(&self, from: [u8; 4]) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((from, 0).into()).unwrap();
        socket.connect(self.address).await.unwrap()
    }

    async fn shake_hands(&self, from: [u8; 4]) -> std::io::Result<ClientStream<TcpStream>> {
        let connector = self.ends.connector();
        connector.connect(destination(), self.connect(from).await).await
    }

    async fn is_served(&self, from: [u8; 4]) -> bool {
        let Ok(mut stream) = self.shake_hands(from).await else { return false };
        let mut echoed = [0; 5];
        stream.write_all(b"hello").await.unwrap();
        stream.read_exact(&mut echoed).await.unwrap();
        stream.shutdown().await.unwrap();
        stream.read_to_end(&mut Vec::new()).await.is_ok()
    }
}

/// Whether the other end has closed it, with or without a reset.
async fn is_closed(socket: &mut TcpStream) -> bool {
    !matches!(socket.read(&mut [0]).await, Ok(1..))
}

#[tokio::test(start_paused = true)]
async fn silent_clients_of_one_address_shut_no_other_out() {
    let mut server = RunningServer::start(|_| ()).await;
    let mut silent = Vec::new();
    for _ in 0..40 {
        silent.push(server.connect(ONE).await);
    }
    // Four have a place; the others are closed at once.
    let started = Instant::now();
    for socket in &mut silent[4..] {
        assert!(is_closed(socket).await);
    }
    assert_eq!(started.elapsed(), Duration::ZERO);
    assert!(!server.is_served(ONE).await);
    for _ in 0..20 {
        assert!(server.is_served(OTHER).await);
        assert_eq!(server.ended.recv().await, Some(None));
    }
    let counts = server.counts.now();
    assert_eq!((counts.accepted, counts.refused_connections), (4 + 20, 36 + 1));

    // Their handshakes time out, and then all clients are served.
    for _ in 0..4 {
        server.ended.recv().await.unwrap();
    }
    assert!(server.is_served(ONE).await);
}

#[tokio::test(start_paused = true)]
async fn slow_handshakes_of_one_address_shut_no_other_out() {
    let server = RunningServer::start(|limits| {
        limits.connections_per_address = 16;
        limits.handshakes_per_address = 2;
    })
    .await;
    // A complete handshake doesn't count.
    let mut through = Vec::new();
    for _ in 0..5 {
        through.push(server.shake_hands(ONE).await.unwrap());
    }
    let mut slow = Vec::new();
    for _ in 0..2 {
        let mut socket = server.connect(ONE).await;
        slow.push(tokio::spawn(async move {
            let started = Instant::now();
            // A byte a second, of a ClientHello without an end.
            let hello = [22, 3, 1, 16, 0, 1, 0, 15, 252, 3, 3].into_iter().chain([0; 4090]);
            for byte in hello {
                if socket.write_all(&[byte]).await.is_err() {
                    break;
                }
                sleep(SECOND).await;
            }
            started.elapsed()
        }));
    }
    sleep(SECOND).await;
    assert!(server.shake_hands(ONE).await.is_err());
    assert_eq!(server.counts.now().refused_handshakes, 1);
    assert!(server.is_served(OTHER).await);
    for slow in slow {
        let lasted = slow.await.unwrap();
        assert!(lasted > 9 * SECOND && lasted < 14 * SECOND, "{lasted:?}");
    }
    assert!(server.is_served(ONE).await);
    drop(through);
}

#[tokio::test(start_paused = true)]
async fn idle_connections_end_and_busy_ones_stay() {
    let mut server = RunningServer::start(|limits| limits.idle = 60 * SECOND).await;
    let mut busy = server.shake_hands(ONE).await.unwrap();
    let mut idle = Vec::new();
    for _ in 0..3 {
        idle.push(server.shake_hands(ONE).await.unwrap());
    }
    let started = Instant::now();
    assert!(!server.is_served(ONE).await, "there is no room");
    for _ in 0..10 {
        sleep(20 * SECOND).await;
        busy.write_all(b"hello").await.unwrap();
        busy.read_exact(&mut [0; 5]).await.unwrap();
    }
    for _ in 0..3 {
        assert_eq!(server.ended.recv().await, Some(Some(TimedOut::Idle)));
    }
    assert_eq!(started.elapsed(), 200 * SECOND);
    assert_eq!(server.counts.now().idle, 3);
    assert!(server.is_served(ONE).await);
    busy.write_all(b"hello").await.unwrap();
    busy.read_exact(&mut [0; 5]).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn clients_that_do_not_read_lose_their_places() {
    let mut server = RunningServer::start(|_| ()).await;
    let mut deaf = Vec::new();
    for _ in 0..4 {
        let mut stream = server.shake_hands(ONE).await.unwrap();
        stream.write_all(b"x").await.unwrap();
        deaf.push(stream);
    }
    assert!(!server.is_served(ONE).await, "there is no room");
    assert!(server.is_served(OTHER).await);
    assert_eq!(server.ended.recv().await, Some(None));
    let started = Instant::now();
    for _ in 0..4 {
        assert_eq!(server.ended.recv().await, Some(Some(TimedOut::Write)));
    }
    assert!(started.elapsed() <= 31 * SECOND, "{:?}", started.elapsed());
    assert_eq!(server.counts.now().stalled, 4);
    assert!(server.is_served(ONE).await);
    // The kernel keeps nothing for them, because their connections were reset.
    let mut last = deaf.pop().unwrap();
    let error = last.read_to_end(&mut Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

#[tokio::test(start_paused = true)]
async fn a_server_without_room_lets_clients_wait() {
    let server = RunningServer::start(|limits| {
        (limits.connections, limits.idle) = (1, 20 * SECOND);
    })
    .await;
    let _idle = server.shake_hands(ONE).await.unwrap();
    // No answer before there is room; then the handshake continues.
    let started = Instant::now();
    let socket = server.connect(OTHER).await;
    let mut config = server.ends.client.clone();
    config.handshake_timeout = 60 * SECOND;
    let connector = tessera_tokio::Connector::new(config.checked().unwrap());
    connector.connect(destination(), socket).await.unwrap();
    assert_eq!(started.elapsed(), 20 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_lets_its_clients_finish_and_drops_those_that_do_not() {
    let mut server = RunningServer::start(|limits| limits.drain = 3 * SECOND).await;
    let mut polite = server.shake_hands(ONE).await.unwrap();
    let mut deaf = server.shake_hands(OTHER).await.unwrap();
    deaf.write_all(b"x").await.unwrap();
    sleep(SECOND).await;
    let started = Instant::now();
    server.end.take().unwrap().send(()).unwrap();
    assert_eq!(polite.read(&mut [0]).await.unwrap(), 0, "the server sent close_notify");
    server.task.await.unwrap();
    assert_eq!(started.elapsed(), 3 * SECOND);
    assert!(TcpStream::connect(server.address).await.is_err(), "the listener is closed");
}

#[tokio::test]
async fn clients_in_the_queue_at_the_end_are_served() {
    let ends = ends();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut queued = Vec::new();
    for _ in 0..4 {
        queued.push(TcpStream::connect(address).await.unwrap());
    }
    let server = Server::new(listener, ends.acceptor(), Limits::default());
    let task = tokio::spawn(server.run(async {}, |mut client: AcceptedClient| async move {
        client.stream.write_all(b"hello").await.unwrap();
        client.stream.shutdown().await.unwrap();
    }));
    for socket in queued {
        let mut stream = ends.connector().connect(destination(), socket).await.unwrap();
        let mut greeting = Vec::new();
        stream.read_to_end(&mut greeting).await.unwrap();
        assert_eq!(greeting, b"hello");
    }
    task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_panics_its_task_gives_its_place_back() {
    let ends = ends();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server::new(listener, ends.acceptor(), Limits::for_connections(1));
    tokio::spawn(server.run(std::future::pending(), async |mut client| {
        client.stream.handshake().await.unwrap();
        panic!("a bug of the owner's");
    }));
    let connector = ends.connector().with_sessions(Arc::new(MemorySessionStore::default()));
    for _ in 0..3 {
        let socket = TcpStream::connect(address).await.unwrap();
        connector.connect(destination(), socket).await.unwrap();
    }
}
