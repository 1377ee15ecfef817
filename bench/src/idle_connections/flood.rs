//! Hostile clients.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::client::TlsStream;

/// What the clients do.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// The beginning of a handshake message, one byte ten times a second.
    SlowLoris,
    /// Bytes that are not a record.
    Garbage,
    /// A record that announces a message, with nonsense in it.
    Records,
}

/// Clients that go on until they are stopped. A disconnected client returns a moment later.
pub(crate) struct Flood {
    tasks: JoinSet<()>,
    connections: Arc<AtomicUsize>,
}

impl Flood {
    pub(crate) fn start(kind: Kind, address: SocketAddr, count: usize) -> Self {
        let connections = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        for index in 0..count {
            let source = source(index);
            let connections = connections.clone();
            tasks.spawn(async move {
                loop {
                    connections.fetch_add(1, Ordering::Relaxed);
                    if let Ok(socket) = connect_from(source, address).await {
                        attack(kind, socket).await;
                    }
                    // As many as the machine can handle besides the measurement: a flood of new TCP connections would
                    // measure the kernel.
                    sleep(Duration::from_secs(1)).await;
                }
            });
        }
        Self { tasks, connections }
    }

    /// Stops it, and returns how many connections there were.
    pub(crate) fn stop(mut self) -> usize {
        self.tasks.abort_all();
        self.connections.load(Ordering::Relaxed)
    }
}

/// Turns established connections hostile: each continues with a full record, one byte ten times a second, and never
/// ends it.
pub(crate) fn drip(streams: Vec<TlsStream<TcpStream>>) -> JoinSet<io::Result<()>> {
    let mut tasks = JoinSet::new();
    for stream in streams {
        let (mut socket, _) = stream.into_inner();
        tasks.spawn(async move {
            socket.write_all(&[23, 3, 3, 0x41, 0]).await?;
            loop {
                socket.write_all(&[0x5a]).await?;
                sleep(Duration::from_millis(100)).await;
            }
        });
    }
    tasks
}

/// Returns the source address of a client: a hundred share each, so that the server's limits per address refuse none.
fn source(index: usize) -> SocketAddr {
    let network = u8::try_from(index / 100).unwrap_or(u8::MAX).saturating_add(1);
    SocketAddr::from(([127, 0, network, 1], 0))
}

async fn connect_from(source: SocketAddr, address: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(source)?;
    socket.connect(address).await
}

async fn attack(kind: Kind, mut socket: TcpStream) {
    match kind {
        Kind::SlowLoris => {
            // A handshake record of 4,096 bytes, with a ClientHello of 4,092.
            let mut bytes = vec![22, 3, 1, 16, 0, 1, 0, 15, 252, 3, 3];
            bytes.resize(4101, 0x5a);
            for byte in bytes {
                if socket.write_all(&[byte]).await.is_err() {
                    return;
                }
                sleep(Duration::from_millis(100)).await;
            }
        }
        Kind::Garbage => {
            let _ = socket.write_all(&[0x5a; 1500]).await;
        }
        Kind::Records => {
            let mut bytes = vec![22, 3, 1, 16, 0, 1, 0, 15, 252, 3, 3];
            bytes.resize(4101, 0x5a);
            let _ = socket.write_all(&bytes).await;
        }
    }
    // Until the server disconnects it.
    let _ = timeout(Duration::from_secs(30), socket.read_to_end(&mut Vec::new())).await;
}
