//! A pool's upgrades: what is sent, and what servers answer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use tessera_interop::SERVER_NAME;
use tessera_proxy::address::DialAddress;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::{
    Call, CallErrorKind, Delivery, Permission, Plaintext, Pool, PoolOptions, Protocol, Tls,
    UpgradeOutcome, UpgradedStream,
};
use tessera_proxy::http::deadline::Deadline;
use tessera_tokio::Connector;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::service::{expect, head, rest};
use crate::http_client::raw::{Next, RawServer, ServerStep, frame, ok_and_more, pool_to};
use crate::http_client::site::Site;

/// A server that answers each head with these bytes, in which `{accept}` is what answers the key, and then echoes.
async fn answering(answer: &'static str) -> (SocketAddr, UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, told) = unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let tell = tell.clone();
            tokio::spawn(async move {
                let asked = head(&mut socket).await;
                let key = asked.lines().find_map(|line| line.strip_prefix("sec-websocket-key: "));
                let accept = tokio_tungstenite::tungstenite::handshake::derive_accept_key(
                    key.unwrap_or_default().as_bytes(),
                );
                let _ = tell.send(asked);
                socket.write_all(answer.replace("{accept}", &accept).as_bytes()).await.unwrap();
                let (mut from, mut to) = socket.split();
                let _ = tokio::io::copy(&mut from, &mut to).await;
            });
        }
    });
    (address, told)
}

const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nconnection: keep-alive, Upgrade\r\nupgrade: WebSocket\r\nsec-websocket-accept: {accept}\r\nsec-websocket-protocol: chat\r\n\r\n";

fn pool(address: SocketAddr) -> Pool {
    pool_of(address, PoolOptions::default())
}

fn pool_of(address: SocketAddr, options: PoolOptions) -> Pool {
    Pool::new(Arc::new(Plaintext(Protocol::Http2)), DialAddress::Tcp(address), options)
}

/// As a client's request, with fields of its connection.
fn asked() -> Request<Body> {
    Request::get("http://peer.example/chat?x")
        .header("connection", "upgrade, x-hop")
        .header("upgrade", "websocket")
        .header("x-hop", "1")
        .header("origin", "there")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("sec-websocket-version", "13")
        .body(Body::empty())
        .unwrap()
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(10))
}

async fn switched(pool: &Pool) -> UpgradedStream {
    let answer = pool.upgrade(asked(), "websocket", soon()).await.unwrap();
    let UpgradeOutcome::Switched(response, stream) = answer.outcome else { panic!("refused") };
    let names: Vec<&str> = response.headers().keys().map(http::HeaderName::as_str).collect();
    assert_eq!(names, ["sec-websocket-protocol"]);
    stream
}

#[tokio::test]
async fn an_upgrade_has_a_connection_and_a_key_of_its_own() {
    let (address, mut told) = answering(SWITCH).await;
    let pool = pool(address);
    for _ in 0..2 {
        let mut stream = switched(&pool).await;
        stream.write_all(b"there").await.unwrap();
        expect(&mut stream, b"there").await;
        let head = told.recv().await.unwrap();
        assert!(head.starts_with("GET /chat?x HTTP/1.1\r\n"), "{head}");
        for field in
            ["connection: upgrade", "upgrade: websocket", "origin: there", "host: peer.example"]
        {
            assert!(head.contains(&format!("\r\n{field}\r\n")), "{head}");
        }
        assert_eq!(head.matches("sec-websocket-key: ").count(), 1, "{head}");
        for not in ["x-hop", "dGhlIHNhbXBsZSBub25jZQ==", "content-length"] {
            assert!(!head.contains(not), "{head}");
        }
        stream.shutdown().await.unwrap();
        assert_eq!(rest(&mut stream).await, b"");
    }
    assert_eq!(pool.status().connections, 0);
}

#[tokio::test]
async fn bytes_that_arrive_with_the_101_are_not_lost() {
    const EARLY: &str = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-protocol: chat\r\nsec-websocket-accept: {accept}\r\n\r\nHTTP/1.1 200 OK\r\n\r\n";
    let (address, _told) = answering(EARLY).await;
    let mut stream = switched(&pool(address)).await;
    expect(&mut stream, b"HTTP/1.1 200 OK\r\n\r\n").await;
    stream.write_all(b"there").await.unwrap();
    expect(&mut stream, b"there").await;
}

#[tokio::test]
async fn a_refusal_has_its_body_and_its_connection_is_not_used_again() {
    for answer in [
        "HTTP/1.1 403 Forbidden\r\ncontent-length: 7\r\n\r\nnot you",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n7\r\nnot you\r\n0\r\n\r\n",
    ] {
        let (address, mut told) = answering(answer).await;
        let pool = pool(address);
        for _ in 0..2 {
            let answer = pool.upgrade(asked(), "websocket", soon()).await.unwrap();
            let UpgradeOutcome::Refused(response) = answer.outcome else { panic!("switched") };
            assert_eq!(pool.status().upgrades, 1);
            let body = response.into_body().collect_up_to(100).await.unwrap();
            assert_eq!(body.data, "not you");
            assert_eq!(pool.status().upgrades, 0);
            told.recv().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_101_that_was_not_asked_for_is_an_error() {
    for answer in [
        "HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
        "HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
        "HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: h2c\r\nsec-websocket-accept: {accept}\r\n\r\n",
        "HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: websocket, h2c\r\nsec-websocket-accept: {accept}\r\n\r\n",
        "HTTP/1.1 101 x\r\nupgrade: websocket\r\nsec-websocket-accept: {accept}\r\n\r\n",
        "HTTP/1.1 101 x\r\n\r\n",
    ] {
        let (address, _told) = answering(answer).await;
        let error = pool(address).upgrade(asked(), "websocket", soon()).await.unwrap_err();
        assert_eq!(error.kind, CallErrorKind::InvalidSwitch, "{answer}");
        assert_eq!(error.sent, Delivery::Maybe);
    }
}

#[tokio::test]
async fn only_a_get_without_content_is_sent() {
    let (address, mut told) = answering(SWITCH).await;
    let post = Request::post("http://peer.example/x").body(Body::empty()).unwrap();
    let with_body = Request::get("http://peer.example/x").body(Body::full("x".into())).unwrap();
    for request in [post, with_body] {
        let error = pool(address).upgrade(request, "websocket", soon()).await.unwrap_err();
        assert_eq!(error.kind, CallErrorKind::InvalidRequest);
    }
    assert!(told.try_recv().is_err());
}

#[tokio::test]
async fn an_upgrade_is_sent_only_while_it_is_permitted() {
    let (address, mut told) = answering(SWITCH).await;
    let call = Call::until(soon()).while_permitted(Permission::new(|| false));
    let error = pool(address).upgrade(asked(), "websocket", call.clone()).await.unwrap_err();
    assert_eq!((error.kind, error.sent), (CallErrorKind::Withdrawn, Delivery::Nothing));
    assert!(told.try_recv().is_err());
    let server = RawServer::start(|seen| ServerStep::write(ok_and_more(seen.stream))).await;
    let pool = pool_to(&[server.address], PoolOptions::default());
    let error = pool.extended_connect(asked(), "websocket", call).await.unwrap_err();
    assert_eq!((error.kind, server.requests()), (CallErrorKind::Withdrawn, 0));
}

#[tokio::test]
async fn upgrades_are_limited_and_end_with_their_streams() {
    let (address, _told) = answering(SWITCH).await;
    let pool = pool_of(address, PoolOptions { upgrades: 2, ..PoolOptions::default() });
    let streams = [switched(&pool).await, switched(&pool).await];
    let error = pool.upgrade(asked(), "websocket", soon()).await.unwrap_err();
    assert_eq!((error.kind, error.sent), (CallErrorKind::Busy, Delivery::Nothing));
    assert_eq!(pool.status().upgrades, 2);
    drop(streams);
    drop(switched(&pool).await);
    assert_eq!(pool.status().upgrades, 0);
    pool.close();
    let error = pool.upgrade(asked(), "websocket", soon()).await.unwrap_err();
    assert_eq!(error.kind, CallErrorKind::Closed);
}

#[tokio::test]
async fn another_address_is_tried_if_the_first_cannot_be_reached() {
    // Bound, and doesn't listen.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((std::net::Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let closed = socket.local_addr().unwrap();
    let (address, _told) = answering(SWITCH).await;
    let pool = pool_to(&[closed, address], PoolOptions::default());
    switched(&pool).await;
    assert!(pool.status().addresses[0].is_sick);
    let unreachable = pool_to(&[closed], PoolOptions::default());
    let error = unreachable.upgrade(asked(), "websocket", soon()).await.unwrap_err();
    assert_eq!((error.kind, error.sent), (CallErrorKind::Unreachable, Delivery::Nothing));
    // It may have been restarting, and was tried once more.
    assert_eq!(unreachable.status().counts.failed, 2);
}

#[tokio::test]
async fn a_server_that_does_not_answer_costs_only_the_deadline() {
    let (address, _told) = answering("").await;
    let pool = pool(address);
    let deadline = Deadline::after(Duration::from_millis(50));
    let error = pool.upgrade(asked(), "websocket", deadline).await.unwrap_err();
    assert_eq!((error.kind, error.sent), (CallErrorKind::DeadlineExceeded, Delivery::Maybe));
    assert_eq!(pool.status().upgrades, 0);
}

#[tokio::test]
async fn over_tls_an_upgrade_has_a_connector_without_h2() {
    let site = Site::start(&[b"h2", b"http/1.1"]).await;
    let connector = |protocols: &[&[u8]]| {
        let mut config = site.client.clone();
        config.protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Connector::new(config.checked().unwrap())
    };
    let both = || Tls::new(connector(&[b"h2", b"http/1.1"])).named(SERVER_NAME);
    let pool =
        |tls: Tls| Pool::new(Arc::new(tls), DialAddress::Tcp(site.address), PoolOptions::default());
    let error = pool(both()).upgrade(asked(), "websocket", soon()).await.unwrap_err();
    assert_eq!((error.kind, error.sent), (CallErrorKind::NoUpgrade, Delivery::Nothing));
    let separate = both().for_upgrades(connector(&[b"http/1.1"]));
    let answer = pool(separate).upgrade(asked(), "websocket", soon()).await.unwrap();
    assert!(answer.facts().unwrap().peer.is_some());
    // The site has no upgrades.
    let UpgradeOutcome::Refused(response) = answer.outcome else { panic!("switched") };
    assert_eq!(response.status(), 200);
    assert_eq!(site.times("/chat"), 1);
}

const ENABLE_CONNECT_PROTOCOL: (u16, u32) = (8, 1);

#[tokio::test]
async fn extended_connect_needs_the_servers_setting() {
    let without = RawServer::start(|asked| ServerStep::write(ok_and_more(asked.stream))).await;
    let pool = pool_to(&[without.address], PoolOptions::default());
    for _ in 0..2 {
        let error = pool.extended_connect(asked(), "websocket", soon()).await.unwrap_err();
        assert_eq!((error.kind, error.sent), (CallErrorKind::NoUpgrade, Delivery::Nothing));
    }
    assert_eq!(without.requests(), 0);
    let http1 = Plaintext(Protocol::Http1);
    let http1 =
        Pool::new(Arc::new(http1), DialAddress::Tcp(without.address), PoolOptions::default());
    let error = http1.extended_connect(asked(), "websocket", soon()).await.unwrap_err();
    assert_eq!(error.kind, CallErrorKind::NoUpgrade);
}

#[tokio::test]
async fn extended_connect_shares_a_connection() {
    let answer = |asked: crate::http_client::raw::RequestPosition| {
        let data = frame(0, 0, asked.stream, b"hello");
        let step = [ok_and_more(asked.stream), data].concat();
        ServerStep { write: step, next: Next::GoOn }
    };
    let server = RawServer::with_settings(&[ENABLE_CONNECT_PROTOCOL], answer).await;
    let pool = pool_to(&[server.address], PoolOptions::default());
    let mut streams = Vec::new();
    for nth in 1..=3 {
        let answer = pool.extended_connect(asked(), "websocket", soon()).await.unwrap();
        let UpgradeOutcome::Switched(_, mut stream) = answer.outcome else { panic!("refused") };
        let mut hello = [0; 5];
        stream.read_exact(&mut hello).await.unwrap();
        assert_eq!(&hello, b"hello");
        streams.push(stream);
        assert_eq!((pool.status().upgrades, pool.status().in_use), (nth, nth));
    }
    assert_eq!(server.connections(), 1);
    drop(streams);
    assert_eq!((pool.status().upgrades, pool.status().in_use), (0, 0));
}
