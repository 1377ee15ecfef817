//! Extended CONNECT at the server (RFC 8441).

use http::{Response, StatusCode};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::server::{Cause, ServerOptions, UpgradeOptions};
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, sleep};

use super::service::{ROOM, accepting, accepting_until, expect, options, rest};
use crate::http_server::raw::*;
use crate::http_server::served::{SECOND, ServedConnection};

const ENABLE_CONNECT_PROTOCOL: [u8; 6] = [0, 8, 0, 0, 0, 1];

/// The head of Extended CONNECT, with these fields.
fn connect(protocol: &str, fields: &[(&str, &str)]) -> Vec<u8> {
    let head = [
        (":method", "CONNECT"),
        (":protocol", protocol),
        (":scheme", "https"),
        (":authority", "a"),
        (":path", "/chat"),
        ("sec-websocket-version", "13"),
    ];
    let head = head.iter().filter(|field| !fields.contains(&(field.0, "")));
    let fields = fields.iter().filter(|(_, value)| !value.is_empty());
    head.chain(fields).flat_map(|(name, value)| field(name, value)).collect()
}

fn open(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &connect("websocket", &[]))
}

/// Reads this many bytes of DATA.
async fn data(client: &mut Raw, len: usize) -> Vec<u8> {
    let mut data = Vec::new();
    while data.len() < len {
        data.extend(client.next(DATA).await.unwrap().payload);
    }
    data
}

#[tokio::test(start_paused = true)]
async fn bytes_go_both_ways_after_200() {
    let (io, served, mut accepted) = accepting(options());
    let mut client = Raw::begin(io, &[]).await;
    let settings = client.read().await.unwrap();
    assert!(settings.payload.chunks(6).any(|setting| setting == ENABLE_CONNECT_PROTOCOL));
    client.write(&open(1)).await;
    let answer = client.next(HEADERS).await.unwrap();
    assert_eq!((answer.status(), answer.flags & END_STREAM), (200, 0));
    assert_eq!(accepted.requests(), ["GET /chat Some(\"websocket\")"]);
    let mut backend = accepted.stream().await;
    for _ in 0..3 {
        client.write(&frame(DATA, 0, 1, b"there")).await;
        expect(&mut backend, b"there").await;
        backend.write_all(b"and back").await.unwrap();
        assert_eq!(data(&mut client, 8).await, b"and back");
    }
    // Each end of a direction goes through alone.
    client.write(&frame(DATA, END_STREAM, 1, b"last")).await;
    assert_eq!(rest(&mut backend).await, b"last");
    backend.write_all(b"still").await.unwrap();
    assert_eq!(data(&mut client, 5).await, b"still");
    drop(backend);
    assert_eq!(client.next(DATA).await.unwrap().flags & END_STREAM, END_STREAM);
    // The connection goes on.
    client.write(&open(3)).await;
    assert_eq!(client.next(HEADERS).await.unwrap().status(), 200);
    drop(client);
    assert_eq!(served.ended().await.requests, 2);
}

#[tokio::test(start_paused = true)]
async fn bytes_before_the_200_arrive() {
    let (io, _served, mut accepted) = accepting(options());
    let mut client = Raw::begin(io, &[]).await;
    client.write(&[open(1), frame(DATA, 0, 1, b"early")].concat()).await;
    expect(&mut accepted.stream().await, b"early").await;
}

#[tokio::test(start_paused = true)]
async fn without_the_setting_it_is_malformed() {
    let (io, _served, accepted) = accepting(ServerOptions::default());
    let mut client = Raw::begin(io, &[]).await;
    let settings = client.read().await.unwrap();
    assert!(settings.payload.chunks(6).all(|setting| setting[..2] != [0, 8]));
    client.write(&open(1)).await;
    assert_eq!(client.next(RST_STREAM).await.unwrap().error(), PROTOCOL_ERROR);
    assert!(accepted.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn improper_ones_are_refused() {
    for (head, status) in [
        (connect("other", &[]), 501),
        (connect("websocket", &[("sec-websocket-version", "")]), 400),
        (connect("websocket", &[("sec-websocket-version", "8")]), 400),
        (connect("websocket", &[("content-length", "4")]), 400),
    ] {
        let (io, _served, accepted) = accepting(options());
        let mut client = Raw::begin(io, &[]).await;
        client.write(&frame(HEADERS, END_HEADERS, 1, &head)).await;
        let answer = client.next(HEADERS).await.unwrap();
        assert_eq!((answer.status(), answer.flags & END_STREAM), (status, END_STREAM));
        assert!(accepted.requests().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_has_a_body_and_ends_only_its_stream() {
    let (io, _served) = ServedConnection::start(options(), |_| async {
        let mut response = Response::new(Body::full("nothing".into()));
        *response.status_mut() = StatusCode::NOT_FOUND;
        response
    });
    let mut client = Raw::begin(io, &[]).await;
    for stream in [1, 3] {
        client.write(&open(stream)).await;
        assert_eq!(client.next(HEADERS).await.unwrap().status(), 404);
        assert_eq!(data(&mut client, 7).await, b"nothing");
        client.write(&frame(DATA, 0, stream, b"more")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_reset_ends_the_other_side_and_the_other_way_round() {
    for half_closed in [false, true] {
        let (io, _served, mut accepted) = accepting(options());
        let mut client = Raw::begin(io, &[]).await;
        client.write(&open(1)).await;
        let mut backend = accepted.stream().await;
        if half_closed {
            client.write(&frame(DATA, END_STREAM, 1, b"")).await;
            assert_eq!(rest(&mut backend).await, b"");
        }
        client.write(&frame(RST_STREAM, 0, 1, &CANCEL.to_be_bytes())).await;
        while backend.write_all(b"x").await.is_ok() {
            sleep(SECOND).await;
        }
    }
    // So does the end of the connection.
    let (io, served, mut accepted) = accepting(options());
    let mut client = Raw::begin(io, &[]).await;
    client.write(&open(1)).await;
    let mut backend = accepted.stream().await;
    drop(client);
    assert_eq!(rest(&mut backend).await, b"");
    served.ended().await;
    let (io, _served, mut accepted) = accepting_until(options(), || sleep(SECOND));
    let mut client = Raw::begin(io, &[]).await;
    client.write(&open(1)).await;
    let backend = accepted.stream().await;
    assert_eq!(client.next(RST_STREAM).await.unwrap().error(), CANCEL);
    drop(backend);
}

#[tokio::test(start_paused = true)]
async fn a_reset_is_noticed_while_no_byte_is_on_its_way() {
    // The signal is dropped with the tunnel.
    let (alive, mut dropped) = tokio::sync::mpsc::channel::<()>(1);
    let alive = std::sync::Mutex::new(Some(alive));
    let (io, _served, mut accepted) = accepting_until(options(), move || {
        let alive = alive.lock().unwrap().take();
        async move {
            std::future::pending::<()>().await;
            drop(alive);
        }
    });
    let mut client = Raw::begin(io, &[]).await;
    client.write(&open(1)).await;
    let mut backend = accepted.stream().await;
    client.write(&frame(DATA, END_STREAM, 1, b"")).await;
    assert_eq!(rest(&mut backend).await, b"");
    client.write(&frame(RST_STREAM, 0, 1, &CANCEL.to_be_bytes())).await;
    assert!(tokio::time::timeout(SECOND, dropped.recv()).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_client_without_a_window_ends_its_stream_and_slows_the_other_side_down() {
    let (io, _served, mut accepted) = accepting(options());
    let mut client = Raw::begin(io, &[]).await;
    client.write(&open(1)).await;
    let mut backend = accepted.stream().await;
    let started = Instant::now();
    let flood = tokio::spawn(async move {
        let mut sent = 0;
        while backend.write_all(&[0; 1024]).await.is_ok() {
            sent += 1024;
        }
        sent
    });
    // Its window is never opened; other streams go on.
    assert_eq!(client.next(RST_STREAM).await.unwrap().error(), CANCEL);
    assert_eq!(started.elapsed().as_secs(), 30);
    let sent = flood.await.unwrap();
    let window = 65_535;
    assert!((window..=window + ROOM + tessera_proxy::pump::MAX_KEPT).contains(&sent), "{sent}");
    client.write(&open(3)).await;
    assert_eq!(client.next(HEADERS).await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn what_a_client_sends_ahead_is_bounded_by_its_window() {
    let options = ServerOptions { stream_window: 70_000, ..options() };
    let (io, _served, mut accepted) = accepting(options);
    let mut client = Raw::begin(io, &[]).await;
    client.write(&open(1)).await;
    let mut backend = accepted.stream().await;
    // Its window is that of the SETTINGS once they are acknowledged.
    client.next(HEADERS).await.unwrap();
    for _ in 0..7 {
        client.write(&frame(DATA, 0, 1, &[7; 10_000])).await;
    }
    // The other side reads: the window opens again.
    expect(&mut backend, &[7; 70_000]).await;
    let opens = async {
        let mut opened = 0;
        while opened < 35_000 {
            let update = client.next(WINDOW_UPDATE).await.unwrap();
            if update.stream == 1 {
                opened += u32::from_be_bytes(update.payload[..].try_into().unwrap());
            }
        }
    };
    tokio::time::timeout(SECOND, opens).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn streams_end_when_idle_and_the_connection_does_not() {
    let upgrades = UpgradeOptions { idle_time: 5000 * SECOND, ..UpgradeOptions::default() };
    let options = ServerOptions { upgrades: Some(upgrades), keep_alive: None, ..options() };
    let (idle_time, drain_time) = (options.idle_time, options.drain_time);
    let (io, served, mut accepted) = accepting(options);
    let mut client = Raw::begin(io, &[]).await;
    client.write(&open(1)).await;
    let backend = accepted.stream().await;
    let started = Instant::now();
    assert_eq!(client.next(RST_STREAM).await.unwrap().error(), CANCEL);
    assert_eq!(started.elapsed().as_secs(), 5000);
    drop(backend);
    // Without streams it does.
    while client.read().await.is_some() {}
    let least = 5000 * SECOND + idle_time;
    let lasted = started.elapsed();
    assert!((least..least + drain_time + 2 * SECOND).contains(&lasted), "{lasted:?}");
    drop(client);
    assert!(matches!(served.ended().await.cause, Cause::Idle));
}

#[tokio::test(start_paused = true)]
async fn streams_are_cut_after_the_drain_and_none_are_opened() {
    let (io, served, mut accepted) = accepting(options());
    let mut client = Raw::begin(io, &[]).await;
    client.write(&open(1)).await;
    client.next(HEADERS).await.unwrap();
    let mut backend = accepted.stream().await;
    served.drain();
    let started = Instant::now();
    client.next(GOAWAY).await.unwrap();
    // Before its client has seen the GOAWAY.
    client.write(&open(3)).await;
    assert_eq!(client.next(HEADERS).await.unwrap().status(), 503);
    sleep(20 * SECOND).await;
    client.write(&frame(DATA, 0, 1, b"there")).await;
    expect(&mut backend, b"there").await;
    while client.read().await.is_some() {}
    let ended = served.ended().await;
    assert!(matches!(ended.cause, Cause::Drained { cut: 1 }), "{ended:?}");
    assert_eq!(started.elapsed().as_secs(), 30);
    assert_eq!(rest(&mut backend).await, b"");
}
