//! Clients that try to exhaust a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Response;
use tessera_proxy::http::server::{Cause, ServerOptions, keep};

use super::raw::*;
use super::served::{SECOND, ServedConnection, echo, large, never};

#[tokio::test(start_paused = true)]
async fn requests_taken_back_in_masses_end_the_connection() {
    let begun = Arc::new(AtomicUsize::new(0));
    let counter = begun.clone();
    let (io, served) = ServedConnection::start(ServerOptions::default(), move |request| {
        counter.fetch_add(1, Ordering::Relaxed);
        never(request)
    });
    let mut client = Raw::begin(io, &[]).await;
    let attack = async {
        for stream in (1..).step_by(2) {
            let reset = frame(RST_STREAM, 0, stream, &CANCEL.to_be_bytes());
            if !client.get(stream).await || !client.write(&reset).await {
                break;
            }
            // Let the server process each.
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(60 * SECOND, attack).await.unwrap();
    let ended = served.ended().await;
    assert!(matches!(ended.cause, Cause::RapidReset | Cause::Protocol(_)), "{ended:?}");
    assert!(begun.load(Ordering::Relaxed) < 1000, "{begun:?}");
    let goaway = client.next(GOAWAY).await.unwrap();
    assert_eq!(goaway.error(), ENHANCE_YOUR_CALM);
}

#[tokio::test(start_paused = true)]
async fn requests_taken_back_in_one_write_end_the_connection() {
    let (io, served) = ServedConnection::start(ServerOptions::default(), never);
    let mut client = Raw::begin(io, &[]).await;
    let mut all = Vec::new();
    for stream in (1..4000).step_by(2) {
        all.extend(frame(HEADERS, END_STREAM | END_HEADERS, stream, &head("GET")));
        all.extend(frame(RST_STREAM, 0, stream, &CANCEL.to_be_bytes()));
    }
    client.write(&all).await;
    assert_eq!(client.next(GOAWAY).await.unwrap().error(), ENHANCE_YOUR_CALM);
    let ended = served.ended().await;
    assert!(ended.requests < 1000, "{ended:?}");
}

#[tokio::test(start_paused = true)]
async fn resets_that_a_client_provokes_count_as_its_own() {
    let (io, served) = ServedConnection::start(ServerOptions::default(), never);
    let mut client = Raw::begin(io, &[]).await;
    let attack = async {
        for stream in (1..).step_by(2) {
            // An increment beyond the largest window (RFC 9113 §6.9.1), for which the server resets the stream.
            let provokes = frame(WINDOW_UPDATE, 0, stream, &(u32::MAX >> 1).to_be_bytes());
            if !client.get(stream).await || !client.write(&provokes).await {
                break;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(60 * SECOND, attack).await.unwrap();
    let ended = served.ended().await;
    assert!(matches!(ended.cause, Cause::RapidReset | Cause::Protocol(_)), "{ended:?}");
    assert!(ended.requests < 1000, "{ended:?}");
    assert_eq!(client.next(GOAWAY).await.unwrap().error(), ENHANCE_YOUR_CALM);
}

#[tokio::test(start_paused = true)]
async fn data_without_bytes_ends_the_connection() {
    let (io, served) = ServedConnection::start(ServerOptions::default(), echo);
    let mut client = Raw::begin(io, &[]).await;
    client.write(&frame(HEADERS, END_HEADERS, 1, &head("POST"))).await;
    let empty = frame(DATA, 0, 1, b"").repeat(1000);
    let mut written = 0;
    while written < 100_000_000 && client.write(&empty).await {
        written += empty.len();
    }
    assert!(written < 10_000_000, "{written}");
    assert_ne!(client.next(GOAWAY).await.unwrap().error(), 0);
    let ended = served.ended().await;
    assert!(matches!(ended.cause, Cause::Protocol(_)), "{ended:?}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_finishes_as_many_requests_may_take_back_others() {
    let (io, served) = ServedConnection::start(ServerOptions::default(), |request| async move {
        if request.method() == http::Method::DELETE {
            never(request).await
        } else {
            echo(request).await
        }
    });
    let mut client = Raw::begin(io, &[]).await;
    for stream in (1..4000).step_by(4) {
        let asked = frame(HEADERS, END_STREAM | END_HEADERS, stream, &head("DELETE"));
        assert!(client.write(&asked).await);
        tokio::task::yield_now().await;
        assert!(client.write(&frame(RST_STREAM, 0, stream, &CANCEL.to_be_bytes())).await);
        assert!(client.get(stream + 2).await);
        assert_eq!(client.next(HEADERS).await.unwrap().status(), 200);
    }
    drop(client);
    assert_eq!(served.ended().await.requests, 2000);
}

#[tokio::test(start_paused = true)]
async fn a_head_without_an_end_ends_the_connection() {
    for payload in [vec![], vec![0; 10], field("x-name", &"v".repeat(100)).repeat(100)] {
        let (io, served) = ServedConnection::start(ServerOptions::default(), echo);
        let mut client = Raw::begin(io, &[]).await;
        client.write(&frame(HEADERS, END_STREAM, 1, &head("GET"))).await;
        let mut written = 0_usize;
        let continuation = frame(CONTINUATION, 0, 1, &payload);
        while written < 100_000_000 && client.write(&continuation).await {
            written += continuation.len();
        }
        assert!(written < 10_000_000, "{written} bytes of {} each", payload.len());
        let goaway = client.next(GOAWAY).await.unwrap();
        assert_ne!(goaway.error(), 0, "{goaway:?}");
        let ended = served.ended().await;
        assert!(matches!(ended.cause, Cause::Protocol(_)), "{ended:?}");
        assert_eq!(ended.requests, 0);
    }
}

/// One entry of the dynamic table (RFC 7541 §6.2.1), and references to it.
fn packed(references: usize) -> Vec<u8> {
    let mut head = head("GET");
    head.push(0x40);
    integer(&mut head, 0, 7, 1);
    head.push(b'x');
    integer(&mut head, 0, 7, 4000);
    head.extend([b'v'; 4000]);
    head.extend(vec![0x80 | 62; references]);
    assert!(head.len() < 16 * 1024);
    frame(HEADERS, END_STREAM | END_HEADERS, 1, &head)
}

#[tokio::test(start_paused = true)]
async fn a_head_that_is_small_only_while_it_is_packed_is_answered_by_431() {
    let (io, _served) = ServedConnection::start(ServerOptions::default(), echo);
    let mut client = Raw::begin(io, &[]).await;
    client.write(&packed(30)).await;
    assert_eq!(client.next(HEADERS).await.unwrap().status(), 431);
    // The connection still works.
    client.get(3).await;
    assert_eq!(client.next(HEADERS).await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_head_that_unpacks_to_megabytes_ends_the_connection() {
    let (io, served) = ServedConnection::start(ServerOptions::default(), echo);
    let mut client = Raw::begin(io, &[]).await;
    client.write(&packed(8000)).await;
    assert_ne!(client.next(GOAWAY).await.unwrap().error(), 0);
    assert!(matches!(served.ended().await.cause, Cause::Protocol(_)));
}

#[tokio::test(start_paused = true)]
async fn too_many_fields_are_answered_by_431() {
    let (io, _served) = ServedConnection::start(ServerOptions::default(), echo);
    let mut client = Raw::begin(io, &[]).await;
    for (stream, fields, status) in [(1, 129, 431), (3, 128, 200)] {
        let mut asked = head("GET");
        for count in 0..fields {
            asked.extend(field(&format!("x-{count}"), "v"));
        }
        client.write(&frame(HEADERS, END_STREAM | END_HEADERS, stream, &asked)).await;
        assert_eq!(client.next(HEADERS).await.unwrap().status(), status);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_no_one_reads_is_cut() {
    let (io, served) = ServedConnection::start(ServerOptions::default(), large(1 << 20));
    let started = tokio::time::Instant::now();
    // SETTINGS_INITIAL_WINDOW_SIZE.
    let mut client = Raw::begin(io, &[(4, 0)]).await;
    for stream in (1..200).step_by(2) {
        client.get(stream).await;
    }
    for _ in 0..100 {
        let reset = client.next(RST_STREAM).await.unwrap();
        assert_eq!(reset.error(), CANCEL);
    }
    let took = started.elapsed();
    assert!((30 * SECOND..32 * SECOND).contains(&took), "{took:?}");
    // The places are free again, and an open window brings an answer.
    client.get(201).await;
    client.write(&frame(WINDOW_UPDATE, 0, 201, &(1_u32 << 20).to_be_bytes())).await;
    client.write(&frame(WINDOW_UPDATE, 0, 0, &(1_u32 << 20).to_be_bytes())).await;
    let mut taken = 0;
    while taken < 1 << 20 {
        taken += client.next(DATA).await.unwrap().payload.len();
    }
    drop(client);
    assert_eq!(served.ended().await.requests, 101);
}

/// Requests whose answers aren't read still count as open.
#[tokio::test(start_paused = true)]
async fn an_answer_keeps_its_place_until_its_end() {
    let places = Arc::new(());
    let (kept, answer) = (places.clone(), large(1 << 20));
    let (io, _served) = ServedConnection::start(ServerOptions::default(), move |request| {
        let mut answer = answer(request).into_inner();
        keep(&mut answer, kept.clone());
        std::future::ready(answer)
    });
    let mut client = Raw::begin(io, &[(4, 0)]).await;
    let free = Arc::strong_count(&places);
    for stream in [1, 3] {
        client.get(stream).await;
        client.next(HEADERS).await.unwrap();
    }
    assert_eq!(Arc::strong_count(&places), free + 2);
    client.write(&frame(RST_STREAM, 0, 1, &CANCEL.to_be_bytes())).await;
    tokio::time::sleep(SECOND).await;
    assert_eq!(Arc::strong_count(&places), free + 1, "it was taken back");
    for stream in [0, 3] {
        client.write(&frame(WINDOW_UPDATE, 0, stream, &(1_u32 << 21).to_be_bytes())).await;
    }
    let mut taken = 0;
    while taken < 1 << 20 {
        taken += client.next(DATA).await.unwrap().payload.len();
    }
    tokio::time::sleep(SECOND).await;
    assert_eq!(Arc::strong_count(&places), free, "it was sent");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_taken_byte_by_byte_ends_with_its_exchange() {
    let (io, _served) = ServedConnection::start(ServerOptions::default(), large(1 << 20));
    let mut client = Raw::begin(io, &[(4, 0)]).await;
    client.get(1).await;
    client.next(HEADERS).await.unwrap();
    let started = tokio::time::Instant::now();
    let reset = loop {
        tokio::select! {
            reset = client.next(RST_STREAM) => break reset.unwrap(),
            () = tokio::time::sleep(20 * SECOND) => {
                client.write(&frame(WINDOW_UPDATE, 0, 1, &1_u32.to_be_bytes())).await;
            }
        }
    };
    assert_eq!(reset.error(), CANCEL);
    assert!(started.elapsed() < 902 * SECOND, "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_its_socket_is_cut() {
    let (io, served) = ServedConnection::start(ServerOptions::default(), large(1 << 20));
    // The largest windows (RFC 9113 §6.9.1): the socket is the only limit.
    let mut client = Raw::begin(io, &[(4, (1 << 31) - 1)]).await;
    client.write(&frame(WINDOW_UPDATE, 0, 0, &(1_u32 << 30).to_be_bytes())).await;
    for stream in (1..20).step_by(2) {
        client.get(stream).await;
    }
    let ended = served.ended().await;
    assert!(matches!(ended.cause, Cause::Stalled), "{ended:?}");
}

#[tokio::test(start_paused = true)]
async fn more_requests_at_once_than_allowed_are_refused_and_no_others() {
    let options = ServerOptions { streams: 10, ..ServerOptions::default() };
    let (io, _served) = ServedConnection::start(options, never);
    let mut client = Raw::begin(io, &[]).await;
    // The limit holds once it is acknowledged.
    let settings = client.next(SETTINGS).await.unwrap();
    client.acknowledge(&settings).await;
    for stream in (1..24).step_by(2) {
        client.get(stream).await;
    }
    for stream in [21, 23] {
        let reset = client.next(RST_STREAM).await.unwrap();
        // REFUSED_STREAM: safe to send again.
        assert_eq!((reset.stream, reset.error()), (stream, 7));
    }
}

#[tokio::test(start_paused = true)]
async fn input_other_than_the_preface_is_answered_as_http1_or_ends() {
    let garbage: [&[u8]; 4] = [
        b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01",
        b"\0\0\0\0",
        b"hello\r\n\r\n",
    ];
    for garbage in garbage {
        let (io, served) = ServedConnection::start(ServerOptions::default(), echo);
        let mut client = Raw { io };
        client.write(garbage).await;
        let mut answer = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut client.io, &mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 4") || answer.is_empty(), "{answer}");
        drop(client);
        let ended = served.ended().await;
        assert_eq!(ended.requests, 0, "{ended:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn frames_that_break_the_protocol_end_the_connection() {
    let bad = [
        frame(DATA, END_STREAM, 0, b"x"),
        frame(HEADERS, END_STREAM | END_HEADERS, 2, &head("GET")),
        frame(CONTINUATION, END_HEADERS, 1, &head("GET")),
        frame(WINDOW_UPDATE, 0, 0, &[0; 4]),
        frame(SETTINGS, 0, 0, &[0; 5]),
        frame(HEADERS, END_STREAM | END_HEADERS, 1, &[0xff; 20]),
        frame(PING, 0, 0, &[0; 7]),
        // Invalid fields: h2 ends the connection, not only the stream.
        frame(HEADERS, END_STREAM | END_HEADERS, 1, &[head("GET"), field("Upper", "x")].concat()),
        frame(HEADERS, END_STREAM | END_HEADERS, 1, &[head("GET"), field("x", "a\r\nb")].concat()),
        frame(HEADERS, END_STREAM | END_HEADERS, 1, &[head("GET"), field(":x", "x")].concat()),
        // Longer than SETTINGS_MAX_FRAME_SIZE.
        frame(DATA, 0, 1, &vec![0; 20_000]),
    ];
    for bad in bad {
        let (io, served) = ServedConnection::start(ServerOptions::default(), echo);
        let mut client = Raw::begin(io, &[]).await;
        client.write(&bad).await;
        assert_ne!(client.next(GOAWAY).await.unwrap().error(), 0);
        let ended = served.ended().await;
        assert!(matches!(ended.cause, Cause::Protocol(_)), "{ended:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn malformed_requests_end_their_streams_alone() {
    let (io, _served) = ServedConnection::start(ServerOptions::default(), echo);
    let mut client = Raw::begin(io, &[]).await;
    let with = |name: &str, value: &str| [head("GET"), field(name, value)].concat();
    let bad = [
        field(":method", "GET"),
        with(":path", "/twice"),
        with("connection", "close"),
        with("transfer-encoding", "chunked"),
        [field("x", "before"), head("GET")].concat(),
        with("content-length", "5"),
    ];
    let mut stream = 1;
    for bad in &bad {
        client.write(&frame(HEADERS, END_STREAM | END_HEADERS, stream, bad)).await;
        let reset = client.next(RST_STREAM).await.unwrap();
        assert_eq!((reset.stream, reset.error()), (stream, PROTOCOL_ERROR), "{bad:?}");
        stream += 2;
    }
    client.get(stream).await;
    assert_eq!(client.next(HEADERS).await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn unread_pings_and_settings_stop_the_reading() {
    for flood in [frame(PING, 0, 0, &[0; 8]), frame(SETTINGS, 0, 0, &[])] {
        let (io, served) = ServedConnection::start(ServerOptions::default(), echo);
        let mut client = Raw::begin(io, &[]).await;
        let flood = flood.repeat(1000);
        let mut written = 0;
        // The client reads nothing: the answers fill the socket, and then the server neither reads nor buffers more.
        while written < 100_000_000 && client.write(&flood).await {
            written += flood.len();
        }
        assert!(written < 2_000_000, "{written}");
        let ended = served.ended().await;
        assert!(matches!(ended.cause, Cause::Stalled), "{ended:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_fails_is_seen_to_be_incomplete() {
    let mut options = ServerOptions::default();
    options.body.max_len = 10;
    let (io, _served) = ServedConnection::start(options, |request| async {
        // A streamed body: the head is already sent when it becomes too long.
        Response::new(request.into_body())
    });
    let mut client = Raw::begin(io, &[]).await;
    client.write(&frame(HEADERS, END_HEADERS, 1, &head("POST"))).await;
    client.write(&frame(DATA, 0, 1, b"12345")).await;
    assert_eq!(client.next(HEADERS).await.unwrap().status(), 200);
    assert_eq!(client.next(DATA).await.unwrap().payload, b"12345");
    client.write(&frame(DATA, END_STREAM, 1, b"123456")).await;
    // INTERNAL_ERROR.
    assert_eq!(client.next(RST_STREAM).await.unwrap().error(), 2);
}
