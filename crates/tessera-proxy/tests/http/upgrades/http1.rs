//! HTTP/1.1's Upgrade at the server, and requests that hide behind it.

use http::{Response, StatusCode};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::server::{Cause, ServerOptions, UpgradeEnd};
use tokio::io::AsyncWriteExt;

use super::service::*;
use crate::http_server::served::ServedConnection;

#[tokio::test(start_paused = true)]
async fn bytes_go_both_ways_after_101() {
    let (mut io, served, mut accepted) = accepting(options());
    let head = upgrade(&mut io).await;
    assert!(head.starts_with("HTTP/1.1 101 Switching Protocols\r\n"), "{head}");
    assert!(head.contains("connection: upgrade\r\n"), "{head}");
    assert!(head.contains("upgrade: websocket\r\n"), "{head}");
    // RFC 6455 §1.3 has the answer to this key; the backend's was to another.
    assert!(head.contains("sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"), "{head}");
    assert!(head.contains("x-backend: yes\r\n") && !head.contains("other"), "{head}");
    assert!(!head.contains("content-length") && !head.contains("close"), "{head}");
    assert_eq!(accepted.requests(), ["GET /chat Some(\"websocket\")"]);
    let mut backend = accepted.stream().await;
    for _ in 0..3 {
        io.write_all(b"there").await.unwrap();
        expect(&mut backend, b"there").await;
        backend.write_all(b"and back").await.unwrap();
        expect(&mut io, b"and back").await;
    }
    drop(backend);
    assert_eq!(rest(&mut io).await, b"");
    drop(io);
    let ended = served.ended().await;
    assert!(matches!(ended.cause, Cause::Upgraded(UpgradeEnd::Closed)), "{ended:?}");
    assert_eq!(ended.requests, 1);
}

#[tokio::test(start_paused = true)]
async fn each_side_may_end_its_direction_alone() {
    let (mut io, _served, mut accepted) = accepting(options());
    upgrade(&mut io).await;
    let mut backend = accepted.stream().await;
    io.write_all(b"last").await.unwrap();
    io.shutdown().await.unwrap();
    assert_eq!(rest(&mut backend).await, b"last");
    backend.write_all(b"still").await.unwrap();
    expect(&mut io, b"still").await;

    let (mut io, _served, mut accepted) = accepting(options());
    upgrade(&mut io).await;
    let mut backend = accepted.stream().await;
    backend.shutdown().await.unwrap();
    assert_eq!(rest(&mut io).await, b"");
    io.write_all(b"still").await.unwrap();
    expect(&mut backend, b"still").await;
}

#[tokio::test(start_paused = true)]
async fn the_end_of_one_side_is_that_of_the_other() {
    let (mut io, served, mut accepted) = accepting(options());
    upgrade(&mut io).await;
    let mut backend = accepted.stream().await;
    drop(io);
    assert_eq!(rest(&mut backend).await, b"");
    drop(backend);
    served.ended().await;
}

#[tokio::test(start_paused = true)]
async fn bytes_before_the_101_belong_to_the_other_protocol() {
    let (mut io, served, mut accepted) = accepting(options());
    let smuggled = "GET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n";
    io.write_all(format!("{UPGRADE}{smuggled}").as_bytes()).await.unwrap();
    assert!(head(&mut io).await.starts_with("HTTP/1.1 101"));
    let mut backend = accepted.stream().await;
    expect(&mut backend, smuggled.as_bytes()).await;
    // Nor is anything later a request.
    io.write_all(smuggled.as_bytes()).await.unwrap();
    expect(&mut backend, smuggled.as_bytes()).await;
    drop((io, backend));
    assert_eq!(served.ended().await.requests, 1);
    assert_eq!(accepted.requests().len(), 1);
}

/// Answers with 403, and a body.
async fn forbid(_: http::Request<Body>) -> Response<Body> {
    let mut response = Response::new(Body::full("not you".into()));
    *response.status_mut() = StatusCode::FORBIDDEN;
    response
}

#[tokio::test(start_paused = true)]
async fn bytes_before_a_refusal_are_not_a_request() {
    for together in [true, false] {
        let (mut io, served) = ServedConnection::start(options(), forbid);
        let smuggled = "GET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n";
        io.write_all(UPGRADE.as_bytes()).await.unwrap();
        if together {
            io.write_all(smuggled.as_bytes()).await.unwrap();
        }
        let head = head(&mut io).await;
        assert!(head.starts_with("HTTP/1.1 403"), "{head}");
        assert!(head.contains("connection: close\r\n"), "{head}");
        let _ = io.write_all(smuggled.as_bytes()).await;
        let _ = io.shutdown().await;
        assert_eq!(rest(&mut io).await, b"not you");
        drop(io);
        assert_eq!(served.ended().await.requests, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn improper_upgrades_are_refused_and_end_the_connection() {
    let without = |name: &str| {
        let lines = UPGRADE.split_inclusive("\r\n");
        lines.filter(|line| !line.starts_with(name)).collect::<String>()
    };
    let with = |fields: &str| UPGRADE.replace("\r\n\r\n", &format!("\r\n{fields}\r\n"));
    for bad in [
        UPGRADE.replace("GET", "POST"),
        with("content-length: 4\r\n") + "body",
        with("transfer-encoding: chunked\r\n") + "0\r\n\r\n",
        without("sec-websocket-key"),
        with("sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"),
        UPGRADE.replace("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25j"),
        UPGRADE.replace("dGhlIHNhbXBsZSBub25jZQ==", "?"),
        without("sec-websocket-version"),
        with("sec-websocket-version: 8\r\n"),
    ] {
        let (mut io, served, accepted) = accepting(options());
        io.write_all(bad.as_bytes()).await.unwrap();
        io.write_all(b"GET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        let answer = String::from_utf8(rest(&mut io).await).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400"), "{bad}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
        drop(io);
        served.ended().await;
        assert!(accepted.requests().is_empty(), "{bad}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_that_is_not_one_is_a_request() {
    // RFC 9110 §7.8: ignored over HTTP/1.0, without the connection option, and if the server doesn't want it.
    let offers = options;
    let offers_none = ServerOptions::default;
    for (asked, options) in [
        (UPGRADE.replace("HTTP/1.1", "HTTP/1.0"), offers()),
        (UPGRADE.replace("keep-alive, Upgrade", "keep-alive"), offers()),
        (UPGRADE.replace("keep-alive, Upgrade", "close, upgrade"), offers()),
        (UPGRADE.replace("WebSocket", "h2c, chat"), offers()),
        (UPGRADE.to_owned(), offers_none()),
    ] {
        let (mut io, _served, accepted) = accepting(options);
        io.write_all(asked.as_bytes()).await.unwrap();
        let answer = head(&mut io).await;
        assert!(answer.contains(" 200 OK"), "{asked}: {answer}");
        assert_eq!(accepted.requests(), ["GET /chat None"]);
    }
    // Of several protocols, the first that is offered.
    let (mut io, _served, accepted) = accepting(options());
    let asked = UPGRADE.replace("upgrade: WebSocket", "upgrade: chat/2, websocket");
    io.write_all(asked.as_bytes()).await.unwrap();
    assert!(head(&mut io).await.contains("upgrade: websocket\r\n"));
    assert_eq!(accepted.requests(), ["GET /chat Some(\"websocket\")"]);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_asks_for_no_upgrade_gets_no_101() {
    for asked in ["GET / HTTP/1.1\r\nhost: a\r\n\r\n", UPGRADE] {
        let (mut io, _served) = ServedConnection::start(options(), |_| async {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
            response
        });
        io.write_all(asked.as_bytes()).await.unwrap();
        assert!(head(&mut io).await.starts_with("HTTP/1.1 500"));
    }
}

#[tokio::test(start_paused = true)]
async fn requests_before_an_upgrade_are_answered() {
    let (mut io, served, mut accepted) = accepting(options());
    let first = "GET /first HTTP/1.1\r\nhost: a\r\n\r\n";
    io.write_all(format!("{first}{UPGRADE}there").as_bytes()).await.unwrap();
    assert!(head(&mut io).await.starts_with("HTTP/1.1 200"));
    expect(&mut io, b"no upgrade").await;
    assert!(head(&mut io).await.starts_with("HTTP/1.1 101"));
    expect(&mut accepted.stream().await, b"there").await;
    drop(io);
    assert_eq!(served.ended().await.requests, 2);
}
