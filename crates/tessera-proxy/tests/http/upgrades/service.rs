//! Services that accept upgrades, and both ends of what their connections carry.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::server::{ServerOptions, UpgradeOptions, UpgradeRequest};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

use crate::http_server::served::ServedConnection;

pub const UPGRADE: &str = "GET /chat HTTP/1.1\r\nhost: a\r\nconnection: keep-alive, Upgrade\r\nupgrade: WebSocket\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n";

/// What a stream carries before its writer waits.
pub const ROOM: usize = 1024;

const LONGEST_WAIT: Duration = Duration::from_secs(20);

pub fn options() -> ServerOptions {
    ServerOptions { upgrades: Some(UpgradeOptions::default()), ..ServerOptions::default() }
}

/// What a service saw, and the other sides of what it accepted.
pub struct Accepted {
    pub requests: Arc<Mutex<Vec<String>>>,
    pub streams: UnboundedReceiver<DuplexStream>,
}

impl Accepted {
    pub async fn stream(&mut self) -> DuplexStream {
        self.streams.recv().await.unwrap()
    }

    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Serves a connection whose upgrades are all accepted.
pub fn accepting(options: ServerOptions) -> (DuplexStream, ServedConnection, Accepted) {
    accepting_until(options, std::future::pending)
}

/// The same, until `end` is ready.
pub fn accepting_until<E>(
    options: ServerOptions,
    end: impl Fn() -> E + Send + Sync + 'static,
) -> (DuplexStream, ServedConnection, Accepted)
where
    E: Future<Output = ()> + Send + 'static,
{
    let (give, streams) = unbounded_channel();
    let requests = Arc::default();
    let seen = Arc::clone(&requests);
    let (io, served) = ServedConnection::start(options, move |request| {
        let answer = accept(request, &seen, &give, end());
        async move { answer }
    });
    (io, served, Accepted { requests, streams })
}

fn accept(
    mut request: Request<Body>,
    seen: &Mutex<Vec<String>>,
    give: &UnboundedSender<DuplexStream>,
    end: impl Future<Output = ()> + Send + 'static,
) -> Response<Body> {
    let upgrade = UpgradeRequest::take(&mut request);
    let protocol = upgrade.as_ref().map(|upgrade| upgrade.protocol().to_owned());
    let line = format!("{} {} {protocol:?}", request.method(), request.uri().path());
    seen.lock().unwrap().push(line);
    let Some(upgrade) = upgrade else { return Response::new(Body::full("no upgrade".into())) };
    let (near, far) = duplex(ROOM);
    let _ = give.send(far);
    let mut backend = Response::new(());
    backend.headers_mut().insert("x-backend", http::HeaderValue::from_static("yes"));
    backend.headers_mut().insert("sec-websocket-accept", http::HeaderValue::from_static("other"));
    upgrade.accept_until(backend, near, end)
}

/// Reads an answer's head.
pub async fn head(io: &mut (impl tokio::io::AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    let read = async {
        while !head.ends_with(b"\r\n\r\n") {
            head.push(io.read_u8().await.unwrap());
        }
    };
    timeout(LONGEST_WAIT, read).await.unwrap();
    String::from_utf8(head).unwrap()
}

/// Requests an upgrade, and reads the head of its answer.
pub async fn upgrade(io: &mut DuplexStream) -> String {
    io.write_all(UPGRADE.as_bytes()).await.unwrap();
    head(io).await
}

/// Reads exactly these bytes.
pub async fn expect(io: &mut (impl tokio::io::AsyncRead + Unpin), bytes: &[u8]) {
    let mut read = vec![0; bytes.len()];
    timeout(LONGEST_WAIT, io.read_exact(&mut read)).await.unwrap().unwrap();
    assert_eq!(read, bytes);
}

/// Reads to the end; what came until an error otherwise.
pub async fn rest(io: &mut (impl tokio::io::AsyncRead + Unpin)) -> Vec<u8> {
    let mut rest = Vec::new();
    let _ = timeout(Duration::from_secs(3600 * 24), io.read_to_end(&mut rest)).await;
    rest
}
