//! HTTP/1.1: one call at a time, and reused connections.

use std::sync::Arc;
use std::time::Duration;

use tessera_proxy::address::DialAddress;
use tessera_proxy::http::client::{
    CallErrorKind, Delivery, Plaintext, Pool, PoolOptions, Protocol,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;

use super::raw::{call, get, post, within};
use super::site::{H1, Site};

/// A server that passes each request's bytes to the test, and answers with these.
async fn answering(
    answer: &'static [u8],
    closes: bool,
) -> (Pool, UnboundedReceiver<(usize, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, told) = unbounded_channel();
    tokio::spawn(async move {
        for nth in 0.. {
            let (mut socket, _) = listener.accept().await.unwrap();
            let tell = tell.clone();
            tokio::spawn(async move {
                let mut buffer = vec![0; 4096];
                while let Ok(count @ 1..) = socket.read(&mut buffer).await {
                    let text = String::from_utf8(buffer[..count].to_vec()).unwrap();
                    let _ = tell.send((nth, text));
                    socket.write_all(answer).await.unwrap();
                    if closes {
                        return;
                    }
                }
            });
        }
    });
    let connect = Arc::new(Plaintext(Protocol::Http1));
    (Pool::new(connect, DialAddress::Tcp(address), PoolOptions::default()), told)
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

#[tokio::test]
async fn a_connection_is_used_again_when_the_response_was_read() {
    let (pool, mut told) = answering(OK, false).await;
    for _ in 0..3 {
        let answer = pool.call(post(b"body"), call()).await.unwrap();
        let body = answer.response.into_body().collect_up_to(10).await.unwrap();
        assert_eq!(body.data, "ok");
        let (connection, request) = told.recv().await.unwrap();
        assert_eq!(connection, 0);
        assert!(request.starts_with("POST /x HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("host: peer.example\r\n"), "{request}");
        assert!(request.contains("content-length: 4\r\n"), "{request}");
    }
}

#[tokio::test]
async fn an_unread_response_costs_only_its_connection() {
    let (pool, mut told) =
        answering(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok", false).await;
    for nth in 0..3 {
        drop(pool.call(get(), call()).await.unwrap());
        assert_eq!(told.recv().await.unwrap().0, nth);
    }
}

#[tokio::test]
async fn calls_at_a_time_have_connections_of_their_own() {
    let site = Site::start(H1).await;
    let pool = site.pool(PoolOptions { connections: 3, ..PoolOptions::default() });
    let mut calls = JoinSet::new();
    for nth in 0..20 {
        let pool = pool.clone();
        calls.spawn(async move {
            let answer = pool.call(super::site::get(&format!("/{nth}")), call()).await.unwrap();
            answer.response.into_body().collect_up_to(10).await.unwrap();
        });
    }
    calls.join_all().await;
    assert_eq!(site.paths().len(), 20);
    assert!(pool.status().counts.opened <= 3);
}

#[tokio::test]
async fn a_connection_that_ends_with_its_response_is_not_used_again() {
    let (pool, mut told) = answering(OK, true).await;
    for _ in 0..3 {
        let answer = pool.call(get(), call()).await.unwrap();
        answer.response.into_body().collect_up_to(10).await.unwrap();
        while pool.status().connections > 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    let mut connections = Vec::new();
    while let Ok((connection, _)) = told.try_recv() {
        connections.push(connection);
    }
    assert_eq!(connections, [0, 1, 2]);
}

#[tokio::test]
async fn a_malformed_response_is_an_error_and_is_not_retried() {
    for answer in [&b"HTTP/1.1 200"[..], b"SSH-2.0-server\r\n\r\n"] {
        let (pool, mut told) = answering(answer, true).await;
        let error = pool.call(post(b"x"), call()).await.unwrap_err();
        assert_eq!((error.kind, error.sent), (CallErrorKind::ConnectionLost, Delivery::Maybe));
        assert!(told.recv().await.is_some() && told.try_recv().is_err());
    }
}

#[tokio::test]
async fn a_call_that_is_late_costs_its_connection_alone() {
    let (pool, mut told) = answering(b"", false).await;
    for nth in 0..2 {
        let error = pool.call(get(), within(50)).await.unwrap_err();
        assert_eq!((error.kind, error.sent), (CallErrorKind::DeadlineExceeded, Delivery::Maybe));
        assert_eq!(told.recv().await.unwrap().0, nth);
    }
}
