//! Forwarders of connections: a load balancer below TLS, and a slow network.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tessera_test_peers::PATIENCE;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// Forwards one connection at a time, each to the server that the test chooses. A connection waits until then.
pub struct Forwarder(TcpListener);

impl Forwarder {
    /// Listens on the loopback interface.
    pub async fn listen() -> Self {
        Self(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap())
    }

    /// Returns where clients connect to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.local_addr().unwrap()
    }

    /// Forwards the next connection to this server, until both ends have closed it.
    pub async fn forward_to(&self, server: SocketAddr) {
        let accepted = timeout(PATIENCE, self.0.accept()).await;
        let (mut client, _) = accepted.expect("a client connects").unwrap();
        let mut server = TcpStream::connect(server).await.unwrap();
        // Either end may reset a connection that the other has closed.
        let _ = copy_bidirectional(&mut client, &mut server).await;
    }
}

/// Forwards all connections to one server, and delays its answers. The tasks end with the test's runtime.
pub struct SlowForwarder {
    address: SocketAddr,
    /// In milliseconds.
    delay: Arc<AtomicU64>,
}

impl SlowForwarder {
    /// Begins without a delay.
    pub async fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let delay = Arc::new(AtomicU64::new(0));
        let of_all = delay.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let delay = of_all.clone();
                // A failure only ends its connection.
                tokio::spawn(async move { drop(forward_slowly(client, server, &delay).await) });
            }
        });
        Self { address, delay }
    }

    /// Returns where clients connect to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Delays each part of an answer by this much from now on. Requests arrive at once.
    pub fn delay(&self, by: Duration) {
        self.delay.store(by.as_millis() as u64, Ordering::Relaxed);
    }
}

async fn forward_slowly(
    client: TcpStream,
    server: SocketAddr,
    delay: &AtomicU64,
) -> io::Result<()> {
    let server = TcpStream::connect(server).await?;
    server.set_nodelay(true)?;
    client.set_nodelay(true)?;
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let answers = async {
        let mut part = vec![0; 64 * 1024];
        loop {
            let count = from_server.read(&mut part).await?;
            if count == 0 {
                return Ok(());
            }
            sleep(Duration::from_millis(delay.load(Ordering::Relaxed))).await;
            to_client.write_all(&part[..count]).await?;
        }
    };
    tokio::select! {
        sent = copy(&mut from_client, &mut to_server) => sent.map(drop),
        answered = answers => answered,
    }
}
