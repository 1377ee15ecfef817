//! Connections with sockets of their own, at the server and at the client.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tessera::{AddressPrefix, AssociationOptions, ConnectionId};
use tessera_tokio::{
    ClientDatagramConnection, DatagramConnector, DatagramListener, EndpointOptions, OwnSockets,
    ServerDatagramConnection, SocketAddresses, SocketPolicy,
};
use tessera_vault::RotatingRing;
use tokio::net::UdpSocket;
use tokio::time::sleep;

use crate::common::ends;
use crate::world::{World, exchange, soon};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Returns a world whose associations have sockets, at these ports.
async fn world(policy: SocketPolicy, ports: std::ops::RangeInclusive<u16>) -> World {
    let addresses = SocketAddresses::Ports(LOOPBACK, ports);
    world_at(LOOPBACK, OwnSockets::new(policy), addresses).await
}

async fn world_at(ip: IpAddr, own_sockets: OwnSockets, addresses: SocketAddresses) -> World {
    let ends = ends();
    let mut world = World::new(&ends).await;
    let cookies = Arc::new(RotatingRing::new(&tessera_aws_lc::provider()));
    let options = EndpointOptions { own_sockets: Some(own_sockets), ..EndpointOptions::default() };
    let socket = UdpSocket::bind((ip, 0)).await.unwrap();
    world.address = socket.local_addr().unwrap();
    world.listener =
        DatagramListener::with_own_sockets(socket, &world.acceptor, cookies, options, addresses);
    // Without sessions: a client that resumes has no cookie, and no socket.
    world.connector = DatagramConnector::new(ends.connector()).with_options(AssociationOptions {
        follows_to: Some(Vec::new()),
        ..AssociationOptions::default()
    });
    world
}

/// Exchanges datagrams until the connection goes on at its own socket.
async fn at_own_socket(
    world: &World,
    client: &ClientDatagramConnection,
    server: &ServerDatagramConnection,
) -> SocketAddr {
    soon(async {
        loop {
            exchange(client, server).await;
            let own = client.peer_addr().unwrap();
            if own != world.address && server.local_addr().unwrap() == own {
                return own;
            }
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await
}

async fn any_socket() -> UdpSocket {
    UdpSocket::bind((LOOPBACK, 0)).await.unwrap()
}

/// Waits until a port is free.
async fn is_closed(address: SocketAddr) {
    soon(async {
        while UdpSocket::bind(address).await.is_err() {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_connection_goes_on_at_its_own_socket_and_survives_a_move() {
    for policy in [SocketPolicy::Tcs, SocketPolicy::Ipc] {
        let world = world(policy, 0..=0).await;
        let (client, server) = soon(world.connect()).await;
        let own = at_own_socket(&world, &client, &server).await;
        for _ in 0..3 {
            soon(client.rebind(any_socket().await)).await.unwrap();
            soon(exchange(&client, &server)).await;
            assert_eq!(server.local_addr().unwrap(), own);
        }
        assert_eq!(world.listener.counts().moved, 3, "{policy:?}");
        let _ = soon(world.connect()).await;
        drop((client, server));
        is_closed(own).await;
    }
}

/// Stock libraries have neither connection IDs nor announcements.
#[tokio::test]
async fn without_connection_ids_a_client_survives_a_move_too() {
    let mut world = world(SocketPolicy::Tcs, 0..=0).await;
    let connector = world.connector.connector().clone();
    world.connector = DatagramConnector::new(connector).with_options(AssociationOptions {
        connection_id: ConnectionId::new(&[]),
        follows_to: Some(Vec::new()),
        ..AssociationOptions::default()
    });
    let (client, server) = soon(world.connect()).await;
    at_own_socket(&world, &client, &server).await;
    assert_eq!(client.spare_connection_ids(), 0);
    soon(client.rebind(any_socket().await)).await.unwrap();
    soon(exchange(&client, &server)).await;
}

/// The prefix has one address, which a client can't know without the announcement's.
#[tokio::test]
async fn a_connection_goes_on_at_an_address_out_of_a_prefix() {
    let prefix = AddressPrefix::new(Ipv6Addr::LOCALHOST.into(), 128).unwrap();
    for policy in [SocketPolicy::Tcs, SocketPolicy::Ipc] {
        let own_sockets = OwnSockets { announces_ip: true, ..OwnSockets::new(policy) };
        let addresses = SocketAddresses::Prefix(prefix, 0);
        let world = world_at(Ipv6Addr::LOCALHOST.into(), own_sockets, addresses).await;
        let (client, server) = soon(world.connect()).await;
        let own = at_own_socket(&world, &client, &server).await;
        assert_eq!(own.ip(), Ipv6Addr::LOCALHOST);
    }
}

#[tokio::test]
async fn without_ports_connections_share_the_socket() {
    // It was just in use, and is free now.
    let port = any_socket().await.local_addr().unwrap().port();
    let world = world(SocketPolicy::Tcs, port..=port).await;
    let (client, server) = soon(world.connect()).await;
    at_own_socket(&world, &client, &server).await;
    let (other, its_server) = soon(world.connect()).await;
    soon(exchange(&other, &its_server)).await;
    assert_eq!(other.peer_addr(), Some(world.address));
    assert_eq!(world.listener.counts().without_socket, 1);
    soon(other.rebind(any_socket().await)).await.unwrap();
    soon(exchange(&other, &its_server)).await;
    soon(exchange(&client, &server)).await;
}

#[tokio::test]
async fn a_client_makes_before_it_breaks_and_closes_what_it_left() {
    let world = World::new(&ends()).await;
    let (client, server) = soon(world.connect()).await;
    for _ in 0..3 {
        let before = client.local_addr().unwrap();
        let next = any_socket().await;
        let local = next.local_addr().unwrap();
        soon(client.move_to(next)).await.unwrap();
        soon(async {
            while client.local_addr().unwrap() != local {
                exchange(&client, &server).await;
                sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        soon(exchange(&client, &server)).await;
        assert_eq!(server.peer_addr(), Some(local));
        is_closed(before).await;
        // Nothing but what is received wakes the client now.
        soon(exchange(&client, &server)).await;
    }
}

#[tokio::test]
async fn a_spare_socket_is_kept_and_not_used_while_the_other_one_works() {
    let world = World::new(&ends()).await;
    let (client, server) = soon(world.connect()).await;
    let before = client.local_addr().unwrap();
    let spare = any_socket().await;
    let local = spare.local_addr().unwrap();
    soon(client.add_spare(spare)).await.unwrap();
    for _ in 0..10 {
        soon(exchange(&client, &server)).await;
    }
    assert_eq!(client.local_addr().unwrap(), before);
    assert!(UdpSocket::bind(local).await.is_err(), "it is open");
    drop(client);
    is_closed(local).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_connection_that_follows_the_network_stays_while_that_does() {
    use tessera_tokio::NetworkChanges;
    let world = World::new(&ends()).await;
    let (client, server) = soon(world.connect()).await;
    let changes = NetworkChanges::watch().unwrap();
    let before = client.local_addr().unwrap();
    tokio::select! {
        result = client.follow_network(&changes) => panic!("{result:?}"),
        () = async {
            for _ in 0..10 {
                soon(exchange(&client, &server)).await;
                sleep(Duration::from_millis(30)).await;
            }
        } => (),
    }
    assert_eq!(client.local_addr().unwrap(), before);
}
