//! An adversary on the path that records clients' first flights and replays them.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

/// Relays clients' connections to a server, with the delay of a real path, and records each first flight: what a client
/// sent before the server's first answer.
///
/// It knows no keys. It can do what the network can: delay, drop, copy.
pub struct Adversary {
    /// Where clients connect instead of the server.
    pub address: SocketAddr,
    server: SocketAddr,
    path: Arc<Path>,
    accepting: JoinHandle<()>,
}

struct Path {
    delay: Duration,
    flights: Mutex<VecDeque<Vec<u8>>>,
    recorded: Notify,
    /// Hold back the next connection's first flight, and cut the connection.
    keeps_back: AtomicBool,
    /// Ends all open connections.
    cut: Notify,
}

impl Adversary {
    /// Listens on a free port of loopback, in front of a server. Every byte takes `delay` in either direction.
    ///
    /// # Errors
    /// If no port is available.
    pub async fn stand_before(server: SocketAddr, delay: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let path = Arc::new(Path {
            delay,
            flights: Mutex::default(),
            recorded: Notify::new(),
            keeps_back: AtomicBool::new(false),
            cut: Notify::new(),
        });
        let shared = path.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let path = shared.clone();
                tokio::spawn(async move { path.carry(client, server).await });
            }
        });
        Ok(Self { address, server, path, accepting })
    }

    /// Holds back the next client's first flight, and cuts its connection.
    pub fn keep_next_back(&self) {
        self.path.keeps_back.store(true, Ordering::Relaxed);
    }

    /// Cuts all open connections without notice to either end.
    pub fn cut(&self) {
        self.path.cut.notify_waiters();
    }

    /// Waits for the oldest recording that was not returned yet; `None` if there is none in time.
    pub async fn recording(&self) -> Option<Vec<u8>> {
        let next = async {
            loop {
                let recorded = self.path.recorded.notified();
                if let Some(flight) = lock(&self.path.flights).pop_front() {
                    return flight;
                }
                recorded.await;
            }
        };
        timeout(PATIENCE, next).await.ok()
    }

    /// Replays a recording to the server on a new connection; returns how many bytes the server answered until it was
    /// silent for `silence`.
    ///
    /// # Errors
    /// If the server can't be reached.
    pub async fn replay(&self, flight: &[u8], silence: Duration) -> io::Result<usize> {
        let mut socket = TcpStream::connect(self.server).await?;
        socket.write_all(flight).await?;
        let (mut answered, mut buffer) = (0, vec![0; 16 * 1024]);
        while let Ok(Ok(count @ 1..)) = timeout(silence, socket.read(&mut buffer)).await {
            answered += count;
        }
        Ok(answered)
    }
}

impl Drop for Adversary {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Path {
    async fn carry(&self, mut client: TcpStream, server: SocketAddr) {
        if self.keeps_back.swap(false, Ordering::Relaxed) {
            let mut flight = Vec::new();
            // The first flight is sent in one piece; wait a little for its rest.
            while let Ok(Ok(1..)) = timeout(self.delay, client.read_buf(&mut flight)).await {}
            return self.keep(flight);
        }
        let Ok(mut server) = TcpStream::connect(server).await else { return };
        // No delay but that of the path.
        if client.set_nodelay(true).and_then(|()| server.set_nodelay(true)).is_err() {
            return;
        }
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        // Taken when the server answers.
        let first = Mutex::new(Some(Vec::new()));
        let there = self.direction(from_client, to_server, |piece| {
            if let Some(flight) = &mut *lock(&first) {
                flight.extend_from_slice(piece);
            }
        });
        let back = self.direction(from_server, to_client, |_| {
            if let Some(flight) = lock(&first).take() {
                self.keep(flight);
            }
        });
        tokio::select! {
            _ = async { tokio::join!(there, back) } => {}
            () = self.cut.notified() => {}
        }
    }

    /// Relays one direction to its end; calls `sees` with each piece as it arrives.
    async fn direction(
        &self,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
        sees: impl Fn(&[u8]),
    ) {
        let (sender, mut on_the_way) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
        let read = async move {
            loop {
                let mut piece = Vec::with_capacity(16 * 1024);
                let Ok(1..) = from.read_buf(&mut piece).await else { break };
                if sender.send((Instant::now() + self.delay, piece)).is_err() {
                    break;
                }
            }
        };
        let write = async move {
            while let Some((arrives, piece)) = on_the_way.recv().await {
                sleep_until(arrives).await;
                sees(&piece);
                if to.write_all(&piece).await.is_err() {
                    return;
                }
            }
            let _ = to.shutdown().await;
        };
        tokio::join!(read, write);
    }

    fn keep(&self, flight: Vec<u8>) {
        lock(&self.flights).push_back(flight);
        self.recorded.notify_waiters();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long to wait for the recording of a connection.
const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that answers in capitals.
    async fn server() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut buffer = [0; 100];
                    while let Ok(count @ 1..) = socket.read(&mut buffer).await {
                        let answer = buffer[..count].to_ascii_uppercase();
                        socket.write_all(&answer).await.unwrap();
                    }
                });
            }
        });
        address
    }

    #[tokio::test]
    async fn an_adversary_records_what_came_before_the_answer_and_sends_it_again() {
        let adversary =
            Adversary::stand_before(server().await, Duration::from_millis(5)).await.unwrap();
        let mut socket = TcpStream::connect(adversary.address).await.unwrap();
        let mut answer = [0; 5];
        for text in [b"first", b"later"] {
            socket.write_all(text).await.unwrap();
            socket.read_exact(&mut answer).await.unwrap();
            assert_eq!(answer, *text.to_ascii_uppercase());
        }
        let flight = adversary.recording().await.unwrap();
        assert_eq!(flight, b"first");
        assert_eq!(adversary.replay(&flight, Duration::from_secs(1)).await.unwrap(), 5);
    }

    #[tokio::test]
    async fn an_adversary_cuts_the_open_connections_and_no_later_one() {
        let delay = Duration::from_millis(1);
        let adversary = Adversary::stand_before(server().await, delay).await.unwrap();
        for _ in 0..2 {
            let mut socket = TcpStream::connect(adversary.address).await.unwrap();
            socket.write_all(b"first").await.unwrap();
            socket.read_exact(&mut [0; 5]).await.unwrap();
            adversary.cut();
            // Whether closed or reset, nothing more arrives.
            assert!(matches!(socket.read(&mut [0; 5]).await, Ok(0) | Err(_)));
        }
    }

    #[tokio::test]
    async fn an_adversary_keeps_a_flight_back_and_cuts_its_connection() {
        let adversary =
            Adversary::stand_before(server().await, Duration::from_millis(50)).await.unwrap();
        adversary.keep_next_back();
        let mut socket = TcpStream::connect(adversary.address).await.unwrap();
        socket.write_all(b"first").await.unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"");
        assert_eq!(adversary.recording().await.unwrap(), b"first");
    }
}
