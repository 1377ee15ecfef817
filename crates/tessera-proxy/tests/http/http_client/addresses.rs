//! Several addresses: sick ones are avoided, and one that hangs delays no call.

use std::error::Error;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tessera_proxy::address::DialAddress;
use tessera_proxy::http::client::{CallErrorKind, Delivery, PoolOptions, Target};
use tokio::net::{TcpListener, TcpSocket};

use super::raw::{RawServer, ServerStep, call, get, ok, pool_to, within};

async fn answering() -> RawServer {
    RawServer::start(|seen| ServerStep::write(ok(seen.stream))).await
}

/// Returns a closed port.
async fn closed() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

fn port(answer: &tessera_proxy::http::client::Answer) -> u16 {
    match answer.address() {
        DialAddress::Tcp(address) => address.port(),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn the_next_address_answers_if_the_first_has_no_listener() {
    let server = answering().await;
    let pool = pool_to(&[closed().await, server.address], PoolOptions::default());
    for _ in 0..3 {
        let answer = pool.call(get(), call()).await.unwrap();
        assert_eq!(port(&answer), server.address.port());
    }
    assert_eq!(server.connections(), 1);
    let status = pool.status();
    assert!(status.addresses[0].failures > 0, "{status:?}");
    assert_eq!(status.addresses[1].connections, 1);
}

/// The first address accepts connections and never answers the handshake.
#[tokio::test]
async fn an_address_that_hangs_stalls_no_call_that_another_can_answer() {
    // A full accept queue: connect(2) waits for the answer to its SYN.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = socket.listen(1).unwrap();
    let hanging = full.local_addr().unwrap();
    let mut queue = Vec::new();
    for _ in 0..8 {
        let connecting = tokio::net::TcpStream::connect(hanging);
        match tokio::time::timeout(Duration::from_millis(200), connecting).await {
            Ok(connected) => queue.push(connected.unwrap()),
            Err(_) => break,
        }
    }
    let server = answering().await;
    let options = PoolOptions { connect: Duration::from_secs(30), ..PoolOptions::default() };
    let pool = pool_to(&[hanging, server.address], options);
    let began = Instant::now();
    let answer = pool.call(get(), call()).await.unwrap();
    assert_eq!(port(&answer), server.address.port());
    // Long before the time limit for the first address.
    assert!(began.elapsed() < Duration::from_secs(10));
    drop(queue);
}

#[tokio::test]
async fn without_any_listening_address_calls_fail_with_the_reason() {
    let pool = pool_to(&[closed().await, closed().await], PoolOptions::default());
    for _ in 0..2 {
        let error = pool.call(get(), call().repeatable()).await.unwrap_err();
        assert_eq!((error.kind, error.sent), (CallErrorKind::Unreachable, Delivery::Nothing));
        let last = error.source().unwrap().to_string();
        assert!(last.contains("refused") && last.matches("127.0.0.1:").count() == 1, "{last}");
        assert!(error.to_string().ends_with(&last), "{error}");
    }
    let error = pool_to(&[], PoolOptions::default()).call(get(), call()).await.unwrap_err();
    assert_eq!(error.kind, CallErrorKind::Unreachable);
}

fn backing_off_for(millis: u64) -> PoolOptions {
    PoolOptions { back_off: [Duration::from_millis(millis); 2].into(), ..PoolOptions::default() }
}

/// A server restarts, and its replacement ends before its address may be tried again.
#[tokio::test]
async fn a_call_waits_for_the_only_address_that_failed_a_moment_ago() {
    let place = closed().await;
    let pool = pool_to(&[place], backing_off_for(400));
    let failed = || pool.status().addresses[0].failures > 0;
    let (answer, _server) = tokio::join!(pool.call(get(), call()), async {
        while !failed() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let listener = TcpListener::bind(place).await.unwrap();
        RawServer::on(listener, &[], |seen| ServerStep::write(ok(seen.stream)))
    });
    assert_eq!(port(&answer.unwrap()), place.port());
    assert_eq!(pool.status().counts.failed, 1);
}

#[tokio::test]
async fn a_call_waits_for_no_address_that_may_be_tried_only_after_its_deadline() {
    let pool = pool_to(&[closed().await], backing_off_for(20_000));
    pool.call(get(), call()).await.unwrap_err();
    // A call waits at most a second, even if its deadline is in ten.
    for deadline in [call(), within(500)] {
        let error = pool.call(get(), deadline).await.unwrap_err();
        assert_eq!(error.kind, CallErrorKind::Unreachable);
    }
    assert_eq!(pool.status().counts.failed, 1);
}

#[tokio::test]
async fn the_preferred_address_is_used_again_when_it_is_back() {
    let (place, second) = (closed().await, answering().await);
    let options = PoolOptions {
        back_off: (Duration::from_millis(20), Duration::from_millis(50)),
        ..PoolOptions::default()
    };
    let pool = pool_to(&[place, second.address], options);
    let answer = pool.call(get(), call()).await.unwrap();
    assert_eq!(port(&answer), second.address.port());
    // The address is back, but no call asks for it.
    let listener = TcpListener::bind(place).await.unwrap();
    let (_socket, _) = listener.accept().await.unwrap();
    // The connection to it is open: calls prefer it from now on, even if it answers none.
    while pool.status().addresses[0].connections == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let error = pool.call(get(), within(100)).await.unwrap_err();
    assert_eq!(error.kind, CallErrorKind::DeadlineExceeded);
}

#[tokio::test]
async fn calls_leave_an_address_that_is_taken_away() {
    let (first, second) = (answering().await, answering().await);
    let pool = pool_to(&[first.address], PoolOptions::default());
    pool.call(get(), call()).await.unwrap();
    pool.set_targets(vec![Target::new(DialAddress::Tcp(second.address))]);
    let answer = pool.call(get(), call()).await.unwrap();
    assert_eq!(port(&answer), second.address.port());
}

/// A server dies with open calls: a PING detects it, and the calls move elsewhere.
#[tokio::test]
async fn a_connection_to_a_silent_server_is_given_up() {
    let silent = RawServer::start(|_| ServerStep::silence()).await;
    let second = answering().await;
    let options = PoolOptions {
        keep_alive: Duration::from_millis(100),
        keep_alive_answer: Duration::from_secs(1),
        ..PoolOptions::default()
    };
    let pool = pool_to(&[silent.address, second.address], options);
    let (lost, repeated) =
        tokio::join!(pool.call(get(), call()), pool.call(get(), call().repeatable()));
    let error = lost.unwrap_err();
    assert_eq!((error.kind, error.sent), (CallErrorKind::ConnectionLost, Delivery::Maybe));
    let answer = repeated.unwrap();
    assert!(answer.resent);
    assert_eq!(port(&answer), second.address.port());
}
