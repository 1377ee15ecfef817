//! Requests that cross the end of an idle HTTP/2 connection.

use http::Response;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::server::{Cause, ServerOptions};
use tokio::time::{Instant, sleep};

use super::raw::*;
use super::served::{SECOND, ServedConnection, never};

/// Shorter than an answer takes.
fn options() -> ServerOptions {
    ServerOptions { idle_time: 10 * SECOND, drain_time: 5 * SECOND, ..ServerOptions::default() }
}

/// Answers after 50 seconds.
async fn late(_: http::Request<Body>) -> Response<Body> {
    sleep(50 * SECOND).await;
    Response::new(Body::full("late".into()))
}

/// Waits for the first GOAWAY of an idle end, which allows all streams, and asks on stream 1. The PING that follows isn't
/// read yet.
async fn ask_at_the_end(io: tokio::io::DuplexStream) -> Raw {
    let mut client = Raw::begin(io, &[]).await;
    let first = client.next(GOAWAY).await.unwrap();
    assert_eq!((&first.payload[..4], first.error()), (&[0x7f, 0xff, 0xff, 0xff][..], 0));
    client.get(1).await;
    client
}

#[tokio::test(start_paused = true)]
async fn a_request_that_crosses_an_idle_end_is_answered_and_a_later_one_never_begins() {
    let (io, served) = ServedConnection::start(options(), late);
    let mut client = ask_at_the_end(io).await;
    let second = client.next(GOAWAY).await.expect("the PING was answered");
    assert_eq!((&second.payload[..4], second.error()), (&[0, 0, 0, 1][..], 0));
    client.get(3).await;
    let answer = client.next(HEADERS).await.expect("the request is answered");
    assert_eq!((answer.stream, answer.status()), (1, 200));
    assert_eq!(client.next(DATA).await.unwrap().payload, b"late");
    assert!(client.next(HEADERS).await.is_none());
    let ended = served.ended().await;
    assert!(matches!(ended.cause, Cause::Idle), "{ended:?}");
    assert_eq!(ended.requests, 1);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_the_last_ping_unanswered_gets_its_answer_too() {
    let options = ServerOptions { keep_alive: None, ..options() };
    let (io, served) = ServedConnection::start(options, late);
    let mut client = ask_at_the_end(io).await;
    let answered = loop {
        let frame = client.read().await.expect("the request is answered");
        if frame.kind == HEADERS {
            break Instant::now();
        }
    };
    let ended = served.ended().await;
    assert!(matches!(ended.cause, Cause::Idle), "{ended:?}");
    let took = answered.elapsed();
    assert!(took <= 6 * SECOND, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn an_idle_end_with_a_request_is_drained_like_any_connection() {
    let (io, served) = ServedConnection::start(options(), never);
    let mut client = ask_at_the_end(io).await;
    client.next(GOAWAY).await.unwrap();
    sleep(20 * SECOND).await;
    let started = Instant::now();
    served.drain();
    let ended = served.ended().await;
    assert!(matches!(ended.cause, Cause::Drained { cut: 1 }), "{ended:?}");
    assert_eq!(started.elapsed().as_secs(), 5);
}
