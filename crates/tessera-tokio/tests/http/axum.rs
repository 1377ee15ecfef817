//! `axum::serve` on a [`TlsListener`].

use std::net::SocketAddr;
use std::sync::Arc;

use crate::common::{
    EarlyDataReport, Ends, destination, ends, forward_secret, replayable, settled,
};
use axum::extract::{ConnectInfo, Request};
use axum::routing::{any, get};
use axum::{Router, middleware};
use tessera::handshake::ClientAuthentication;
use tessera_tokio::http::EarlyRequest;
use tessera_tokio::{Connector, Limits, MemorySessionStore, Server, StreamInfo, TlsListener};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// What a handler observed of its request.
#[derive(Debug, PartialEq, Eq)]
struct SeenRequest {
    method: String,
    is_complete: bool,
    is_marked: bool,
}

/// A server in this process.
struct RunningServer {
    address: SocketAddr,
    seen: mpsc::UnboundedReceiver<SeenRequest>,
    end: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

async fn listener(ends: &Ends) -> TlsListener {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    TlsListener::new(Server::new(socket, ends.acceptor(), Limits::for_connections(64)))
}

fn run(listener: TlsListener) -> RunningServer {
    let address = listener.local_addr().unwrap();
    let (saw, seen) = mpsc::unbounded_channel();
    let note = move |ConnectInfo(client): ConnectInfo<StreamInfo>, request: Request| async move {
        let is_marked = request.extensions().get::<EarlyRequest>().is_some();
        let is_complete = client.watch.is_complete();
        let method = request.method().to_string();
        saw.send(SeenRequest { method, is_complete, is_marked }).unwrap();
        format!("{:?} from {}", client.facts.early_data, client.address.ip())
    };
    let who = async |ConnectInfo(client): ConnectInfo<StreamInfo>| {
        format!("{} bytes", client.facts.peer.as_ref().map_or(0, |peer| peer.blob.len()))
    };
    let router = Router::new()
        .route("/", any(note))
        .route("/who", get(who))
        .layer(middleware::from_fn(tessera_tokio::axum::early_data))
        .into_make_service_with_connect_info::<StreamInfo>();
    let (end, ended) = oneshot::channel();
    let serve = axum::serve(listener, router).with_graceful_shutdown(async move {
        let _ = ended.await;
    });
    RunningServer { address, seen, end, task: tokio::spawn(async move { serve.await }) }
}

impl RunningServer {
    async fn socket(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends one request on its own connection; returns the answer.
    async fn ask(&self, connector: &Connector, method: &str, path: &str) -> String {
        let mut stream = connector.connect(destination(), self.socket().await).await.unwrap();
        stream.write_all(request(method, path).as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        stream.shutdown().await.unwrap();
        answer
    }
}

fn request(method: &str, path: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: server.example\r\nConnection: close\r\n\r\n")
}

/// Sends a request as early data, which the server must accept.
async fn ask_early(server: &RunningServer, connector: &Connector, method: &str) -> String {
    let data = request(method, "/");
    let connecting =
        connector.connect_with_early_data(destination(), server.socket().await, data.as_bytes());
    let (mut stream, told) = settled(connecting.await);
    assert_eq!(told, EarlyDataReport::Accepted(data.len()));
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    stream.shutdown().await.unwrap();
    answer
}

fn with_sessions(ends: &Ends) -> Connector {
    ends.connector().with_sessions(Arc::new(MemorySessionStore::default()))
}

#[tokio::test]
async fn a_forward_secret_early_request_is_handled_before_the_handshake_is_complete() {
    let ends = forward_secret();
    let mut server = run(listener(&ends).await);
    let connector = with_sessions(&ends);
    server.ask(&connector, "GET", "/").await;
    let seen = SeenRequest { method: "GET".into(), is_complete: true, is_marked: false };
    assert_eq!(server.seen.recv().await, Some(seen));
    // Each connection leaves a ticket for the next, although the server closes right after its answer.
    for _ in 0..3 {
        let data = request("DELETE", "/");
        let mut stream = connector.start(destination(), server.socket().await).await.unwrap();
        assert_eq!(stream.write_early(data.as_bytes()).await.unwrap(), data.len());
        // The handler runs before this client has sent its Finished.
        let seen = SeenRequest { method: "DELETE".into(), is_complete: false, is_marked: true };
        assert_eq!(server.seen.recv().await, Some(seen));
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("Accepted from 127.0.0.1"), "{answer}");
        stream.shutdown().await.unwrap();
    }
}

#[tokio::test]
async fn replayable_early_data_waits_unless_its_requests_are_checked() {
    let ends = replayable();
    let mut waiting = run(listener(&ends).await);
    let mut checking = run(listener(&ends).await.with_replayable_early_data());
    let connector = with_sessions(&ends);
    for (server, is_checked) in [(&mut waiting, false), (&mut checking, true)] {
        for method in ["GET", "DELETE"] {
            server.ask(&connector, "GET", "/").await;
            server.seen.recv().await.unwrap();
            let data = request(method, "/");
            let mut stream = connector.start(destination(), server.socket().await).await.unwrap();
            stream.write_early(data.as_bytes()).await.unwrap();
            if is_checked && method == "GET" {
                let seen =
                    SeenRequest { method: method.into(), is_complete: false, is_marked: true };
                assert_eq!(server.seen.recv().await, Some(seen));
            }
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            if is_checked && method == "DELETE" {
                assert!(answer.starts_with("HTTP/1.1 425 Too Early"), "{answer}");
            } else {
                assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            }
            if !is_checked {
                let seen =
                    SeenRequest { method: method.into(), is_complete: true, is_marked: false };
                assert_eq!(server.seen.recv().await, Some(seen));
            }
            assert!(server.seen.try_recv().is_err(), "no more than that was executed");
        }
    }
}

#[tokio::test]
async fn handlers_know_the_clients_identity() {
    let mut ends = ends();
    ends.client.credentials = ends.server.credentials.clone();
    let verifier = ends.client.verifier.clone();
    ends.server.client_authentication = ClientAuthentication::Required(verifier);
    let server = run(listener(&ends).await);
    let connector = with_sessions(&ends);
    // Once with a certificate, and once resumed.
    for _ in 0..2 {
        let answer = server.ask(&connector, "GET", "/who").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(!answer.ends_with(" 0 bytes"), "{answer}");
    }
}

#[tokio::test]
async fn silent_clients_and_garbage_keep_no_other_client_waiting() {
    let ends = ends();
    let server = run(listener(&ends).await);
    let mut silent = Vec::new();
    for bytes in [&b""[..], b"GET / HTTP/1.1\r\n\r\n", &[22, 3, 1, 0, 200, 1, 0, 0, 196], &[0; 7]] {
        let mut socket = server.socket().await;
        socket.write_all(bytes).await.unwrap();
        silent.push(socket);
    }
    // A handshake without a request, then closed.
    let connected = ends.connector().connect(destination(), server.socket().await).await.unwrap();
    drop(connected);
    let answer = server.ask(&ends.connector(), "GET", "/").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_body_that_no_handler_reads_ends_no_more_than_its_connection() {
    let ends = ends();
    let mut server = run(listener(&ends).await);
    let mut stream = ends.connector().connect(destination(), server.socket().await).await.unwrap();
    stream
        .write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n")
        .await
        .unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    // It keeps sending until the write fails.
    while stream.write_all(&[0; 16 * 1024]).await.is_ok() {}
    assert_eq!(server.seen.recv().await.unwrap().method, "POST");
    let answer = server.ask(&ends.connector(), "GET", "/").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_server_that_ends_closes_what_is_not_through_and_finishes_the_rest() {
    let ends = ends();
    let server = run(listener(&ends).await);
    let mut silent = server.socket().await;
    let mut stream = ends.connector().connect(destination(), server.socket().await).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    stream.read_exact(&mut [0; 12]).await.unwrap();
    server.end.send(()).unwrap();
    assert!(!matches!(silent.read(&mut [0]).await, Ok(1..)));
    // A close_notify, no truncation.
    stream.read_to_end(&mut Vec::new()).await.unwrap();
    stream.shutdown().await.unwrap();
    server.task.await.unwrap().unwrap();
    assert!(TcpStream::connect(server.address).await.is_err());
}

#[tokio::test]
async fn an_early_request_of_a_client_that_leaves_at_once_is_handled_once() {
    let ends = forward_secret();
    let mut server = run(listener(&ends).await);
    let connector = with_sessions(&ends);
    server.ask(&connector, "GET", "/").await;
    server.seen.recv().await.unwrap();
    let data = request("DELETE", "/");
    let mut stream = connector.start(destination(), server.socket().await).await.unwrap();
    stream.write_early(data.as_bytes()).await.unwrap();
    assert_eq!(server.seen.recv().await.unwrap().method, "DELETE");
    drop(stream);
    let answer = server.ask(&connector, "GET", "/").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let seen = SeenRequest { method: "GET".into(), is_complete: true, is_marked: false };
    assert_eq!(server.seen.recv().await, Some(seen));
    assert!(server.seen.try_recv().is_err());
    assert!(ask_early(&server, &connector, "GET").await.starts_with("HTTP/1.1 200"));
}
