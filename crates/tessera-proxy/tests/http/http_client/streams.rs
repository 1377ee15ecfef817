//! Bodies: large ones both ways, trailers, and early ends.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request};
use tessera_proxy::http::body::{Body, BodyError, BodyLimits, CompleteBody};
use tessera_proxy::http::client::{CallErrorKind, PoolOptions};

use super::raw::{
    INITIAL_WINDOW_SIZE, RawServer, ServerStep, call, data, get, ok, ok_and_more, pool_to, within,
};
use super::site::{H1, H2, Site};
use tessera_interop::SERVER_NAME;

fn bytes(len: usize) -> Bytes {
    (0..len).map(|index| (index % 251) as u8).collect::<Vec<_>>().into()
}

#[tokio::test]
async fn large_bodies_go_both_ways() {
    for protocols in [H1, H2] {
        let site = Site::visited(protocols).await;
        let pool = site.pool(PoolOptions::default());
        for len in [1, 16 * 1024, 3_000_000] {
            let uri = format!("https://{SERVER_NAME}/echo");
            let request = Request::post(uri).body(Body::full(bytes(len))).unwrap();
            let answer = pool.call(request, call().early()).await.unwrap();
            let body = answer.response.into_body().collect_up_to(len).await.unwrap();
            assert!(body.data == bytes(len), "{len}");
        }
    }
}

#[tokio::test]
async fn a_body_that_comes_is_passed_on() {
    let source = RawServer::start(|seen| {
        let parts = [
            ok_and_more(seen.stream),
            data(seen.stream, b"one ", false),
            data(seen.stream, b"two", true),
        ];
        ServerStep::write(parts.concat())
    })
    .await;
    let from = pool_to(&[source.address], PoolOptions::default());
    for protocols in [H1, H2] {
        let site = Site::start(protocols).await;
        let pool = site.pool(PoolOptions::default());
        let coming = from.call(get(), call()).await.unwrap().response.into_body();
        let uri = format!("https://{SERVER_NAME}/echo");
        let answer = pool.call(Request::post(uri).body(coming).unwrap(), call()).await.unwrap();
        let body = answer.response.into_body().collect_up_to(10).await.unwrap();
        assert_eq!(body.data, "one two");
    }
    assert_eq!(from.status().in_use, 0);
}

#[tokio::test]
async fn trailers_follow_a_body() {
    use http_body_util::BodyExt;

    let mut trailers = HeaderMap::new();
    trailers.insert("x-last", "1".parse().unwrap());
    let site = Site::start(H2).await;
    let pool = site.pool(PoolOptions::default());
    for body in ["", "body"] {
        let collected = CompleteBody { data: body.into(), trailers: Some(trailers.clone()) };
        let uri = format!("https://{SERVER_NAME}/trailers");
        let request = Request::post(uri).body(Body::from(collected)).unwrap();
        let answer = pool.call(request, call()).await.unwrap();
        let collected = answer.response.into_body().collect().await.unwrap();
        assert_eq!(collected.trailers(), Some(&trailers), "{body}");
        assert_eq!(collected.to_bytes(), body);
    }
}

#[tokio::test]
async fn dropped_trailers_end_a_body_in_memory_and_one_that_arrives() {
    let trailers = HeaderMap::from_iter([(http::header::ETAG, "1".parse().unwrap())]);
    for protocols in [H1, H2] {
        let pool = Site::start(protocols).await.pool(PoolOptions::default());
        for data in ["", "body"] {
            let body =
                || Body::from(CompleteBody { data: data.into(), trailers: Some(trailers.clone()) });
            let uri = format!("https://{SERVER_NAME}/trailers");
            let answer = pool.call(Request::post(uri).body(body()).unwrap(), call()).await.unwrap();
            for body in [body(), answer.response.into_body()] {
                let collected = body.without_trailers().collect_up_to(10).await.unwrap();
                assert_eq!((&*collected.data, collected.trailers), (data.as_bytes(), None));
            }
        }
    }
}

/// The server opens no window for the request's body.
#[tokio::test]
async fn a_window_of_zero_holds_a_call_no_longer_than_its_deadline() {
    let server = RawServer::with_settings(&[(INITIAL_WINDOW_SIZE, 0)], |seen| match seen.stream {
        1 => ServerStep::write(ok(1)),
        _ => ServerStep::nothing(),
    })
    .await;
    let pool = pool_to(&[server.address], PoolOptions::default());
    pool.call(get(), call()).await.unwrap();
    let request = Request::post("http://peer.example/").body(Body::full(bytes(100_000))).unwrap();
    let error = pool.call(request, within(100)).await.unwrap_err();
    assert_eq!(error.kind, CallErrorKind::DeadlineExceeded);
    assert_eq!(pool.status().in_use, 0);
}

/// The server answers without reading the rest.
#[tokio::test]
async fn an_answer_before_the_request_ended_is_an_answer() {
    let server = RawServer::with_settings(&[(INITIAL_WINDOW_SIZE, 10)], |seen| {
        ServerStep::write(ok(seen.stream))
    })
    .await;
    let pool = pool_to(&[server.address], PoolOptions::default());
    for _ in 0..3 {
        let request = Request::post("http://peer.example/").body(Body::full(bytes(100_000)));
        pool.call(request.unwrap(), call()).await.unwrap();
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_body_that_is_too_long_or_stops_coming_is_cut() {
    let server = RawServer::start(|seen| {
        ServerStep::write([ok_and_more(seen.stream), data(seen.stream, b"12345", false)].concat())
    })
    .await;
    for (max_len, idle) in [(4, 10_000), (5, 50)] {
        let limits = BodyLimits { max_len, idle: Duration::from_millis(idle) };
        let options = PoolOptions { body: limits, ..PoolOptions::default() };
        let pool = pool_to(&[server.address], options);
        let body = pool.call(get(), call()).await.unwrap().response.into_body();
        let error = body.collect_up_to(100).await.unwrap_err();
        match max_len {
            4 => assert!(matches!(error, BodyError::TooLong), "{error}"),
            _ => assert!(matches!(error, BodyError::Idle), "{error}"),
        }
        assert_eq!(pool.status().in_use, 0);
    }
}

/// A server whose response isn't read sends no more than its windows allow.
#[tokio::test]
async fn a_server_sends_no_more_than_its_window_before_it_is_read() {
    let server = RawServer::start(|seen| {
        let mut all = ok_and_more(seen.stream);
        for _ in 0..8 {
            all.extend(data(seen.stream, &[7; 16 * 1024], false));
        }
        ServerStep::write(all)
    })
    .await;
    let options = PoolOptions { stream_window: 65_535, ..PoolOptions::default() };
    let pool = pool_to(&[server.address], options);
    let answer = pool.call(get(), call()).await;
    // RFC 9113 §6.9.1: that is an error of the stream or of the connection.
    let cut = match answer {
        Ok(answer) => answer.response.into_body().collect_up_to(1 << 20).await.is_err(),
        Err(_) => true,
    };
    assert!(cut);
}
