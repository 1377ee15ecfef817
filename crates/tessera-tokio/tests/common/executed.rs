//! Counters of executed requests, awaitable sessions, and a relay that can swallow answers.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tessera::resume::ClientSession;
use tessera_tokio::{MemorySessionStore, SessionStore};
use tokio::io::{AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

/// How often each path was executed.
#[derive(Clone, Default)]
pub struct ExecutionCount {
    times: Arc<Mutex<HashMap<String, usize>>>,
    /// The total over all paths.
    pub all: watch::Sender<usize>,
}

impl ExecutionCount {
    pub fn note(&self, path: &str) {
        *self.times.lock().unwrap().entry(path.to_owned()).or_default() += 1;
        self.all.send_modify(|all| *all += 1);
    }

    pub fn times(&self, path: &str) -> usize {
        self.times.lock().unwrap().get(path).copied().unwrap_or(0)
    }
}

/// A session store whose sessions can be awaited.
#[derive(Default)]
pub struct Sessions {
    store: MemorySessionStore,
    count: AtomicUsize,
    came: Notify,
    /// Returns each session twice, as no correct store does.
    twice: bool,
    copy: Mutex<Option<ClientSession>>,
}

impl Sessions {
    /// Makes a store that returns each session twice.
    pub fn twice() -> Self {
        Self { twice: true, ..Self::default() }
    }

    /// Waits until there is a session.
    pub async fn come(&self) {
        while self.count.load(Ordering::SeqCst) == 0 {
            self.came.notified().await;
        }
    }
}

impl SessionStore for Sessions {
    fn put(&self, server_name: &str, session: ClientSession) {
        self.store.put(server_name, session);
        self.count.fetch_add(1, Ordering::SeqCst);
        self.came.notify_one();
    }

    fn pop(&self, server_name: &str) -> Option<ClientSession> {
        if let Some(copy) = self.copy.lock().unwrap().take() {
            return Some(copy);
        }
        let session = self.store.pop(server_name)?;
        self.count.fetch_sub(1, Ordering::SeqCst);
        if self.twice {
            let copy = ClientSession::import(&session.export()).unwrap();
            *self.copy.lock().unwrap() = Some(copy);
        }
        Some(session)
    }
}

/// Relays between client and server. While `swallows` is set, the client gets no answer, and loses the
/// connection once something was executed.
pub async fn relay(
    server: SocketAddr,
    swallows: Arc<AtomicBool>,
    executed: watch::Sender<usize>,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let server = TcpStream::connect(server).await.unwrap();
            let (swallows, mut executed) = (swallows.load(Ordering::SeqCst), executed.subscribe());
            tokio::spawn(async move {
                let (mut from_client, mut to_client) = client.into_split();
                let (mut from_server, mut to_server) = server.into_split();
                let there = async {
                    let _ = copy(&mut from_client, &mut to_server).await;
                    let _ = to_server.shutdown().await;
                };
                let back = async {
                    if swallows {
                        executed.changed().await.unwrap();
                    } else {
                        let _ = copy(&mut from_server, &mut to_client).await;
                    }
                    let _ = to_client.shutdown().await;
                };
                tokio::join!(there, back);
            });
        }
    });
    address
}
