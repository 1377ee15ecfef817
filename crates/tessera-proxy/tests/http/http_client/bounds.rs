//! Calls, connections and waits are bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tessera_proxy::http::client::{CallErrorKind, Delivery, PoolOptions};
use tessera_proxy::http::deadline::Deadline;
use tokio::task::JoinSet;

use super::raw::{
    MAX_CONCURRENT_STREAMS, RawServer, ServerStep, call, get, ok, ok_and_more, pool_to, within,
};

fn small() -> PoolOptions {
    PoolOptions { connections: 2, streams: 3, waiting: 4, ..PoolOptions::default() }
}

/// A server that answers on command.
async fn held() -> (RawServer, Arc<AtomicBool>) {
    let answers = Arc::<AtomicBool>::default();
    let told = answers.clone();
    let server = RawServer::start(move |seen| match told.load(Ordering::SeqCst) {
        true => ServerStep::write(ok(seen.stream)),
        false => ServerStep::nothing(),
    })
    .await;
    (server, answers)
}

#[tokio::test]
async fn no_more_connections_and_streams_and_waiting_calls_than_allowed() {
    let (server, _answers) = held().await;
    let pool = pool_to(&[server.address], small());
    let mut calls = JoinSet::new();
    for _ in 0..30 {
        let pool = pool.clone();
        calls.spawn(async move { pool.call(get(), within(400)).await.unwrap_err() });
    }
    let (mut busy, mut late) = (0, [0; 2]);
    while let Some(error) = calls.join_next().await {
        let error = error.unwrap();
        match (error.kind, error.sent) {
            (CallErrorKind::Busy, Delivery::Nothing) => busy += 1,
            (CallErrorKind::DeadlineExceeded, sent) => late[sent as usize] += 1,
            _ => panic!("{error}"),
        }
    }
    // All arrive before there is a connection: four wait, the others exceed the limit.
    assert_eq!((busy, late.iter().sum::<i32>()), (26, 4));
    assert!(server.connections() <= 2);
}

#[tokio::test]
async fn a_place_that_becomes_free_goes_to_a_call_that_waits() {
    let server = RawServer::start(|seen| ServerStep::write(ok(seen.stream))).await;
    let options = PoolOptions { connections: 1, streams: 2, ..PoolOptions::default() };
    let pool = pool_to(&[server.address], options);
    let mut calls = JoinSet::new();
    for _ in 0..200 {
        let pool = pool.clone();
        calls.spawn(async move { pool.call(get(), call()).await.map(drop) });
    }
    for answered in calls.join_all().await {
        answered.unwrap();
    }
    assert_eq!((server.requests(), server.connections()), (200, 1));
    let status = pool.status();
    assert_eq!((status.in_use, status.waiting), (0, 0));
}

#[tokio::test]
async fn a_server_that_allows_one_stream_gets_one_at_a_time() {
    let server = RawServer::with_settings(&[(MAX_CONCURRENT_STREAMS, 1)], |seen| {
        ServerStep::write(ok(seen.stream))
    })
    .await;
    let options = PoolOptions { connections: 1, ..PoolOptions::default() };
    let pool = pool_to(&[server.address], options);
    pool.call(get(), call()).await.unwrap();
    let answers =
        tokio::join!(pool.call(get(), call()), pool.call(get(), call()), pool.call(get(), call()));
    assert!(answers.0.is_ok() && answers.1.is_ok() && answers.2.is_ok());
}

/// The server allows no streams: calls don't wait forever.
#[tokio::test]
async fn a_server_that_allows_no_stream_lets_calls_wait_until_their_deadline() {
    let server =
        RawServer::with_settings(&[(MAX_CONCURRENT_STREAMS, 0)], |_| ServerStep::nothing()).await;
    let pool = pool_to(&[server.address], small());
    for _ in 0..3 {
        let error = pool.call(get(), within(100)).await.unwrap_err();
        assert_eq!(error.kind, CallErrorKind::DeadlineExceeded);
    }
    assert_eq!(server.requests(), 0);
}

#[tokio::test]
async fn a_response_keeps_its_place_until_its_body_has_ended() {
    let server = RawServer::start(|seen| ServerStep::write(ok_and_more(seen.stream))).await;
    let pool = pool_to(&[server.address], small());
    let answer = pool.call(get(), call()).await.unwrap();
    assert_eq!(pool.status().in_use, 1);
    drop(answer);
    assert_eq!(pool.status().in_use, 0);
}

#[tokio::test]
async fn a_call_that_is_given_up_frees_its_place() {
    let (server, answers) = held().await;
    let options = PoolOptions { connections: 1, streams: 1, ..PoolOptions::default() };
    let pool = pool_to(&[server.address], options);
    for _ in 0..5 {
        assert!(pool.call(get(), within(30)).await.is_err());
    }
    answers.store(true, Ordering::SeqCst);
    pool.call(get(), call()).await.unwrap();
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn connections_are_kept_warm_and_replaced() {
    let server = RawServer::start(|seen| ServerStep::close(ok(seen.stream))).await;
    let options = PoolOptions { warm: 2, ..PoolOptions::default() };
    let pool = pool_to(&[server.address], options);
    while pool.status().connections < 2 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(server.requests(), 0);
    pool.call(get(), call()).await.unwrap();
    while server.connections() < 3 || pool.status().connections < 2 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn another_connection_is_opened_before_the_first_is_full() {
    let (server, _answers) = held().await;
    let options = PoolOptions { streams: 4, open_ahead_at: 50, ..PoolOptions::default() };
    let pool = pool_to(&[server.address], options);
    let mut calls = JoinSet::new();
    for _ in 0..3 {
        let pool = pool.clone();
        calls.spawn(async move { pool.call(get(), within(5000)).await.map(drop) });
        // The first connection is open.
        while server.requests() < calls.len() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    while pool.status().connections < 2 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    calls.shutdown().await;
}

#[tokio::test]
async fn connections_that_are_idle_or_old_end() {
    let server = RawServer::start(|seen| ServerStep::write(ok(seen.stream))).await;
    let short = Duration::from_millis(30);
    let quick = PoolOptions { keep_alive: Duration::from_millis(10), ..PoolOptions::default() };
    let idle = pool_to(&[server.address], PoolOptions { idle: short, ..quick.clone() });
    idle.call(get(), call()).await.unwrap();
    while idle.status().connections > 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    // Calls continue while connections age.
    let old = pool_to(&[server.address], PoolOptions { max_age: short, ..quick });
    while server.connections() < 5 {
        old.call(get(), call()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(old.status().connections <= 2);
}

#[tokio::test]
async fn the_connection_of_a_visit_ends_unless_a_call_comes() {
    let server = RawServer::start(|seen| ServerStep::write(ok(seen.stream))).await;
    let pool = pool_to(&[server.address], PoolOptions::default());
    let stay = Duration::from_millis(50);
    let deadline = || Deadline::after(Duration::from_secs(10));
    for visits in 1..=3 {
        pool.visit(deadline(), stay).await.unwrap();
        assert_eq!((pool.status().connections, server.connections()), (0, visits));
    }
    // A call that comes meanwhile keeps the connection, and one that follows finds it.
    let visiting = pool.visit(deadline(), stay);
    let calling = async {
        while pool.status().ready == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        pool.call(get(), call()).await.unwrap();
    };
    tokio::join!(async { visiting.await.unwrap() }, calling);
    pool.call(get(), call()).await.unwrap();
    // A visit changes nothing where there is a connection.
    pool.visit(deadline(), stay).await.unwrap();
    assert_eq!((pool.status().connections, server.connections()), (1, 4));
    assert_eq!(pool.status().in_use, 0);
}

#[tokio::test]
async fn a_pool_that_is_renewed_has_new_connections_and_calls_under_way_end() {
    let (server, answers) = held().await;
    let pool = pool_to(&[server.address], PoolOptions::default());
    let calling = tokio::spawn({
        let pool = pool.clone();
        async move { pool.call(get(), within(200)).await.unwrap_err().kind }
    });
    while server.requests() < 1 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    pool.renew();
    answers.store(true, Ordering::SeqCst);
    pool.call(get(), call()).await.unwrap();
    assert_eq!(server.seen.lock().unwrap()[1].connection, 1);
    // It was not cut.
    assert_eq!(calling.await.unwrap(), CallErrorKind::DeadlineExceeded);
}

#[tokio::test]
async fn a_closed_pool_takes_no_call_and_ends_those_that_wait() {
    let (server, _answers) = held().await;
    let options = PoolOptions { connections: 1, streams: 1, ..PoolOptions::default() };
    let pool = pool_to(&[server.address], options);
    let mut calls = JoinSet::new();
    for _ in 0..2 {
        let pool = pool.clone();
        calls.spawn(async move { pool.call(get(), within(300)).await.unwrap_err().kind });
    }
    while server.requests() < 1 || pool.status().waiting < 1 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    pool.close();
    assert_eq!(pool.call(get(), call()).await.unwrap_err().kind, CallErrorKind::Closed);
    let mut kinds = calls.join_all().await;
    kinds.sort_by_key(|kind| format!("{kind:?}"));
    // The open call may finish.
    assert_eq!(kinds, [CallErrorKind::Closed, CallErrorKind::DeadlineExceeded]);
}
