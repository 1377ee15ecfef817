//! Listeners that hand their connections to the next one, and clients that none accepts.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use tessera_tokio::{DatagramListener, EndpointOptions, FrozenAssociation, RefusedBy};
use tessera_vault::RotatingRing;
use tokio::net::UdpSocket;
use tokio::time::sleep;

use crate::common::{destination, ends};
use crate::world::{World, exchange, soon};

/// Moves this many connections out, as soon as nothing of them is under way.
async fn freeze(listener: &DatagramListener, count: usize) -> Vec<FrozenAssociation> {
    let mut frozen = listener.freeze();
    while frozen.len() < count {
        sleep(Duration::from_millis(5)).await;
        frozen.extend(listener.freeze());
    }
    frozen
}

#[tokio::test]
async fn connections_go_on_at_the_next_listener() {
    let ends = ends();
    let world = World::new(&ends).await;
    let (client, server) = soon(world.connect()).await;
    soon(exchange(&client, &server)).await;
    let bytes = server.bytes();
    let frozen = soon(freeze(&world.listener, 1)).await;
    assert!(server.has_moved_out());
    assert_eq!(soon(server.recv()).await.unwrap_err().kind(), ErrorKind::NotConnected);
    assert_eq!(soon(server.send(b"x")).await.unwrap_err().kind(), ErrorKind::NotConnected);
    // It is lost: no reset answers it.
    soon(client.send(b"lost")).await.unwrap();
    let World { listener, connector, address, acceptor, .. } = world;
    drop((listener, server));
    let socket = soon(async {
        loop {
            match UdpSocket::bind(address).await {
                Ok(socket) => break socket,
                Err(_) => sleep(Duration::from_millis(1)).await,
            }
        }
    })
    .await;
    let cookies = Arc::new(RotatingRing::new(&tessera_aws_lc::provider()));
    let options = EndpointOptions::default();
    let (listener, _, refused) =
        DatagramListener::with_associations(socket, &acceptor, cookies, options, None, frozen);
    assert_eq!(refused, []);
    let server = soon(listener.accept()).await.unwrap();
    assert!(server.is_handshake_complete() && server.peer_addr().is_some());
    assert_eq!(server.handshake_time(), None, "another process made it");
    assert!(server.bytes()[0] >= bytes[0] && server.bytes()[1] >= bytes[1]);
    soon(exchange(&client, &server)).await;
    server.update_keys(true).unwrap();
    soon(exchange(&client, &server)).await;
    soon(client.close()).await;
    assert!(soon(server.recv()).await.unwrap().is_none());
    // Others connect as ever.
    let accepting = async { listener.accept().await.unwrap() };
    let connecting = connector.connect(address, destination());
    let (client, server) = soon(async { tokio::join!(connecting, accepting) }).await;
    soon(exchange(&client.unwrap(), &server)).await;
    assert!(server.handshake_time().is_some_and(|time| time <= server.started().elapsed()));
}

#[tokio::test]
async fn a_client_whose_trust_was_withdrawn_stays_behind() {
    let mut ends = ends();
    let world = World::new(&ends).await;
    world.prepare().await;
    // It rests on its session.
    let (_client, server) = soon(world.connect()).await;
    assert!(server.facts().psk.is_some());
    ends.server.policy_epoch += 1;
    world.acceptor.replace(ends.server.clone().checked().unwrap());
    sleep(Duration::from_millis(200)).await;
    assert!(world.listener.freeze().is_empty());
    assert!(!server.has_moved_out());
}

#[tokio::test]
async fn clients_that_fail_before_they_are_accepted_are_reported() {
    let (here, elsewhere) = (ends(), ends());
    let distrustful = World::new(&elsewhere).await;
    let world = World::new(&here).await;
    for _ in 0..3 {
        let connecting = distrustful.connector.connect(world.address, destination());
        assert_eq!(soon(connecting).await.err().unwrap().kind(), ErrorKind::InvalidData);
        let failed = soon(world.listener.failed()).await.unwrap();
        assert_eq!(failed.error.kind(), ErrorKind::InvalidData);
        assert!(failed.address.ip().is_loopback());
    }
    assert_eq!(world.listener.missed_failures(), 0);
}

#[tokio::test]
async fn a_client_that_a_limit_refuses_is_reported() {
    let ends = ends();
    let world = World::new(&ends).await;
    let cookies = Arc::new(RotatingRing::new(&tessera_aws_lc::provider()));
    let options = EndpointOptions { max_per_source: 1, ..EndpointOptions::default() };
    let local = "127.0.0.1:0".parse().unwrap();
    let listener = DatagramListener::bind(local, &world.acceptor, cookies, options).await.unwrap();
    let address = listener.local_addr().unwrap();
    let accepting = async { listener.accept().await.unwrap() };
    let connecting = world.connector.connect(address, destination());
    let (first, _server) = soon(async { tokio::join!(connecting, accepting) }).await;
    let _first = first.unwrap();
    let second = world.connector.connect(address, destination());
    let refused = tokio::select! {
        refused = soon(listener.failed()) => refused.unwrap(),
        _ = second => panic!("it is refused"),
    };
    assert_eq!(refused.error.kind(), ErrorKind::QuotaExceeded);
    let by = refused.error.get_ref().and_then(|by| by.downcast_ref());
    assert_eq!(by, Some(&RefusedBy::ConnectionsOfAddress));
}
