//! The pool of the demonstration, for tests.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use http::{Request, StatusCode};
use tessera_bindings::ClientName;
use tessera_tokio::{ClientStream, Connector};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::demo::{self, Client, ORIGIN, Received, Stage};
use crate::edge::Edge;

/// A pool.
pub(super) struct World(Stage);

impl Deref for World {
    type Target = Stage;

    fn deref(&self) -> &Stage {
        &self.0
    }
}

impl DerefMut for World {
    fn deref_mut(&mut self) -> &mut Stage {
        &mut self.0
    }
}

impl World {
    pub(super) async fn start(names: &[&'static str], more: &'static str) -> Self {
        Self(Stage::start(names, more).await.unwrap())
    }

    /// Ends a proxy without a farewell: its listeners are gone, and its lease ends by itself.
    pub(super) fn kill(&mut self, name: &'static str) {
        self.proxies.remove(name).unwrap().running.cut();
    }

    pub(super) fn client(&self, name: Option<&str>) -> TestClient {
        TestClient(self.0.client(name).unwrap())
    }

    pub(super) fn edge(&self, name: &str) -> &Arc<Edge> {
        self.proxies[name].running.edge()
    }

    /// Returns the only client's name.
    pub(super) async fn only_client(&self) -> ClientName {
        until("a client is bound", || !self.table.is_empty()).await;
        let names = self.proxies.keys();
        let mut clients: Vec<_> =
            names.flat_map(|name| self.table.clients_of(&demo::proxy(name))).collect();
        clients.dedup();
        assert_eq!(clients.len(), 1);
        clients.remove(0)
    }

    /// Returns what was executed at a proxy.
    pub(super) fn executed_at(&self, name: &str) -> Vec<String> {
        self.proxies[name].service.executed()
    }

    /// Returns what was executed anywhere.
    pub(super) fn executed(&self) -> Vec<String> {
        self.proxies.values().flat_map(|proxy| proxy.service.executed()).collect()
    }

    pub(super) async fn announce(&self, client: &ClientName, to: &str) {
        self.0.announce(client, to).await.unwrap();
    }
}

pub(super) async fn until(what: &str, is_so: impl Fn() -> bool) {
    demo::until(what, is_so).await.unwrap();
}

/// Connects by HTTP/1.1.
pub(super) async fn connect(world: &World, at: &str, name: &str) -> ClientStream<TcpStream> {
    let mut config = world.client_config(Some(name)).unwrap();
    config.protocols = vec![b"http/1.1".to_vec()];
    let socket = TcpStream::connect(world.proxies[at].address).await.unwrap();
    let destination = tessera::Destination { server_name: ORIGIN.into(), ..Default::default() };
    Connector::new(config.checked().unwrap()).connect(destination, socket).await.unwrap()
}

/// Reads until the text ends so.
pub(super) async fn read_until(stream: &mut ClientStream<TcpStream>, end: &str) -> String {
    let mut answer = Vec::new();
    while !answer.ends_with(end.as_bytes()) {
        let read = timeout(Duration::from_secs(20), stream.read_buf(&mut answer)).await;
        assert!(read.unwrap().unwrap() > 0, "{}", String::from_utf8_lossy(&answer));
    }
    String::from_utf8(answer).unwrap()
}

/// A client whose requests are answered.
#[derive(Clone)]
pub(super) struct TestClient(Client);

impl TestClient {
    pub(super) async fn get(&self, path: &str) -> Received {
        self.0.get(path).await.unwrap()
    }

    /// Sends a GET that may fail.
    pub(super) async fn get_if_answered(&self, path: &str) -> Option<Received> {
        self.0.get(path).await.ok()
    }

    pub(super) async fn post(&self, path: &str, body: &str) -> Received {
        self.send(Request::post(format!("https://{ORIGIN}{path}")), body).await
    }

    pub(super) async fn send(&self, request: http::request::Builder, body: &str) -> Received {
        self.0.send(request, body).await.unwrap()
    }

    /// Sends a GET until it is known what becomes of it: a flight whose key died with a proxy fails once for each ticket from
    /// there.
    pub(super) async fn get_again(&self, path: &str) -> Received {
        for _ in 0..=5 {
            if let Ok(received) = self.0.get(path).await
                && received.status != StatusCode::SERVICE_UNAVAILABLE
            {
                return received;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("a full handshake doesn't help either");
    }
}
