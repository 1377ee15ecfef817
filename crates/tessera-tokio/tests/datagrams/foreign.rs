//! Datagrams of other protocols.

use std::sync::Arc;

use tessera_tokio::{DatagramListener, EndpointOptions, Foreign};
use tessera_vault::RotatingRing;
use tokio::net::UdpSocket;

use crate::common::ends;
use crate::world::{World, exchange, soon};

#[tokio::test]
async fn what_is_not_dtls13_is_handed_out_and_answered_from_the_same_port() {
    let mut world = World::new(&ends()).await;
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    world.address = socket.local_addr().unwrap();
    let cookies = Arc::new(RotatingRing::new(&tessera_aws_lc::provider()));
    let options = EndpointOptions::default();
    let (listener, foreign) =
        DatagramListener::with_foreign(socket, &world.acceptor, cookies, options);
    world.listener = listener;
    let stranger = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    stranger.connect(world.address).await.unwrap();
    let (client, server) = soon(world.connect()).await;
    stranger.send(&[25; 20]).await.unwrap();
    let received = soon(foreign.recv()).await.unwrap();
    assert_eq!((received.kind, &received[..]), (Foreign::Dtls12, &[25; 20][..]));
    assert_eq!(received.from, stranger.local_addr().unwrap());
    soon(foreign.send_to(b"answer", received.from)).await.unwrap();
    let mut answer = [0; 100];
    let len = soon(stranger.recv(&mut answer)).await.unwrap();
    assert_eq!(answer[..len], *b"answer");
    // It may outlive the listener, and the connections need neither.
    drop(world.listener);
    stranger.send(&[25; 30]).await.unwrap();
    assert_eq!(soon(foreign.recv()).await.unwrap().len(), 30);
    drop(foreign);
    soon(exchange(&client, &server)).await;
}
