//! Clients that change their address.

use tessera_tokio::{DatagramListener, EndpointOptions};
use tokio::net::UdpSocket;

use crate::common::ends;
use crate::relay::Relay;
use crate::world::{World, exchange, soon};

#[tokio::test]
async fn a_server_follows_a_client_behind_a_changing_address() {
    let world = World::new(&ends()).await;
    let relay = Relay::new(world.address, |_, _, _| false).await;
    let (client, server) = soon(world.connect_to(relay.address)).await;
    soon(exchange(&client, &server)).await;
    for _ in 0..3 {
        let address = relay.change_port().await;
        soon(exchange(&client, &server)).await;
        assert_eq!(server.peer_addr(), Some(address));
    }
    assert_eq!(world.listener.counts().moved, 3);
}

#[tokio::test]
async fn a_client_continues_over_another_socket() {
    let world = World::new(&ends()).await;
    let (client, server) = soon(world.connect()).await;
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    soon(client.rebind(socket)).await.unwrap();
    soon(exchange(&client, &server)).await;
    assert_eq!(server.peer_addr(), Some(address));
}

#[tokio::test]
async fn without_connection_ids_a_client_that_moves_is_lost() {
    let mut world = World::new(&ends()).await;
    let options = EndpointOptions { connection_id_len: 0, ..EndpointOptions::default() };
    let cookies =
        std::sync::Arc::new(tessera_vault::RotatingRing::new(&tessera_aws_lc::provider()));
    let local = "127.0.0.1:0".parse().unwrap();
    world.listener =
        DatagramListener::bind(local, &world.acceptor, cookies, options).await.unwrap();
    world.address = world.listener.local_addr().unwrap();
    let (client, _server) = soon(world.connect()).await;
    client.rebind(UdpSocket::bind("127.0.0.1:0").await.unwrap()).await.unwrap();
    soon(client.send(b"question")).await.unwrap();
    soon(async {
        while world.listener.counts().unknown == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
