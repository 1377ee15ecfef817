//! Requests received before the handshake is complete (RFC 8470).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use tessera::resume::{Continuation, OneTimeKeyGuard, ReplayGuard};
use tessera::{ClientConfig, ServerConfig};
use tessera_interop::{KeyKind, Pki};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::server::{AcceptedConnection, Early, ServerOptions};
use tessera_tokio::http::{EARLY_DATA, EarlyRequest};
use tessera_tokio::{Acceptor, ClientStream, Connector, MemorySessionStore};
use tessera_vault::{MemoryRegister, MemoryVault};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::raw::*;
use super::served::ServedConnection;

/// A client that has a ticket, and its server.
pub struct Ends {
    connector: Connector,
    acceptor: Acceptor,
}

impl Ends {
    async fn new(
        protocol: &[u8],
        allow: impl FnOnce(&mut ClientConfig, &mut ServerConfig),
    ) -> Self {
        let pki = Pki::new();
        let mut client = tessera_interop::client(&pki);
        let mut server = tessera_interop::server(&pki.server(KeyKind::P256));
        client.protocols = vec![protocol.to_vec()];
        server.protocols = client.protocols.clone();
        allow(&mut client, &mut server);
        let connector = Connector::new(client.checked().unwrap())
            .with_sessions(Arc::new(MemorySessionStore::default()));
        let acceptor = Acceptor::new(server.checked().unwrap());
        let (near, far) = duplex(64 * 1024);
        let (mut near, mut far) = tokio::try_join!(
            connector.connect(tessera_interop::to(None), near),
            acceptor.accept(far)
        )
        .unwrap();
        far.shutdown().await.unwrap();
        near.read_to_end(&mut Vec::new()).await.unwrap();
        Self { connector, acceptor }
    }

    /// A client whose early data the server has, and whose handshake isn't complete.
    pub async fn begin(
        &self,
        early: &[u8],
        options: ServerOptions,
    ) -> (ClientStream<DuplexStream>, ServedConnection) {
        let (near, far) = duplex(64 * 1024);
        let mut client = self.connector.start(tessera_interop::to(None), near).await.unwrap();
        assert_eq!(client.write_early(early).await.unwrap(), early.len());
        let accepted = AcceptedConnection::tls(self.acceptor.accept_early(far).await.unwrap());
        let served = ServedConnection::of(accepted, options, tell);
        // The server, on this thread, reads everything before the client reads, which completes the handshake.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        (client, served)
    }
}

/// Replayable early data.
async fn replayable(protocol: &[u8]) -> Ends {
    Ends::new(protocol, |client, server| {
        client.policy.early_data.replayable_without_forward_secrecy = true;
        server.policy.early_data.replayable_without_forward_secrecy = Some(ReplayGuard {
            register: Arc::new(MemoryRegister::new(1000, Duration::ZERO)),
            max_early_data_size: 16 * 1024,
        });
    })
    .await
}

/// Early data that is accepted at most once.
pub async fn forward_secret(protocol: &[u8]) -> Ends {
    Ends::new(protocol, |client, server| {
        client.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
        let guard = OneTimeKeyGuard::new(Arc::new(MemoryVault::new(1000)));
        server.policy.early_data.forward_secret = Some(guard);
    })
    .await
}

/// Answers how a request came: marked, possibly a replay, with the field that announces it.
async fn tell(request: Request<Body>) -> Response<Body> {
    let early = request.extensions().get::<EarlyRequest>().map(EarlyRequest::is_replayable);
    let field = request.headers().contains_key(EARLY_DATA);
    let text = format!("{} {early:?} {field}", request.method());
    Response::new(Body::full(Bytes::from(text)))
}

fn asks(stream: u32, method: Method) -> Vec<u8> {
    frame(HEADERS, END_STREAM | END_HEADERS, stream, &head(method.as_str()))
}

/// Returns the next answers, in order of completion: stream, status and text.
async fn answers(
    client: &mut Raw<ClientStream<DuplexStream>>,
    count: usize,
) -> Vec<(u32, u16, String)> {
    let (mut begun, mut ended) = (Vec::<(u32, u16, String)>::new(), Vec::new());
    while ended.len() < count {
        let frame = client.read().await.unwrap();
        client.acknowledge(&frame).await;
        match frame.kind {
            HEADERS => begun.push((frame.stream, frame.status(), String::new())),
            DATA => {
                let answer = begun.iter_mut().find(|(stream, ..)| *stream == frame.stream);
                answer.unwrap().2.push_str(std::str::from_utf8(&frame.payload).unwrap());
            }
            _ => continue,
        }
        if frame.flags & END_STREAM != 0 {
            let at = begun.iter().position(|(stream, ..)| *stream == frame.stream).unwrap();
            ended.push(begun.remove(at));
        }
    }
    ended
}

#[tokio::test]
async fn a_possible_replay_that_is_not_safe_is_too_early() {
    let ends = replayable(b"h2").await;
    let early = [preface(&[]), asks(1, Method::GET), asks(3, Method::POST)].concat();
    let (io, served) = ends.begin(&early, ServerOptions::default()).await;
    let mut client = Raw { io };
    // The server answers before it has the client's Finished.
    let mut early = answers(&mut client, 2).await;
    early.sort();
    assert_eq!(early, [(1, 200, "GET Some(true) true".into()), (3, 425, String::new())]);
    // Reading has completed the handshake.
    client.write(&asks(5, Method::POST)).await;
    assert_eq!(answers(&mut client, 1).await, [(5, 200, "POST None false".into())]);
    drop(client);
    assert_eq!(served.ended().await.requests, 3);
}

#[tokio::test]
async fn a_request_accepted_once_is_processed() {
    let ends = forward_secret(b"h2").await;
    let early = [preface(&[]), asks(1, Method::POST)].concat();
    let (io, _served) = ends.begin(&early, ServerOptions::default()).await;
    let mut client = Raw { io };
    assert_eq!(answers(&mut client, 1).await, [(1, 200, "POST Some(false) false".into())]);
}

#[tokio::test]
async fn a_product_decides_what_may_be_early() {
    let ends = forward_secret(b"h2").await;
    let early = Arc::new(|request: &Request<Body>| match *request.method() {
        Method::GET => Early::Process,
        Method::PUT => Early::Wait,
        _ => Early::Refuse,
    });
    let options = ServerOptions { early, ..ServerOptions::default() };
    let early = [preface(&[]), asks(1, Method::PUT), asks(3, Method::POST), asks(5, Method::GET)];
    let (io, _served) = ends.begin(&early.concat(), options).await;
    let mut client = Raw { io };
    let mut all = answers(&mut client, 3).await;
    // The waiting request is answered last: the client completed the handshake after the other answers.
    assert_eq!(all.pop(), Some((1, 200, "PUT Some(false) false".into())));
    all.sort();
    assert_eq!(all, [(3, 425, String::new()), (5, 200, "GET Some(false) false".into())]);
}

#[tokio::test]
async fn over_http1_a_replayable_get_is_served_and_a_post_gets_425() {
    for (method, status, text) in
        [("GET", "200", "GET Some(true) true"), ("POST", "425", "content-length: 0")]
    {
        let ends = replayable(b"http/1.1").await;
        let early = format!("{method} / HTTP/1.1\r\nhost: a\r\n\r\n");
        let (mut client, _served) = ends.begin(early.as_bytes(), ServerOptions::default()).await;
        let mut answer = [0; 1000];
        let len = client.read(&mut answer).await.unwrap();
        let answer = std::str::from_utf8(&answer[..len]).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.contains(text), "{answer}");
    }
}

#[tokio::test]
async fn a_request_of_http1_that_waits_is_served_after_the_handshake() {
    let ends = replayable(b"http/1.1").await;
    let options = ServerOptions { early: Arc::new(|_| Early::Wait), ..ServerOptions::default() };
    let early = b"POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    let (mut client, served) = ends.begin(early, options).await;
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    // It is marked as received early, but isn't early any more.
    assert!(answer.ends_with("POST Some(false) true"), "{answer}");
    drop(client);
    served.ended().await;
}
