//! Clients that keep a server waiting.

use http::StatusCode;
use tessera_proxy::http::server::{Cause, KeepAlive, ServerOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep};

use super::raw::*;
use super::served::{SECOND, ServedConnection, echo, never, status};

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_request_ends() {
    for begins in [false, true] {
        let started = Instant::now();
        let options = ServerOptions { keep_alive: None, ..ServerOptions::default() };
        let (io, served) = ServedConnection::start(options, echo);
        let client = if begins { Raw::begin(io, &[]).await } else { Raw { io } };
        let ended = served.ended().await;
        assert!(matches!(ended.cause, Cause::Idle), "{ended:?}");
        let took = started.elapsed();
        assert!((600 * SECOND..640 * SECOND).contains(&took), "{took:?}");
        drop(client);
    }
}

#[tokio::test(start_paused = true)]
async fn half_a_preface_ends_the_connection() {
    let started = Instant::now();
    let (mut io, served) = ServedConnection::start(ServerOptions::default(), echo);
    io.write_all(b"PRI * HTTP/2.0").await.unwrap();
    assert!(matches!(served.ended().await.cause, Cause::SlowHead));
    assert!(started.elapsed() < 13 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn half_a_head_of_http2_ends_with_the_keep_alive() {
    let started = Instant::now();
    let (io, served) = ServedConnection::start(ServerOptions::default(), echo);
    let mut client = Raw::begin(io, &[]).await;
    // No frame may come between it and its CONTINUATION: no answer to a PING either.
    client.write(&frame(HEADERS, END_STREAM, 1, &head("GET"))).await;
    assert!(matches!(served.ended().await.cause, Cause::NoPong));
    assert!(started.elapsed() <= 82 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_answers_pings_stays_and_one_that_is_gone_does_not() {
    let keep_alive = Some(KeepAlive { interval: 5 * SECOND, timeout: 2 * SECOND });
    let options = ServerOptions { keep_alive, ..ServerOptions::default() };
    let (io, served) = ServedConnection::start(options, echo);
    let started = Instant::now();
    let mut client = Raw::begin(io, &[]).await;
    let mut pings = 0;
    while pings < 10 {
        let got = client.read().await.unwrap();
        pings += usize::from(got.kind == PING);
        client.acknowledge(&got).await;
    }
    assert!(started.elapsed() >= 50 * SECOND);
    assert!(matches!(served.ended().await.cause, Cause::NoPong));
    assert!(started.elapsed() <= 60 * SECOND, "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_request_without_an_answer_is_answered_in_time() {
    let (io, _served) = ServedConnection::start(ServerOptions::default(), never);
    let mut client = Raw::begin(io, &[]).await;
    let started = Instant::now();
    client.get(1).await;
    assert_eq!(client.next(HEADERS).await.unwrap().status(), 504);
    let took = started.elapsed();
    assert!((60 * SECOND..62 * SECOND).contains(&took), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stops_is_noticed() {
    let (io, _served) = ServedConnection::start(ServerOptions::default(), echo);
    let mut client = Raw::begin(io, &[]).await;
    let started = Instant::now();
    client.write(&frame(HEADERS, END_HEADERS, 1, &head("POST"))).await;
    client.write(&frame(DATA, 0, 1, b"some")).await;
    assert_eq!(client.next(HEADERS).await.unwrap().status(), 408);
    assert_eq!(started.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_byte_a_second_is_too_slow_in_the_end() {
    let (io, _served) = ServedConnection::start(ServerOptions::default(), echo);
    let mut client = Raw::begin(io, &[]).await;
    let started = Instant::now();
    client.write(&frame(HEADERS, END_HEADERS, 1, &head("POST"))).await;
    let answer = loop {
        tokio::select! {
            answer = client.next(HEADERS) => break answer.unwrap(),
            () = sleep(SECOND) => {
                client.write(&frame(DATA, 0, 1, b"x")).await;
            }
        }
    };
    assert_eq!(answer.status(), 408);
    assert!(started.elapsed() < 62 * SECOND);
    // RFC 9113 §8.1: the rest of the request isn't needed. NO_ERROR.
    assert_eq!(client.next(RST_STREAM).await.unwrap().error(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_slow_request_delays_no_other() {
    let (io, _served) = ServedConnection::start(ServerOptions::default(), |request| async move {
        if request.method() == http::Method::GET {
            status(StatusCode::NO_CONTENT)
        } else {
            echo(request).await
        }
    });
    let mut client = Raw::begin(io, &[]).await;
    client.write(&frame(HEADERS, END_HEADERS, 1, &head("POST"))).await;
    let started = Instant::now();
    for stream in (3..103).step_by(2) {
        client.get(stream).await;
        let answer = client.next(HEADERS).await.unwrap();
        assert_eq!((answer.stream, answer.status()), (stream, 204));
    }
    assert_eq!(started.elapsed().as_millis(), 0);
}

#[tokio::test(start_paused = true)]
async fn half_a_head_of_http1_is_answered_by_408() {
    for pieces in [vec!["GET / HTTP/1.1\r\nhost: a\r\n"], vec!["G", "E", "T", " ", "/", " H", "T"]]
    {
        let started = Instant::now();
        let (mut io, served) = ServedConnection::start(ServerOptions::default(), echo);
        for piece in pieces {
            io.write_all(piece.as_bytes()).await.unwrap();
            sleep(SECOND).await;
        }
        let mut answer = String::new();
        io.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
        drop(io);
        assert!(matches!(served.ended().await.cause, Cause::SlowHead));
        let took = started.elapsed();
        assert!((10 * SECOND..14 * SECOND).contains(&took), "{took:?}");
    }
}
