//! The sockets that an endpoint asks its owner for.

use std::net::SocketAddr;

use tessera_endpoint::{OwnSockets, SocketPolicy};

use crate::nat::NatKind;
use crate::nat_world::{NatWorld, SHARED, following, options};
use crate::world::TRIP;

#[test]
fn a_socket_makes_room_once_its_association_is_gone_and_comes_back_once_it_is_closed() {
    let mut kind = options(None);
    let own = OwnSockets { max: 1, max_per_source: 1, ..OwnSockets::new(SocketPolicy::Tcs) };
    kind.own_sockets = Some(own);
    let mut world = NatWorld::new(NatKind::FullCone, kind);
    world.connect(following(), true);
    world.pass(TRIP * 30);
    assert!(world.echoes(0));
    let id = world.newest();
    let own = world.endpoint.own_socket(id).unwrap();
    let at = |port| SocketAddr::new(SHARED.ip(), port);
    assert_eq!(world.endpoint.sockets_wanted(), 0);
    assert!(!world.endpoint.add_socket(at(7)), "none is wanted");
    world.endpoint.remove(id);
    assert_eq!(world.endpoint.sockets_wanted(), 1, "before the owner has closed it");
    assert!(!world.endpoint.add_socket(own), "it is still open");
    assert!(!world.endpoint.add_socket(at(0)), "it can't be announced");
    assert_eq!(world.endpoint.next_released_socket(), Some(own));
    assert!(world.endpoint.add_socket(own));
    assert_eq!(world.endpoint.sockets_wanted(), 0);
    // Another client of the address.
    let second = world.connect(following(), true);
    world.pass(TRIP * 30);
    assert!(world.echoes(second));
    assert_eq!(world.endpoint.own_socket(world.newest()), Some(own));
    assert_eq!(world.endpoint.counts().without_socket, 0);
}

#[test]
fn an_endpoint_without_a_policy_wants_no_sockets() {
    let mut world = NatWorld::new(NatKind::FullCone, options(None));
    assert_eq!(world.endpoint.sockets_wanted(), 0);
    assert!(!world.endpoint.add_socket(SocketAddr::new(SHARED.ip(), 7)));
}
