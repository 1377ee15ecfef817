//! A relay between a client and a server, which loses datagrams and changes the client's address.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

/// Relays the datagrams of one client.
pub struct Relay {
    pub address: SocketAddr,
    /// The side of the server, which may be replaced.
    outside: Arc<Mutex<Arc<UdpSocket>>>,
    pub server: SocketAddr,
    task: JoinHandle<()>,
}

impl Relay {
    /// `loses` decides about each datagram: whether it is the client's, its number among that side's, and its bytes.
    pub async fn new(
        server: SocketAddr,
        mut loses: impl FnMut(bool, usize, &[u8]) -> bool + Send + 'static,
    ) -> Self {
        let inside = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = inside.local_addr().unwrap();
        let outside = Arc::new(Mutex::new(outside(server).await));
        let current = outside.clone();
        let task = tokio::spawn(async move {
            let (mut up, mut down) = (vec![0; 65_535], vec![0; 65_535]);
            let (mut client, mut counts) = (None, [0; 2]);
            loop {
                let to_server = current.lock().unwrap().clone();
                tokio::select! {
                    received = inside.recv_from(&mut up) => {
                        let (len, from) = received.unwrap();
                        client = Some(from);
                        counts[0] += 1;
                        // The server's side may have changed meanwhile.
                        let to_server = current.lock().unwrap().clone();
                        if !loses(true, counts[0], &up[..len]) {
                            to_server.send(&up[..len]).await.unwrap();
                        }
                    }
                    received = to_server.recv(&mut down) => {
                        let len = received.unwrap();
                        counts[1] += 1;
                        if let Some(client) = client && !loses(false, counts[1], &down[..len]) {
                            inside.send_to(&down[..len], client).await.unwrap();
                        }
                    }
                }
            }
        });
        Self { address, outside, server, task }
    }

    /// Continues from another port; returns it.
    pub async fn change_port(&self) -> SocketAddr {
        let socket = outside(self.server).await;
        let address = socket.local_addr().unwrap();
        *self.outside.lock().unwrap() = socket;
        address
    }
}

async fn outside(server: SocketAddr) -> Arc<UdpSocket> {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.connect(server).await.unwrap();
    Arc::new(socket)
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}
