//! Which datagrams lead to an association with a socket of its own, and which of those move it.

use std::net::SocketAddr;
use std::time::Duration;

use tessera_endpoint::{Path, Route, SocketPolicy};

use crate::client_checks::{between, flight, flight_now, sent};
use crate::client_sockets::announced_in_vain;
use crate::nat::NatKind;
use crate::nat_world::{NatWorld, SHARED, following, internal, options};
use crate::world::TRIP;

/// Delivers a datagram at a socket of the server's that answers nothing otherwise.
fn deliver_at_dead(world: &mut NatWorld, from: SocketAddr, own: SocketAddr, datagram: Vec<u8>) {
    world.dead.retain(|it| *it != own);
    world.deliver(from, own, datagram);
    world.dead.push(own);
}

/// Returns an association whose client asks its own socket in vain: the client's address, the socket, and the newest record,
/// a challenge that has not arrived there.
fn challenged_in_vain() -> (NatWorld, SocketAddr, SocketAddr, Vec<u8>) {
    let mut world = announced_in_vain();
    let own = world.endpoint.own_socket(world.newest()).unwrap();
    world.pass(Duration::from_secs(2));
    let (home, to, challenge) = world.sent_up.last().unwrap().clone();
    assert_eq!(to, own);
    (world, home, own, challenge)
}

/// Sends data of the client's, of which a copy comes to the own socket first.
fn copy_data(world: &mut NatWorld, from: SocketAddr, own: SocketAddr) {
    world.write(0, b"copied");
    let (_, _, data) = world.sent_up.last().unwrap().clone();
    deliver_at_dead(world, from, own, data);
    assert_eq!(world.endpoint.path(world.newest()).unwrap().local, Some(own));
}

/// It shows that the client is there, not that it has left for its own.
#[test]
fn a_challenge_at_the_shared_socket_takes_that_from_no_client() {
    let mut world = announced_in_vain();
    let (own, second) = (world.endpoint.own_socket(world.newest()).unwrap(), internal(0, 1));
    world.dead.push(second);
    world.clients[0].endpoint.add_spare(Some(second));
    let now = world.now();
    world.clients[0].endpoint.suspect_path(now);
    world.pass(TRIP * 8);
    let home = world.nat.leaves(internal(0, 0), SHARED);
    copy_data(&mut world, home, own);
    world.pass(TRIP * 4);
    assert!(world.echoes(0));
}

/// The answer may be lost: until it comes the client stays where it is.
#[test]
fn a_challenge_at_an_own_socket_takes_the_shared_one_from_no_client() {
    let (mut world, home, own, challenge) = challenged_in_vain();
    deliver_at_dead(&mut world, home, own, challenge);
    let (now, mut lost) = (world.now(), Vec::new());
    assert!(world.endpoint.transmit(now, &mut lost).is_some());
    assert!(world.echoes(0));
    assert_eq!(world.clients[0].endpoint.path().remote, SHARED);
}

/// One who copies all that the client sends, from an address of its own: once that is refuted, the client is found again.
#[test]
fn copies_of_a_challenge_and_of_data_take_the_shared_socket_from_no_client() {
    let (mut world, _, own, challenge) = challenged_in_vain();
    let thief = internal(8, 0);
    deliver_at_dead(&mut world, thief, own, challenge);
    copy_data(&mut world, thief, own);
    world.pass(Duration::from_secs(10));
    assert_eq!(world.endpoint.counts().paths_refuted, 1);
    assert!(world.echoes(0));
}

#[test]
fn an_ipc_client_gets_no_announcement() {
    let mut world = NatWorld::new(NatKind::FullCone, options(Some(SocketPolicy::Ipc)));
    world.connect(following(), true);
    world.pass(TRIP * 30);
    assert!(world.echoes(0));
    assert_eq!(world.clients[0].endpoint.association().server_address(), None);
}

/// Its address is proved: the client is the same.
#[test]
fn a_client_that_goes_to_its_own_socket_is_not_checked() {
    let mut world = NatWorld::new(NatKind::PortRestricted, options(Some(SocketPolicy::Tcs)));
    world.connect(following(), true);
    world.pass(TRIP * 30);
    assert!(world.echoes(0) && world.echoes(0));
    assert_ne!(world.clients[0].endpoint.path().remote, SHARED);
    let counts = world.endpoint.counts();
    assert_eq!([counts.moved, counts.paths_proved, counts.paths_refuted], [0; 3]);
}

/// An IPC handshake of which the client's first ACK has come, but not its Finished.
#[test]
fn a_handshake_at_an_own_socket_is_that_of_its_client() {
    let mut kind = options(Some(SocketPolicy::Ipc));
    kind.max_datagram = 300;
    let mut world = NatWorld::new(NatKind::FullCone, kind);
    world.connect(following(), true);
    for mut datagram in flight(&mut world, 0) {
        let now = world.now();
        let _ = world.clients[0].endpoint.read(now, between(0, SHARED), &mut datagram);
    }
    let hellos = sent(&mut world);
    for (_, datagram) in &hellos {
        world.deliver(internal(0, 0), SHARED, datagram.clone());
    }
    let [id] = world.endpoint.ids()[..] else { panic!("one association") };
    let own = world.endpoint.own_socket(id).unwrap();
    let flight = flight_now(&mut world);
    let (_, some) = flight.split_last().unwrap();
    assert!(!some.is_empty());
    for datagram in some {
        let now = world.now();
        let _ = world.clients[0].endpoint.read(now, between(0, own), &mut datagram.clone());
    }
    let mut later = world.now();
    later.monotonic = world.clients[0].endpoint.deadline().unwrap();
    world.clients[0].endpoint.handle_timeout(later).unwrap();
    let mut ack = Vec::new();
    assert!(world.clients[0].endpoint.transmit(later, &mut ack).is_some());
    assert_eq!(ack[0] & 0xe0, 0x20, "under keys");
    assert_eq!(world.deliver(internal(0, 0), own, ack), Some(Route::Association(id)));
    // Its hello that comes again begins no other one.
    for (_, datagram) in hellos {
        let route = world.deliver(internal(0, 0), SHARED, datagram);
        assert_eq!(route, Some(Route::Association(id)));
    }
    // What is in plaintext may be its ACK of a flight, and else anyone's.
    let plaintext = [26, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0];
    for (from, is_read) in [(internal(0, 0), true), (internal(0, 1), false)] {
        let (now, path) = (world.now(), Path { remote: from, local: Some(own) });
        let route = world.endpoint.route(now, path, &plaintext);
        assert_eq!(route == Route::Association(id), is_read, "{from}: {route:?}");
    }
}
