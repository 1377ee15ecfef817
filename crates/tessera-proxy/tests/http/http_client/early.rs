//! What travels as early data, what never does, and what is resent after each verdict.

use http::StatusCode;
use tessera::resume::{Absence, Verdict};
use tessera_proxy::http::client::{CallErrorKind, Delivery, PoolOptions};
use tokio::task::JoinSet;

use super::raw::{call, within};
use super::site::{Fate, H1, H2, Site, get};

const CLIENT_HELLO: u8 = 22;
const CHANGE_CIPHER_SPEC: u8 = 20;
const DATA: u8 = 23;

#[tokio::test]
async fn a_call_that_may_be_early_travels_in_the_first_flight_of_a_new_connection() {
    for protocols in [H1, H2] {
        let site = Site::visited(protocols).await;
        site.holds.send_replace(true);
        let pool = site.pool(PoolOptions::default());
        let calling = tokio::spawn({
            let pool = pool.clone();
            async move { pool.call(get("/early"), call().early()).await }
        });
        // The server has executed it, but sent nothing yet.
        site.executes(1).await;
        assert_eq!(site.records(0)[..3], [CLIENT_HELLO, CHANGE_CIPHER_SPEC, DATA]);
        site.holds.send_replace(false);
        let answer = calling.await.unwrap().unwrap();
        assert_eq!(answer.response.status(), StatusCode::OK);
        assert!(answer.was_early() && !answer.resent);
        assert!(answer.facts().unwrap().peer.is_some());
        assert_eq!((site.paths(), pool.status().counts.early), (vec!["/early".to_owned()], 1));
        // The next travels on the same connection, not early.
        let answer = pool.call(get("/next"), call().early()).await.unwrap();
        assert!(!answer.was_early());
        assert_eq!(pool.status().counts.opened, 1);
    }
}

#[tokio::test]
async fn preface_settings_and_request_are_one_flight() {
    let site = Site::visited(H2).await;
    site.holds.send_replace(true);
    let pool = site.pool(PoolOptions::default());
    let calling = tokio::spawn(async move { pool.call(get("/early"), call().early()).await });
    site.executes(1).await;
    site.settle().await;
    // One record of early data: it waited for no round trip.
    assert_eq!(site.records(0), [CLIENT_HELLO, CHANGE_CIPHER_SPEC, DATA]);
    site.holds.send_replace(false);
    calling.await.unwrap().unwrap();
}

/// In any order and number of calls: before its answer gets through, the server executes a single request, one that
/// may be early.
#[tokio::test]
async fn a_call_that_must_not_be_early_never_is_whatever_other_calls_do() {
    for protocols in [H1, H2] {
        for order in ["N", "NA", "AN", "NNA", "ANNN", "AA", "NAA"] {
            let site = Site::visited(protocols).await;
            site.holds.send_replace(true);
            let pool = site.pool(PoolOptions { connections: 1, ..PoolOptions::default() });
            let mut calls = JoinSet::new();
            for (index, kind) in order.chars().enumerate() {
                let (pool, path) = (pool.clone(), format!("/{kind}{index}"));
                calls.spawn(async move {
                    let how = if kind == 'A' { call().early() } else { call() };
                    let answer = pool.call(get(&path), how).await.unwrap();
                    let was_early = answer.was_early();
                    let _body = answer.response.into_body().collect_up_to(100).await.unwrap();
                    was_early
                });
            }
            if order.contains('A') {
                site.executes(1).await;
            }
            site.settle().await;
            let early = site.paths();
            assert_eq!(early.len(), usize::from(order.contains('A')), "{order}: {early:?}");
            assert!(early.iter().all(|path| path.starts_with("/A")), "{order}: {early:?}");
            site.holds.send_replace(false);
            let was_early = calls.join_all().await;
            assert_eq!(was_early.iter().filter(|early| **early).count(), early.len());
            assert_eq!(site.paths().len(), order.len(), "each once");
        }
    }
}

/// Several threads and connections; some of the calls are dropped.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_call_that_must_not_be_early_never_is_on_many_threads() {
    for protocols in [H1, H2, H2, H2] {
        let site = Site::visited(protocols).await;
        site.holds.send_replace(true);
        let options = PoolOptions { connections: 4, streams: 8, ..PoolOptions::default() };
        let pool = site.pool(options);
        let mut calls = JoinSet::new();
        for index in 0..32 {
            let pool = pool.clone();
            calls.spawn(async move {
                let (how, path) = match index % 3 {
                    0 => (call().early(), format!("/A{index}")),
                    1 => (call(), format!("/N{index}")),
                    // Dropped before the server answers.
                    _ => (within(10), format!("/N{index}")),
                };
                let answered = pool.call(get(&path), how).await;
                if let Ok(answer) = answered {
                    answer.response.into_body().collect_up_to(100).await.unwrap();
                } else {
                    assert_eq!(index % 3, 2, "{path}");
                }
            });
        }
        site.executes(1).await;
        site.settle().await;
        let early = site.paths();
        // At most one for each ticket.
        assert!(early.len() <= 2, "{early:?}");
        assert!(early.iter().all(|path| path.starts_with("/A")), "{early:?}");
        site.holds.send_replace(false);
        calls.join_all().await;
        for index in (0..32).filter(|index| index % 3 < 2) {
            let kind = if index % 3 == 0 { 'A' } else { 'N' };
            assert_eq!(site.times(&format!("/{kind}{index}")), 1);
        }
    }
}

#[tokio::test]
async fn a_connection_that_is_opened_ahead_carries_no_early_data() {
    for protocols in [H1, H2] {
        let site = Site::visited(protocols).await;
        site.holds.send_replace(true);
        let pool = site.pool(PoolOptions { warm: 1, connections: 1, ..PoolOptions::default() });
        while site.sent.lock().unwrap().first().is_none_or(Vec::is_empty) {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        // A call that may be early arrives during the handshake.
        let calling = tokio::spawn(async move { pool.call(get("/early"), call().early()).await });
        site.settle().await;
        assert!(!site.records(0).contains(&DATA), "{:?}", site.records(0));
        assert!(site.paths().is_empty());
        site.holds.send_replace(false);
        let answer = calling.await.unwrap().unwrap();
        assert!(!answer.was_early());
        assert_eq!(site.paths(), ["/early"]);
    }
}

/// The call was dropped when its connection is made.
#[tokio::test]
async fn a_call_that_is_given_up_is_in_no_flight() {
    let site = Site::visited(H2).await;
    let pool = site.pool(PoolOptions::default());
    let mut calling = Box::pin(pool.call(get("/given-up"), call().early()));
    // The call waits for its connection, and is then dropped.
    assert!(futures_poll(calling.as_mut()).await.is_none());
    drop(calling);
    site.settle().await;
    // The next call uses that connection; nothing of the first was sent.
    pool.call(get("/next"), call()).await.unwrap();
    assert_eq!(site.paths(), ["/next"]);
}

async fn futures_poll<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
    std::future::poll_fn(|cx| {
        std::task::Poll::Ready(match std::pin::Pin::new(&mut future).poll(cx) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        })
    })
    .await
}

#[tokio::test]
async fn after_used_and_unknown_only_a_repeatable_call_is_sent_once_more() {
    let fates = [
        (Fate::Absent(Absence::Used), Verdict::Used),
        (Fate::Absent(Absence::Unknown), Verdict::Unknown),
        (Fate::Unavailable, Verdict::Unknown),
    ];
    for protocols in [H1, H2] {
        for (fate, verdict) in fates {
            for repeatable in [false, true] {
                let site = Site::visited(protocols).await;
                *site.fate.lock().unwrap() = fate;
                let pool = site.pool(PoolOptions::default());
                let how = if repeatable { call().early().repeatable() } else { call().early() };
                let answered = pool.call(get("/call"), how).await;
                let counts = pool.status().counts;
                if repeatable {
                    let answer = answered.unwrap();
                    assert!(answer.resent && !answer.was_early());
                    assert_eq!((site.times("/call"), counts.resent, counts.opened), (1, 1, 2));
                } else {
                    let error = answered.unwrap_err();
                    assert_eq!(error.kind, CallErrorKind::EarlyDataRefused, "{error}");
                    let told = error.verdict.unwrap();
                    assert_eq!((error.sent, told.verdict), (Delivery::Maybe, verdict));
                    assert!(told.flight.is_some());
                    assert_eq!((site.times("/call"), counts.resent), (0, 0));
                }
                // The pool still works.
                pool.call(get("/next"), call()).await.unwrap();
                assert_eq!(site.times("/next"), 1);
            }
        }
    }
}

#[tokio::test]
async fn a_burned_request_is_sent_again_on_the_same_connection() {
    for protocols in [H1, H2] {
        let site = Site::visited(protocols).await;
        *site.fate.lock().unwrap() = Fate::Absent(Absence::Burned);
        let pool = site.pool(PoolOptions::default());
        let answer = pool.call(get("/call"), call().early()).await.unwrap();
        assert!(!answer.was_early() && !answer.resent);
        assert!(answer.early_data().sent_again);
        let counts = pool.status().counts;
        assert_eq!((site.times("/call"), counts.opened, counts.resent), (1, 1, 0));
    }
}

/// Others wait for the flight; its verdict doesn't affect them.
#[tokio::test]
async fn a_refused_flight_takes_no_other_call_with_it() {
    let site = Site::visited(H2).await;
    *site.fate.lock().unwrap() = Fate::Absent(Absence::Used);
    site.holds.send_replace(true);
    let pool = site.pool(PoolOptions { connections: 1, ..PoolOptions::default() });
    let mut calls = JoinSet::new();
    for path in ["/early", "/a", "/b"] {
        let pool = pool.clone();
        calls.spawn(async move {
            let how = if path == "/early" { call().early() } else { call() };
            pool.call(get(path), how).await.map(|_| path).map_err(|error| (path, error.kind))
        });
    }
    while site.sent.lock().unwrap().first().is_none_or(Vec::is_empty) {
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    site.holds.send_replace(false);
    let mut results = calls.join_all().await;
    results.sort_by_key(|result| format!("{result:?}"));
    let refused = Err(("/early", CallErrorKind::EarlyDataRefused));
    assert_eq!(results, [refused, Ok("/a"), Ok("/b")]);
    assert_eq!((site.times("/early"), site.times("/a"), site.times("/b")), (0, 1, 1));
}

/// The first address reads the flight and never answers. Calls outside the flight are answered by the second.
#[tokio::test]
async fn an_unanswered_flight_stalls_no_other_call() {
    let site = Site::visited(H2).await;
    site.holds.send_replace(true);
    let pool = site.pool_to(&[site.address, site.server], PoolOptions::default());
    let early = tokio::spawn({
        let pool = pool.clone();
        async move { pool.call(get("/early"), within(5000).early()).await.map(drop) }
    });
    site.executes(1).await;
    for path in ["/a", "/b"] {
        let answer = pool.call(get(path), within(4000)).await.unwrap();
        let port = format!(":{}", site.server.port());
        assert!(answer.address().to_string().ends_with(&port));
    }
    assert!(!early.is_finished());
    site.holds.send_replace(false);
    early.await.unwrap().unwrap();
    assert_eq!(site.times("/early"), 1);
    while pool.status().addresses[0].failures > 0 || pool.status().in_use > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_deadline_in_flight_reports_an_unknown_outcome_and_names_the_flight() {
    for protocols in [H1, H2] {
        let site = Site::visited(protocols).await;
        site.holds.send_replace(true);
        let pool = site.pool(PoolOptions::default());
        let error = pool.call(get("/early"), within(300).early()).await.unwrap_err();
        assert_eq!((error.kind, error.sent), (CallErrorKind::DeadlineExceeded, Delivery::Maybe));
        let told = error.verdict.unwrap();
        assert_eq!(told.verdict, Verdict::Unknown);
        assert!(told.flight.is_some());
        assert_eq!(site.times("/early"), 1);
    }
}

#[tokio::test]
async fn a_request_refused_as_too_early_is_sent_after_the_handshake() {
    for protocols in [H1, H2] {
        let site = Site::visited(protocols).await;
        let pool = site.pool(PoolOptions::default());
        let answer = pool.call(get("/too-early"), call().early()).await.unwrap();
        assert_eq!(answer.response.status(), StatusCode::OK);
        assert_eq!(site.times("/too-early"), 2);
        // A call that was not early gets this answer unchanged.
        site.executed.send_modify(Vec::clear);
        let answer = pool.call(get("/too-early"), call().early()).await.unwrap();
        assert_eq!(answer.response.status(), StatusCode::TOO_EARLY);
    }
}

#[tokio::test]
async fn without_a_ticket_nothing_travels_early() {
    for protocols in [H1, H2] {
        let site = Site::start(protocols).await;
        let pool = site.pool(PoolOptions::default());
        let answer = pool.call(get("/first"), call().early()).await.unwrap();
        assert!(!answer.was_early());
        assert_eq!(pool.status().counts.early, 0);
    }
}
