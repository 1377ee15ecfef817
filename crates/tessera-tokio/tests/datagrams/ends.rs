//! How connections end.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tessera::Destination;
use tessera::resume::ExternalPsk;
use tessera::wire::CipherSuite;
use tokio::net::UdpSocket;

use crate::common::{destination, ends};
use crate::relay::Relay;
use crate::world::{World, exchange, soon};

#[tokio::test]
async fn each_direction_is_closed_by_itself() {
    let world = World::new(&ends()).await;
    let (client, server) = soon(world.connect()).await;
    soon(client.close()).await;
    assert!(soon(server.recv()).await.unwrap().is_none());
    assert_eq!(soon(client.send(b"x")).await.unwrap_err().kind(), ErrorKind::BrokenPipe);
    // The other direction is still open.
    soon(server.send(b"answer")).await.unwrap();
    assert_eq!(soon(client.recv()).await.unwrap().unwrap()[..], *b"answer");
    soon(server.close()).await;
    assert!(soon(client.recv()).await.unwrap().is_none());
}

#[tokio::test]
async fn the_peer_learns_that_a_connection_was_dropped() {
    let world = World::new(&ends()).await;
    let (client, server) = soon(world.connect()).await;
    drop(client);
    assert!(soon(server.recv()).await.unwrap().is_none());
    let (client, server) = soon(world.connect()).await;
    drop(server);
    assert!(soon(client.recv()).await.unwrap().is_none());
}

#[tokio::test]
async fn connections_outlive_their_listener() {
    let world = World::new(&ends()).await;
    let (client, server) = soon(world.connect()).await;
    let World { listener, connector, address, .. } = world;
    drop(listener);
    soon(exchange(&client, &server)).await;
    // New clients find nothing, while the socket is open for the others.
    let connecting = connector.connect(address, destination());
    assert!(tokio::time::timeout(Duration::from_millis(300), connecting).await.is_err());
    drop((client, server));
    // The socket is closed with the last of them.
    soon(async {
        while UdpSocket::bind(address).await.is_err() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_port_where_nothing_listens_ends_the_handshake() {
    let world = World::new(&ends()).await;
    let unused = UdpSocket::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = soon(world.connector.connect(unused, destination())).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn a_server_learns_that_its_client_does_not_trust_it() {
    let (here, elsewhere) = (ends(), ends());
    let world = World::with(here.acceptor(), elsewhere.connector()).await;
    let accepting = async {
        let server = world.listener.accept().await.unwrap();
        (server.peer_addr(), server.handshake().await, server.peer_addr())
    };
    let connecting = world.connector.connect(world.address, destination());
    let (client, (before, server, after)) =
        soon(async { tokio::join!(connecting, accepting) }).await;
    assert_eq!(client.err().unwrap().kind(), ErrorKind::InvalidData);
    assert_eq!(server.unwrap_err().kind(), ErrorKind::InvalidData);
    assert!(before.is_some() && before == after, "{before:?}, {after:?}");
}

#[tokio::test]
async fn connections_that_fail_before_they_are_accepted_do_not_wait() {
    let (here, elsewhere) = (ends(), ends());
    let distrustful = World::new(&elsewhere).await;
    let world = World::new(&here).await;
    for _ in 0..3 {
        let connecting = distrustful.connector.connect(world.address, destination());
        assert_eq!(soon(connecting).await.err().unwrap().kind(), ErrorKind::InvalidData);
    }
    // The clients' alerts are at the server before this.
    let client = soon(world.connector.connect(world.address, destination())).await.unwrap();
    let server = soon(world.listener.accept()).await.unwrap();
    assert_eq!(
        server.peer_addr().map(|it| it.port()),
        client.local_addr().ok().map(|it| it.port())
    );
    soon(exchange(&client, &server)).await;
}

#[tokio::test]
async fn a_handshake_without_an_answer_times_out() {
    let mut ends = ends();
    ends.client.handshake_timeout = Duration::from_millis(200);
    let world = World::new(&ends).await;
    let silent = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    let error = soon(world.connector.connect(address, destination())).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
}

#[tokio::test]
async fn a_psk_that_is_withdrawn_during_the_handshake_ends_it() {
    let mut ends = ends();
    let secret = vec![7; 32].into();
    let psk = ExternalPsk::new(b"one".to_vec(), secret, CipherSuite::TLS_AES_128_GCM_SHA256);
    ends.server.external_psks = vec![psk.clone()];
    let world = World::new(&ends).await;
    // After a ClientHello, and a second one in two datagrams, the Finished waits until the configuration is replaced.
    let is_replaced = Arc::new(AtomicBool::new(false));
    let lets_pass = is_replaced.clone();
    let relay = Relay::new(world.address, move |is_up, number, _| {
        is_up && number > 3 && !lets_pass.load(Ordering::SeqCst)
    })
    .await;
    let destination = Destination { external_psks: vec![psk], ..destination() };
    let client = soon(world.connector.connect(relay.address, destination)).await.unwrap();
    let server = soon(world.listener.accept()).await.unwrap();
    assert!(!server.is_handshake_complete() && !server.is_withdrawn());
    ends.server.external_psks.clear();
    world.acceptor.replace(ends.server.checked().unwrap());
    is_replaced.store(true, Ordering::SeqCst);
    let refused = soon(server.handshake()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidData);
    assert!(refused.to_string().contains("withdrawn"), "{refused}");
    assert!(server.is_withdrawn());
    drop(client);
}
