//! Backends that behave as a test wants.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;

/// Answers a connection with what it sent, when it has ended, and remembers it.
pub struct Echo {
    pub address: SocketAddr,
    listener: Option<JoinHandle<()>>,
    seen: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Echo {
    pub async fn start() -> Self {
        Self::at(([127, 0, 0, 1], 0).into()).await
    }

    /// At an address where one was before.
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

    /// What came on connections that ended in order, but for those on which nothing came.
    pub fn seen(&self) -> Vec<Vec<u8>> {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|request| !request.is_empty()).cloned().collect()
    }

    pub fn forward(&self) -> String {
        self.address.to_string()
    }

    /// Nobody listens there any more.
    pub async fn stop(&mut self) {
        if let Some(listener) = self.listener.take() {
            listener.abort();
            let _ = listener.await;
        }
    }
}

/// Nobody answers a dial there, not even with a refusal: its queue is full.
pub struct Hanging {
    pub address: SocketAddr,
    _listener: TcpListener,
    _queue: Vec<JoinHandle<Option<TcpStream>>>,
}

impl Hanging {
    pub async fn start() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
        let listener = socket.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        // One is in the queue of those who are through, and further ones are not answered.
        let first = TcpStream::connect(address).await.ok();
        let connect = || tokio::spawn(async move { TcpStream::connect(address).await.ok() });
        let mut queue = vec![tokio::spawn(async { first })];
        queue.extend((0..3).map(|_| connect()));
        Self { address, _listener: listener, _queue: queue }
    }
}
