//! What is resent, and what never is.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Request;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::{CallErrorKind, Delivery, Permission, PoolOptions};

use super::raw::{
    CANCEL, INTERNAL_ERROR, REFUSED_STREAM, RawServer, ServerStep, call, get, go_away, ok,
    ok_and_more, pool_to, post, reset, within,
};

#[tokio::test]
async fn a_refused_stream_is_sent_again() {
    let server = RawServer::start(|seen| match seen.stream {
        1 => ServerStep::write(reset(1, REFUSED_STREAM)),
        stream => ServerStep::write(ok(stream)),
    })
    .await;
    let pool = pool_to(&[server.address], PoolOptions::default());
    let answer = pool.call(post(b"once"), call()).await.unwrap();
    assert_eq!(answer.response.status(), 200);
    assert!(!answer.resent, "the first was not executed");
    assert_eq!(server.requests(), 2);
    assert_eq!(pool.status().counts.retried, 1);
}

#[tokio::test]
async fn a_server_that_refuses_each_stream_is_an_error_after_some() {
    let server =
        RawServer::start(|seen| ServerStep::write(reset(seen.stream, REFUSED_STREAM))).await;
    let pool = pool_to(&[server.address], PoolOptions::default());
    let error = pool.call(post(b"x"), call()).await.unwrap_err();
    assert_eq!((error.kind, error.sent), (CallErrorKind::Reset(REFUSED_STREAM), Delivery::Nothing));
    assert_eq!(server.requests(), 4);
}

#[tokio::test]
async fn streams_above_the_last_of_a_goaway_are_sent_on_another_connection() {
    let server = RawServer::start(|seen| match seen.connection {
        0 => ServerStep::write(go_away(0, 0)),
        _ => ServerStep::write(ok(seen.stream)),
    })
    .await;
    let pool = pool_to(&[server.address], PoolOptions::default());
    let answer = pool.call(post(b"once"), call()).await.unwrap();
    assert!(!answer.resent);
    assert_eq!((server.requests(), server.connections()), (2, 2));
}

#[tokio::test]
async fn a_call_below_the_last_stream_of_a_goaway_gets_its_answer_and_the_next_goes_elsewhere() {
    let server = RawServer::start(|seen| match seen.connection {
        0 => ServerStep::write([go_away(seen.stream, 0), ok(seen.stream)].concat()),
        _ => ServerStep::write(ok(seen.stream)),
    })
    .await;
    let pool = pool_to(&[server.address], PoolOptions::default());
    for _ in 0..3 {
        pool.call(post(b"once"), call()).await.unwrap();
    }
    assert_eq!((server.requests(), server.connections()), (3, 2));
    assert_eq!(pool.status().counts.retried, 0);
}

#[tokio::test]
async fn a_possibly_executed_request_is_sent_again_only_if_repeatable() {
    // The connection ends: without a GOAWAY, and after one that covers the stream.
    for with_go_away in [false, true] {
        for repeatable in [false, true] {
            let server = RawServer::start(move |seen| match seen.connection {
                0 if with_go_away => ServerStep::close(go_away(seen.stream, INTERNAL_ERROR)),
                0 => ServerStep::close(Vec::new()),
                _ => ServerStep::write(ok(seen.stream)),
            })
            .await;
            let pool = pool_to(&[server.address], PoolOptions::default());
            let how = if repeatable { call().repeatable() } else { call() };
            let answered = pool.call(get(), how).await;
            if repeatable {
                assert!(answered.unwrap().resent);
                assert_eq!((server.requests(), pool.status().counts.resent), (2, 1));
            } else {
                let error = answered.unwrap_err();
                assert_eq!(
                    (error.kind, error.sent),
                    (CallErrorKind::ConnectionLost, Delivery::Maybe)
                );
                assert_eq!(server.requests(), 1);
            }
        }
    }
}

#[tokio::test]
async fn a_repeatable_call_is_sent_twice_and_no_more() {
    let server = RawServer::start(|_| ServerStep::close(Vec::new())).await;
    let pool = pool_to(&[server.address], PoolOptions::default());
    let error = pool.call(get(), call().repeatable()).await.unwrap_err();
    assert_eq!(error.sent, Delivery::Maybe);
    assert_eq!(server.requests(), 2);
}

#[tokio::test]
async fn a_reset_with_another_code_is_an_error_even_where_it_is_repeatable() {
    for code in [CANCEL, INTERNAL_ERROR] {
        let server =
            RawServer::start(move |seen| ServerStep::write(reset(seen.stream, code))).await;
        let pool = pool_to(&[server.address], PoolOptions::default());
        let error = pool.call(get(), call().repeatable()).await.unwrap_err();
        assert_eq!((error.kind, error.sent), (CallErrorKind::Reset(code), Delivery::Maybe));
        assert_eq!(server.requests(), 1);
        assert_eq!(server.connections(), 1);
    }
}

/// After the refusal the only address is gone: the error still reports that the first attempt may have been executed.
#[tokio::test]
async fn the_error_of_a_second_try_states_what_the_first_may_have_done() {
    let server = RawServer::start(|seen| match seen.connection {
        0 => ServerStep::close(Vec::new()),
        _ => ServerStep::nothing(),
    })
    .await;
    let pool = pool_to(&[server.address], PoolOptions::default());
    let error = pool.call(get(), within(500).repeatable()).await.unwrap_err();
    assert_eq!((error.kind, error.sent), (CallErrorKind::DeadlineExceeded, Delivery::Maybe));
    assert_eq!(server.requests(), 2);
}

#[tokio::test]
async fn a_body_that_is_still_coming_is_not_sent_again() {
    // A streamed body: that of another server's response.
    let source = RawServer::start(|seen| ServerStep::write(ok_and_more(seen.stream))).await;
    let from = pool_to(&[source.address], PoolOptions::default());
    let coming = from.call(get(), call()).await.unwrap().response.into_body();
    let server =
        RawServer::start(|seen| ServerStep::write(reset(seen.stream, REFUSED_STREAM))).await;
    let pool = pool_to(&[server.address], PoolOptions::default());
    let request = Request::post("http://peer.example/x").body(coming).unwrap();
    let error = pool.call(request, call()).await.unwrap_err();
    assert_eq!((error.kind, error.sent), (CallErrorKind::Reset(REFUSED_STREAM), Delivery::Nothing));
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn an_unsendable_request_is_the_callers_error() {
    let server = RawServer::start(|seen| ServerStep::write(ok(seen.stream))).await;
    let pool = pool_to(&[server.address], PoolOptions::default());
    let nameless = Request::get("/x").body(Body::empty()).unwrap();
    let tunnel = Request::connect("peer.example:1").body(Body::empty()).unwrap();
    for request in [nameless, tunnel] {
        let error = pool.call(request, call()).await.unwrap_err();
        assert_eq!((error.kind, error.sent), (CallErrorKind::InvalidRequest, Delivery::Nothing));
    }
    // Fields of the connection it came from are dropped, and are no error.
    let mut request =
        Request::get("/x").header("host", "peer.example").body(Body::empty()).unwrap();
    for (name, value) in [
        ("connection", "x-hop, close"),
        ("x-hop", "1"),
        ("keep-alive", "1"),
        ("te", "gzip"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
    ] {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    pool.call(request, call()).await.unwrap();
}

#[tokio::test]
async fn a_call_is_sent_only_while_it_is_permitted() {
    let server = RawServer::start(|seen| match seen.stream {
        1 => ServerStep::write(ok(1)),
        stream => ServerStep::write(reset(stream, REFUSED_STREAM)),
    })
    .await;
    let pool = pool_to(&[server.address], PoolOptions::default());
    // Asked for each attempt: it ends before the second one of the second call.
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let permission = Permission::new(move || count.fetch_add(1, Ordering::SeqCst) < 2);
    let permitted = || call().while_permitted(permission.clone());
    pool.call(get(), permitted()).await.unwrap();
    let error = pool.call(get(), permitted()).await.unwrap_err();
    assert_eq!((error.kind, error.sent), (CallErrorKind::Withdrawn, Delivery::Nothing));
    assert_eq!((asked.load(Ordering::SeqCst), server.requests()), (3, 2));
}
