//! Clients that change their address.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tessera_tokio::{ClientDatagramConnection, DatagramListener, EndpointOptions};
use tokio::net::UdpSocket;
use tokio::time::sleep;

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
    soon(proved(&world, 1)).await;
}

/// Waits until the server has given a connection ID for the next move.
async fn has_spare_id(client: &ClientDatagramConnection) {
    while client.spare_connection_ids() == 0 {
        sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until this many checks of an address have ended well.
async fn proved(world: &World, count: u64) {
    while world.listener.counts().paths_proved < count {
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_client_continues_over_another_socket_and_under_another_connection_id() {
    let world = World::new(&ends()).await;
    let names = Arc::new(Mutex::new(Vec::new()));
    let noted = names.clone();
    let relay = Relay::new(world.address, move |is_client, _, datagram: &[u8]| {
        // A header with a connection ID, of eight bytes.
        if is_client && datagram[0] & 0xf0 == 0x30 {
            noted.lock().unwrap().push(datagram[1..9].to_vec());
        }
        false
    });
    let relay = relay.await;
    let (client, server) = soon(world.connect_to(relay.address)).await;
    for count in 1..=5 {
        soon(has_spare_id(&client)).await;
        let before = names.lock().unwrap().len();
        soon(exchange(&client, &server)).await;
        assert!(names.lock().unwrap().len() > before);
        // The relay follows the newest of its clients.
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        soon(client.rebind(socket)).await.unwrap();
        relay.change_port().await;
        soon(exchange(&client, &server)).await;
        soon(proved(&world, count)).await;
    }
    let mut names = names.lock().unwrap().clone();
    names.dedup();
    assert_eq!(names.len(), 6, "one for each address");
}

/// Makes a server whose clients get no connection IDs.
async fn without_ids() -> World {
    let mut world = World::new(&ends()).await;
    let options = EndpointOptions { connection_id_len: 0, ..EndpointOptions::default() };
    let cookies = Arc::new(tessera_vault::RotatingRing::new(&tessera_aws_lc::provider()));
    let local = "127.0.0.1:0".parse().unwrap();
    world.listener =
        DatagramListener::bind(local, &world.acceptor, cookies, options).await.unwrap();
    world.address = world.listener.local_addr().unwrap();
    world
}

#[tokio::test]
async fn without_connection_ids_a_client_that_moves_is_lost() {
    let world = without_ids().await;
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

/// Two clients behind a relay have one address: the second takes the place of the first.
#[tokio::test]
async fn what_was_known_of_a_connection_stays_when_its_client_begins_again() {
    let world = without_ids().await;
    let relay = Relay::new(world.address, |_, _, _| false).await;
    let (client, server) = soon(world.connect_to(relay.address)).await;
    soon(exchange(&client, &server)).await;
    let (bytes, address) = (server.bytes(), server.peer_addr());
    let _again = soon(world.connect_to(relay.address)).await;
    assert!(soon(server.recv()).await.is_err());
    // An acknowledgement may have come since.
    let after = server.bytes();
    assert!(after[0] >= bytes[0] && after[1] >= bytes[1], "{after:?}, and {bytes:?} before");
    assert_eq!(server.peer_addr(), address);
    assert!(server.facts().handshake_complete);
}
