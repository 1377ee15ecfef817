//! Connections of a server that shuts down.

use std::time::Duration;

use http::Response;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::server::{Cause, ServerOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep};

use super::raw::*;
use super::served::{SECOND, ServedConnection, echo, never};

/// Answers after five seconds.
async fn late(_: http::Request<Body>) -> Response<Body> {
    sleep(5 * SECOND).await;
    Response::new(Body::full("late".into()))
}

#[tokio::test(start_paused = true)]
async fn requests_of_http2_under_way_are_answered_and_no_others() {
    let (io, served) = ServedConnection::start(ServerOptions::default(), late);
    let mut client = Raw::begin(io, &[]).await;
    client.get(1).await;
    sleep(SECOND).await;
    served.drain();
    // RFC 9113 §6.8: first a GOAWAY that allows all streams, then, once the client has seen it, one with the last
    // stream.
    let first = client.next(GOAWAY).await.unwrap();
    assert_eq!((&first.payload[..4], first.error()), (&[0x7f, 0xff, 0xff, 0xff][..], 0));
    let second = client.next(GOAWAY).await.unwrap();
    assert_eq!((&second.payload[..4], second.error()), (&[0, 0, 0, 1][..], 0));
    client.get(3).await;
    let answer = client.next(HEADERS).await.unwrap();
    assert_eq!((answer.stream, answer.status()), (1, 200));
    assert_eq!(client.next(DATA).await.unwrap().payload, b"late");
    assert!(client.next(HEADERS).await.is_none());
    let ended = served.ended().await;
    assert!(matches!(ended.cause, Cause::Drained { cut: 0 }), "{ended:?}");
    assert_eq!(ended.requests, 1);
}

#[tokio::test(start_paused = true)]
async fn requests_that_do_not_end_are_cut_and_counted() {
    let (io, served) = ServedConnection::start(ServerOptions::default(), never);
    let mut client = Raw::begin(io, &[]).await;
    client.get(1).await;
    client.get(3).await;
    sleep(SECOND).await;
    let started = Instant::now();
    served.drain();
    client.next(GOAWAY).await.unwrap();
    client.next(GOAWAY).await.unwrap();
    let ended = served.ended().await;
    assert!(matches!(ended.cause, Cause::Drained { cut: 2 }), "{ended:?}");
    assert_eq!(started.elapsed().as_secs(), 30);

    let (mut io, served) = ServedConnection::start(ServerOptions::default(), never);
    io.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    sleep(SECOND).await;
    served.drain();
    // The shutdown doesn't wait for the client that isn't answered.
    let read = tokio::spawn(async move { io.read_to_end(&mut Vec::new()).await });
    let ended = served.ended().await;
    assert!(matches!(ended.cause, Cause::Drained { cut: 1 }), "{ended:?}");
    assert_eq!(read.await.unwrap().unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn connections_without_a_request_end_at_once() {
    let started = Instant::now();
    // Before any bytes.
    let (io, served) = ServedConnection::start(ServerOptions::default(), echo);
    served.drain();
    assert!(matches!(served.ended().await.cause, Cause::Drained { cut: 0 }));
    drop(io);
    // HTTP/2, after a request.
    let (io, served) = ServedConnection::start(ServerOptions::default(), echo);
    let mut client = Raw::begin(io, &[]).await;
    client.get(1).await;
    client.next(HEADERS).await.unwrap();
    served.drain();
    while client.next(GOAWAY).await.is_some() {}
    drop(client);
    assert!(matches!(served.ended().await.cause, Cause::Drained { cut: 0 }));
    // HTTP/1.1, after a request.
    let (mut io, served) = ServedConnection::start(ServerOptions::default(), echo);
    io.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    sleep(Duration::from_millis(1)).await;
    served.drain();
    let mut all = String::new();
    io.read_to_string(&mut all).await.unwrap();
    assert!(all.starts_with("HTTP/1.1 200"));
    drop(io);
    assert!(matches!(served.ended().await.cause, Cause::Drained { cut: 0 }));
    assert!(started.elapsed() < SECOND, "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_request_of_http1_under_way_is_answered() {
    let (mut io, served) = ServedConnection::start(ServerOptions::default(), late);
    io.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    sleep(SECOND).await;
    served.drain();
    let mut all = String::new();
    io.read_to_string(&mut all).await.unwrap();
    assert!(all.starts_with("HTTP/1.1 200") && all.ends_with("late"), "{all}");
    assert!(all.contains("connection: close"), "{all}");
    drop(io);
    assert!(matches!(served.ended().await.cause, Cause::Drained { cut: 0 }));
}
