//! How long an upgraded connection lasts, and how much it holds.

use std::sync::{Arc, Mutex};

use http::Response;
use tessera_proxy::http::server::{
    Cause, ServerOptions, UpgradeEnd, UpgradeOptions, UpgradeRequest, keep,
};
use tokio::io::{AsyncWriteExt, duplex};
use tokio::time::{Instant, sleep};

use super::service::*;
use crate::http_server::served::{SECOND, ServedConnection};

#[tokio::test(start_paused = true)]
async fn it_outlives_the_limits_on_requests_and_ends_when_idle() {
    let upgrades = UpgradeOptions { idle_time: 100 * SECOND, ..UpgradeOptions::default() };
    let options = ServerOptions { upgrades: Some(upgrades), ..ServerOptions::default() };
    let exchange_time = options.exchange_time;
    let (mut io, served, mut accepted) = accepting(options);
    upgrade(&mut io).await;
    let mut backend = accepted.stream().await;
    let started = Instant::now();
    while started.elapsed() < exchange_time + 100 * SECOND {
        sleep(90 * SECOND).await;
        io.write_all(b"ping").await.unwrap();
        expect(&mut backend, b"ping").await;
    }
    let idle = Instant::now();
    let ended = served.ended().await;
    assert!(matches!(ended.cause, Cause::Upgraded(UpgradeEnd::Idle)), "{ended:?}");
    assert_eq!(idle.elapsed().as_secs(), 100);
    assert_eq!(rest(&mut backend).await, b"");
}

#[tokio::test(start_paused = true)]
async fn a_side_that_reads_nothing_ends_it_and_slows_the_other_down() {
    // The client reads nothing.
    let (mut io, served, mut accepted) = accepting(options());
    upgrade(&mut io).await;
    let mut backend = accepted.stream().await;
    let started = Instant::now();
    let flood = tokio::spawn(async move {
        let mut sent = 0;
        while backend.write_all(&[0; 1024]).await.is_ok() {
            sent += 1024;
        }
        sent
    });
    let ended = served.ended().await;
    assert!(matches!(&ended.cause, Cause::Upgraded(UpgradeEnd::Client(_))), "{ended:?}");
    assert_eq!(started.elapsed().as_secs(), 30);
    // What the two streams hold, and the pump.
    let most = 256 * 1024 + ROOM + tessera_proxy::pump::MAX_KEPT;
    let sent = flood.await.unwrap();
    assert!((256 * 1024..=most).contains(&sent), "{sent}");
    drop(io);

    // The backend reads nothing.
    let (mut io, served, mut accepted) = accepting(options());
    upgrade(&mut io).await;
    let backend = accepted.stream().await;
    let started = Instant::now();
    tokio::spawn(async move { while io.write_all(&[0; 1024]).await.is_ok() {} });
    let ended = served.ended().await;
    assert!(matches!(&ended.cause, Cause::Upgraded(UpgradeEnd::OtherSide(_))), "{ended:?}");
    assert_eq!(started.elapsed().as_secs(), 30);
    drop(backend);
}

#[tokio::test(start_paused = true)]
async fn it_ends_for_a_while_when_the_server_drains() {
    let (mut io, served, mut accepted) = accepting(options());
    upgrade(&mut io).await;
    let mut backend = accepted.stream().await;
    served.drain();
    let started = Instant::now();
    sleep(29 * SECOND).await;
    io.write_all(b"there").await.unwrap();
    expect(&mut backend, b"there").await;
    let ended = served.ended().await;
    assert!(matches!(ended.cause, Cause::Drained { cut: 1 }), "{ended:?}");
    assert_eq!(started.elapsed().as_secs(), 30);
    assert_eq!(rest(&mut backend).await, b"");
}

#[tokio::test(start_paused = true)]
async fn no_upgrade_is_accepted_during_shutdown() {
    let (mut io, served) = ServedConnection::start(options(), |mut request| async move {
        sleep(SECOND).await;
        let upgrade = UpgradeRequest::take(&mut request).unwrap();
        upgrade.accept(Response::new(()), duplex(1).0)
    });
    io.write_all(UPGRADE.as_bytes()).await.unwrap();
    sleep(SECOND / 2).await;
    served.drain();
    let answer = String::from_utf8(rest(&mut io).await).unwrap();
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    drop(io);
    assert!(matches!(served.ended().await.cause, Cause::Drained { cut: 0 }));
}

#[tokio::test(start_paused = true)]
async fn it_ends_when_its_signal_is_ready() {
    let (mut io, served, mut accepted) = accepting_until(options(), || sleep(7 * SECOND));
    upgrade(&mut io).await;
    let started = Instant::now();
    let mut backend = accepted.stream().await;
    let ended = served.ended().await;
    assert!(matches!(ended.cause, Cause::Upgraded(UpgradeEnd::Signal)), "{ended:?}");
    assert_eq!(started.elapsed().as_secs(), 7);
    assert_eq!(rest(&mut backend).await, b"");
}

#[tokio::test(start_paused = true)]
async fn what_its_answer_holds_is_held_until_its_end() {
    let place = Arc::new(());
    let (near, mut backend) = duplex(64);
    let answer = Mutex::new(Some((near, place.clone())));
    let (mut io, served) = ServedConnection::start(options(), move |mut request| {
        let answer = answer.lock().unwrap().take();
        async move {
            let (near, place) = answer.unwrap();
            let upgrade = UpgradeRequest::take(&mut request).unwrap();
            let mut answer = upgrade.accept(Response::new(()), near);
            keep(&mut answer, place);
            answer
        }
    });
    upgrade(&mut io).await;
    io.write_all(b"there").await.unwrap();
    expect(&mut backend, b"there").await;
    assert_eq!(Arc::strong_count(&place), 2);
    drop((io, backend));
    served.ended().await;
    assert_eq!(Arc::strong_count(&place), 1);
}
