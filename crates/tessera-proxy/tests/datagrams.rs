//! The pump for datagrams, between UDP sockets.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::time::Duration;

use tessera_proxy::datagrams::{
    DatagramCounts, DatagramEnd, DatagramSide, SourceLimits, Sources, pump,
};
use tokio::net::UdpSocket;
use tokio::sync::Notify;

/// Returns two sockets that are connected to each other.
async fn pair() -> (UdpSocket, UdpSocket) {
    let bind = || UdpSocket::bind("127.0.0.1:0");
    let (one, other) = (bind().await.unwrap(), bind().await.unwrap());
    one.connect(other.local_addr().unwrap()).await.unwrap();
    other.connect(one.local_addr().unwrap()).await.unwrap();
    (one, other)
}

async fn receive(from: &UdpSocket) -> Vec<u8> {
    let received = tokio::time::timeout(Duration::from_secs(20), DatagramSide::recv(from));
    received.await.unwrap().unwrap().unwrap().to_vec()
}

#[tokio::test]
async fn datagrams_of_every_length_pass_one_for_one_until_both_sides_are_idle() {
    let ((client, near), (far, server)) = (pair().await, pair().await);
    let counts = Arc::new(DatagramCounts::default());
    let shared = counts.clone();
    let idle = Duration::from_millis(300);
    let pumping = tokio::spawn(async move { pump(&near, &far, idle, &shared).await });
    for len in [0, 1, 1200, 9000, 65_507] {
        client.send(&vec![7; len]).await.unwrap();
        assert_eq!(receive(&server).await, vec![7; len]);
        server.send(&vec![8; len]).await.unwrap();
        assert_eq!(receive(&client).await, vec![8; len]);
    }
    assert_eq!(pumping.await.unwrap().unwrap(), DatagramEnd::Idle);
    assert_eq!((counts.a_to_b(), counts.b_to_a(), counts.dropped()), (5, 5, 0));
}

#[tokio::test]
async fn what_the_network_refuses_is_counted_and_ends_nothing() {
    let ((client, near), (far, server)) = (pair().await, pair().await);
    let address = server.local_addr().unwrap();
    let counts = Arc::new(DatagramCounts::default());
    let shared = counts.clone();
    let idle = Duration::from_secs(60);
    let pumping = tokio::spawn(async move { pump(&near, &far, idle, &shared).await });
    client.send(b"before").await.unwrap();
    assert_eq!(receive(&server).await, b"before");
    let to = server.peer_addr().unwrap();
    drop(server);
    for _ in 0..20 {
        client.send(b"lost").await.unwrap();
    }
    let server = UdpSocket::bind(address).await.unwrap();
    server.connect(to).await.unwrap();
    client.send(b"after").await.unwrap();
    while receive(&server).await != b"after" {}
    assert!(!pumping.is_finished());
    pumping.abort();
}

#[tokio::test]
async fn a_source_that_has_ended_begins_again_with_its_next_datagram() {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let sources = Sources::new(socket, SourceLimits { sources: 1, per_address: 1 });
    let (asked, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (until, told) = (asked.clone(), ended.clone());
    let running = tokio::spawn(async move {
        let serve = |source: tessera_proxy::datagrams::Source<UdpSocket>, _| {
            let told = told.clone();
            async move {
                let received = source.recv().await.unwrap().unwrap();
                assert!(source.send(&received).await.unwrap());
                drop(source);
                told.notify_one();
            }
        };
        sources.run(until.notified(), Duration::from_secs(5), serve).await
    });
    let program = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    program.connect(address).await.unwrap();
    for round in 0..3_u8 {
        program.send(&[round]).await.unwrap();
        assert_eq!(receive(&program).await, [round]);
        ended.notified().await;
    }
    asked.notify_one();
    running.await.unwrap().unwrap();
}
