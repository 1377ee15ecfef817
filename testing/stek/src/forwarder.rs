//! A forwarder of connections, as a load balancer below TLS is one.

use std::net::{Ipv4Addr, SocketAddr};

use tessera_test_peers::PATIENCE;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

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
