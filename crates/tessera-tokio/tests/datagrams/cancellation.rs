//! Futures that are dropped.

use std::time::Duration;

use tokio::time::timeout;

use crate::common::{destination, ends};
use crate::world::{World, exchange, soon};

const MOMENT: Duration = Duration::from_millis(1);

#[tokio::test]
async fn a_receive_that_is_dropped_loses_nothing() {
    let world = World::new(&ends()).await;
    let (client, server) = soon(world.connect()).await;
    let sending = async {
        for number in 0..50_u8 {
            client.send(&[number]).await.unwrap();
            tokio::time::sleep(MOMENT).await;
        }
    };
    let receiving = async {
        let mut received = Vec::new();
        while received.len() < 50 {
            if let Ok(datagram) = timeout(Duration::from_micros(300), server.recv()).await {
                received.extend_from_slice(&datagram.unwrap().unwrap());
            }
        }
        received
    };
    let ((), received) = soon(async { tokio::join!(sending, receiving) }).await;
    assert_eq!(received, (0..50).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_accept_that_is_dropped_loses_no_client() {
    let world = World::new(&ends()).await;
    let connecting = async {
        let mut clients = Vec::new();
        for _ in 0..5 {
            clients.push(world.connector.connect(world.address, destination()).await.unwrap());
        }
        clients
    };
    let accepting = async {
        let mut servers = Vec::new();
        while servers.len() < 5 {
            if let Ok(server) = timeout(MOMENT, world.listener.accept()).await {
                servers.push(server.unwrap());
            }
        }
        servers
    };
    let (clients, servers) = soon(async { tokio::join!(connecting, accepting) }).await;
    for (client, server) in clients.iter().zip(&servers) {
        soon(exchange(client, server)).await;
    }
}

#[tokio::test]
async fn a_handshake_that_is_dropped_goes_on() {
    let world = World::new(&ends()).await;
    let client = world.connector.start(world.address, destination()).await.unwrap();
    assert!(timeout(Duration::ZERO, client.handshake()).await.is_err());
    let server = soon(world.listener.accept()).await.unwrap();
    // It may be complete by now.
    let _ = timeout(Duration::ZERO, server.handshake()).await;
    soon(exchange(&client, &server)).await;
}

#[tokio::test]
async fn several_may_wait_for_one_connection() {
    let world = World::new(&ends()).await;
    let (client, server) = soon(world.connect()).await;
    let both = async { tokio::try_join!(server.recv(), server.recv()).unwrap() };
    let sending = async {
        client.send(b"1").await.unwrap();
        client.send(b"2").await.unwrap();
    };
    let ((one, other), ()) = soon(async { tokio::join!(both, sending) }).await;
    let mut received = [one.unwrap()[0], other.unwrap()[0]];
    received.sort_unstable();
    assert_eq!(received, *b"12");
}
