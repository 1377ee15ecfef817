//! Backends that behave as a test needs.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;

/// Echoes a connection once it has ended, and records it.
pub struct Echo {
    pub address: SocketAddr,
    listener: Option<JoinHandle<()>>,
    seen: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Echo {
    pub async fn start() -> Self {
        Self::at(([127, 0, 0, 1], 0).into()).await
    }

    /// At the address of an earlier one.
    pub async fn at(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let seen_by_all = seen.clone();
        let listener = Some(tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let seen = seen_by_all.clone();
                tokio::spawn(async move {
                    let mut request = Vec::new();
                    if socket.read_to_end(&mut request).await.is_ok() {
                        seen.lock().unwrap().push(request.clone());
                        let _ = socket.write_all(&request).await;
                    }
                });
            }
        }));
        Self { address, listener, seen }
    }

    /// Returns what was read from connections that ended in order, without empty ones.
    pub fn seen(&self) -> Vec<Vec<u8>> {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|request| !request.is_empty()).cloned().collect()
    }

    pub fn forward(&self) -> String {
        self.address.to_string()
    }

    /// Stops listening.
    pub async fn stop(&mut self) {
        if let Some(listener) = self.listener.take() {
            listener.abort();
            let _ = listener.await;
        }
    }
}

/// Never answers a dial, not even with a refusal: its queue is full.
pub struct HangingBackend {
    pub address: SocketAddr,
    _listener: TcpListener,
    _queue: Vec<JoinHandle<Option<TcpStream>>>,
}

impl HangingBackend {
    pub async fn start() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
        let listener = socket.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        // The first connection fills the accept queue; further ones get no answer.
        let first = TcpStream::connect(address).await.ok();
        let connect = || tokio::spawn(async move { TcpStream::connect(address).await.ok() });
        let mut queue = vec![tokio::spawn(async { first })];
        queue.extend((0..3).map(|_| connect()));
        Self { address, _listener: listener, _queue: queue }
    }
}
