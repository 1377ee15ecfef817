//! HTTP/1.1 clients, and requests that two readers could parse differently.

use std::sync::{Arc, Mutex};

use http::{Request, Response};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::server::{Cause, ConnectionSummary, ServerOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep};

use super::served::{SECOND, ServedConnection, echo, large, never};

/// The requests that the service saw, and what the client received until the end of the connection.
struct ServedRequests {
    requests: Vec<String>,
    answers: String,
    ended: ConnectionSummary,
}

/// Sends bytes, and reads until the server closes the connection, or for a second.
async fn send(bytes: &[u8]) -> ServedRequests {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = requests.clone();
    let (mut io, served) = ServedConnection::start(ServerOptions::default(), move |request| {
        let seen = seen.clone();
        async move {
            let (head, body) = request.into_parts();
            let mut line = format!("{} {}", head.method, head.uri);
            for name in ["content-length", "transfer-encoding"] {
                if head.headers.contains_key(name) {
                    line.push_str(&format!(" {name}"));
                }
            }
            let body = body.collect_up_to(1 << 20).await.map(|body| body.data);
            line.push_str(&format!(" {:?}", body.unwrap_or_default()));
            seen.lock().unwrap().push(line);
            Response::new(Body::empty())
        }
    });
    io.write_all(bytes).await.unwrap();
    let mut answers = Vec::new();
    let _ = tokio::time::timeout(SECOND, io.read_to_end(&mut answers)).await;
    drop(io);
    let ended = served.ended().await;
    let requests = requests.lock().unwrap().clone();
    ServedRequests { requests, answers: String::from_utf8(answers).unwrap(), ended }
}

fn statuses(answers: &str) -> Vec<&str> {
    answers.split("HTTP/1.").skip(1).map(|answer| &answer[2..5]).collect()
}

#[tokio::test(start_paused = true)]
async fn requests_come_one_after_another() {
    let seen = send(
        b"POST /1 HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello\
          POST /2 HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n\
          GET /3 HTTP/1.1\r\nhost: a\r\n\r\n\
          GET /4 HTTP/1.0\r\n\r\n",
    )
    .await;
    let expected = [
        "POST /1 content-length b\"hello\"",
        "POST /2 transfer-encoding b\"hi\"",
        "GET /3 b\"\"",
        "GET /4 b\"\"",
    ];
    assert_eq!(seen.requests, expected);
    assert_eq!(statuses(&seen.answers), ["200"; 4]);
    assert!(matches!(seen.ended.cause, Cause::Closed), "{:?}", seen.ended);
    assert_eq!(seen.ended.requests, 4);
}

#[tokio::test(start_paused = true)]
async fn content_length_next_to_chunked_smuggles_no_second_request() {
    // RFC 9112 §6.1: the chunks determine the length, and the connection ends after the answer.
    for fields in [
        "content-length: 4\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 4\r\n",
        "content-length: 4\r\ncontent-length: 100\r\ntransfer-encoding: chunked\r\n",
    ] {
        let asked = format!(
            "POST / HTTP/1.1\r\nhost: a\r\n{fields}\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n"
        );
        let seen = send(asked.as_bytes()).await;
        assert!(
            seen.requests.iter().all(|request| !request.contains("smuggled")),
            "{:?}",
            seen.requests
        );
        assert!(
            seen.requests.iter().all(|request| !request.contains("content-length")),
            "{:?}",
            seen.requests
        );
        assert_eq!(statuses(&seen.answers).len(), 1, "{}", seen.answers);
    }
}

#[tokio::test(start_paused = true)]
async fn heads_that_can_be_read_in_two_ways_are_answered_by_400() {
    for bad in [
        "transfer-encoding: xchunked\r\n",
        "transfer-encoding: chunked, identity\r\n",
        "transfer-encoding: identity\r\n",
        "transfer-encoding: \r\n",
        "transfer-encoding : chunked\r\n",
        " transfer-encoding: chunked\r\n",
        "transfer-encoding\x0b: chunked\r\n",
        "content-length: 4\r\ncontent-length: 5\r\n",
        "content-length: 4, 5\r\n",
        "content-length: +4\r\n",
        "content-length: -1\r\n",
        "content-length: 0x4\r\n",
        "content-length: 99999999999999999999\r\n",
        "content-length: \r\n",
        "content-length : 4\r\n",
        "x: a\rtransfer-encoding: chunked\r\n",
        "x: a\0b\r\n",
        "x: folded\r\n  line\r\n",
        "host: b\r\n",
        "no colon\r\n",
    ] {
        let asked = format!(
            "POST / HTTP/1.1\r\nhost: a\r\n{bad}\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n"
        );
        let seen = send(asked.as_bytes()).await;
        assert_eq!(statuses(&seen.answers).first(), Some(&"400"), "{bad:?}: {}", seen.answers);
        assert_eq!(seen.requests.iter().filter(|request| request.contains("POST")).count(), 0);
    }
    for bad in [
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n",
        "GET / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n",
        "GET / HTTP/9.9\r\nhost: a\r\n\r\n",
        "GET  / HTTP/1.1\r\nhost: a\r\n\r\n",
        "G\0T / HTTP/1.1\r\nhost: a\r\n\r\n",
        "\x01\x02\x03\r\n\r\n",
    ] {
        let seen = send(bad.as_bytes()).await;
        assert_eq!(statuses(&seen.answers), ["400"], "{bad:?}: {}", seen.answers);
        assert!(seen.requests.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn lines_that_end_in_lf_alone_are_read_as_one_request() {
    // RFC 9112 §2.2 allows a reader to accept them.
    let seen = send(b"GET /lf HTTP/1.1\nhost: a\n\n").await;
    assert_eq!(seen.requests, ["GET /lf b\"\""]);
    // Within chunks it doesn't.
    let seen = send(
        b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5\nhello\n0\n\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n",
    )
    .await;
    assert!(
        seen.requests.iter().all(|request| !request.contains("smuggled")),
        "{:?}",
        seen.requests
    );
}

#[tokio::test(start_paused = true)]
async fn chunks_that_lie_end_the_connection() {
    for chunks in [
        "x\r\n",
        "-1\r\n",
        "fffffffffffffffff\r\nhi",
        "5\r\nhelloXX0\r\n\r\n",
        "2;\n\r\nhi\r\n0\r\n\r\n",
    ] {
        let asked = format!(
            "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n{chunks}GET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n"
        );
        let seen = send(asked.as_bytes()).await;
        assert!(
            seen.requests.iter().all(|request| !request.contains("smuggled")),
            "{:?}",
            seen.requests
        );
    }
}

#[tokio::test(start_paused = true)]
async fn heads_that_are_too_large_get_431() {
    let long = "v".repeat(70 * 1024);
    for (asked, status) in [
        (format!("GET / HTTP/1.1\r\nhost: a\r\nx: {long}\r\n\r\n"), "431"),
        (format!("GET / HTTP/1.1\r\nhost: a\r\n{}\r\n", "x: y\r\n".repeat(200)), "431"),
        (format!("GET / HTTP/1.1\r\nhost: a\r\n{}", "x: y\r\n".repeat(20_000)), "431"),
    ] {
        let seen = send(asked.as_bytes()).await;
        assert_eq!(statuses(&seen.answers), [status]);
        assert!(seen.requests.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_too_long_is_refused_before_it_arrives() {
    let asked = format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\nxxx", 1_u64 << 40);
    let seen = send(asked.as_bytes()).await;
    assert_eq!(statuses(&seen.answers), ["413"]);
    assert!(seen.answers.contains("connection: close"), "{}", seen.answers);
    assert!(seen.requests.is_empty());
}

#[tokio::test(start_paused = true)]
async fn trailers_come_through() {
    let seen_by_service = Arc::new(Mutex::new(None));
    let trailers = seen_by_service.clone();
    let (mut io, _served) =
        ServedConnection::start(ServerOptions::default(), move |request: Request<Body>| {
            let trailers = trailers.clone();
            async move {
                let collected = request.into_body().collect_up_to(100).await.unwrap();
                *trailers.lock().unwrap() = collected.trailers;
                Response::new(Body::full(collected.data))
            }
        });
    io.write_all(b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nchecksum: 7\r\n\r\n")
        .await
        .unwrap();
    let mut answer = [0; 12];
    io.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    assert_eq!(seen_by_service.lock().unwrap().as_ref().unwrap()["checksum"], "7");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_expects_it_gets_100_continue() {
    let (mut io, _served) = ServedConnection::start(ServerOptions::default(), echo);
    io.write_all(
        b"POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n",
    )
    .await
    .unwrap();
    let mut answer = [0; 25];
    io.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100 Continue\r\n\r\n");
    io.write_all(b"hi").await.unwrap();
    io.read_exact(&mut answer[..12]).await.unwrap();
    assert_eq!(&answer[..12], b"HTTP/1.1 200");
}

#[tokio::test(start_paused = true)]
async fn slow_bodies_and_late_answers_end_the_connection() {
    // Half a body; a byte each second; a complete request without an answer.
    for (asked, drips, never_answers, status, seconds) in [
        ("content-length: 5\r\n\r\nhe", false, false, "408", 30),
        ("content-length: 500\r\n\r\n", true, false, "408", 60),
        ("content-length: 2\r\n\r\nhi", false, true, "504", 60),
    ] {
        let (mut io, served) =
            ServedConnection::start(ServerOptions::default(), move |request| async move {
                if never_answers { drain_and_wait(request).await } else { echo(request).await }
            });
        let started = Instant::now();
        let asked = format!("POST / HTTP/1.1\r\nhost: a\r\n{asked}");
        io.write_all(asked.as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        loop {
            tokio::select! {
                read = io.read_exact(&mut answer) => { read.unwrap(); break }
                () = sleep(SECOND), if drips => io.write_all(b"x").await.unwrap(),
            };
        }
        assert_eq!(std::str::from_utf8(&answer).unwrap(), format!("HTTP/1.1 {status}"));
        let took = started.elapsed().as_secs();
        assert!((seconds..seconds + 2).contains(&took), "{took}");
        drop(io);
        served.ended().await;
    }
}

async fn drain_and_wait(request: Request<Body>) -> Response<Body> {
    let request = Request::new(request.into_body().collect_up_to(10).await.unwrap().into());
    never(request).await
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_no_one_reads_is_cut() {
    let (mut io, served) = ServedConnection::start(ServerOptions::default(), large(10 << 20));
    let started = Instant::now();
    io.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    let ended = served.ended().await;
    assert!(matches!(ended.cause, Cause::Stalled), "{ended:?}");
    assert!((30..33).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_taken_byte_by_byte_ends_with_its_exchange() {
    let (mut io, served) = ServedConnection::start(ServerOptions::default(), large(10 << 20));
    let started = Instant::now();
    io.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    let ended = tokio::spawn(served.ended());
    while !ended.is_finished() {
        sleep(20 * SECOND).await;
        let _ = io.read(&mut [0; 100]).await;
    }
    let ended = ended.await.unwrap();
    assert!(matches!(ended.cause, Cause::SlowExchange), "{ended:?}");
    assert!((900..930).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_connection_waits_for_its_next_request_and_not_for_ever() {
    let (mut io, served) = ServedConnection::start(ServerOptions::default(), echo);
    let started = Instant::now();
    for _ in 0..3 {
        sleep(500 * SECOND).await;
        io.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        let mut answer = [0; 1000];
        let len = io.read(&mut answer).await.unwrap();
        assert!(answer[..len].starts_with(b"HTTP/1.1 200"));
    }
    let mut rest = Vec::new();
    io.read_to_end(&mut rest).await.unwrap();
    drop(io);
    assert!(matches!(served.ended().await.cause, Cause::Idle));
    assert!((2100..2105).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
}
