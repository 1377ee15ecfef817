//! How long a socket of an association is its own: until the association ends, which its client's silence brings about.

use std::time::Duration;

use tessera::Error;
use tessera_endpoint::{Path, Route, SocketPolicy};

use crate::nat::NatKind;
use crate::nat_world::{following, internal, options};
use crate::own_sockets::connected;
use crate::world::TRIP;

use NatKind::FullCone;
use SocketPolicy::Tcs;

#[test]
fn a_socket_is_released_with_its_association_and_not_used_again() {
    let (mut world, own) = connected(FullCone, options(Some(Tcs)));
    let (from, _, datagram) = world.sent_up.last().unwrap().clone();
    let id = world.newest();
    world.endpoint.remove(id);
    let path = Path { remote: from, local: Some(own) };
    for datagram in [datagram, world.sent_up[0].2.clone()] {
        let route = world.endpoint.route(world.now(), path, &datagram);
        assert_eq!(route, Route::Dropped, "before the owner has closed it");
    }
    let sockets = world.sockets.len();
    world.exchange_sockets();
    assert!(!world.sockets.contains(&own));
    assert_eq!(world.sockets.len(), sockets - 1);
    assert_eq!(world.endpoint.next_released_socket(), None);
    // A handshake that fails releases its own, too.
    let other = world.connect(following(), true);
    world.pass(TRIP * 3);
    assert_eq!(world.sockets.len(), sockets);
    world.dead = vec![internal(other, 0)];
    world.pass(Duration::from_secs(60));
    assert_eq!(world.endpoint.len(), 0);
    assert_eq!(world.sockets.len(), sockets - 1);
}

#[test]
fn an_association_with_a_socket_ends_when_its_client_is_silent() {
    let timeout = Duration::from_secs(600);
    let mut options = options(Some(Tcs));
    options.own_sockets.as_mut().unwrap().idle_timeout = timeout;
    let (mut world, own) = connected(FullCone, options);
    let id = world.newest();
    // Awake or idle, and whatever comes from others.
    for _ in 0..3 {
        world.pass(timeout - Duration::from_secs(60));
        assert!(world.echoes(0));
    }
    for _ in 0..9 {
        world.pass(Duration::from_secs(61));
        world.deliver(internal(7, 0), own, vec![0x2f; 60]);
    }
    assert_eq!(world.endpoint.own_socket(id), Some(own));
    world.pass(Duration::from_secs(60));
    assert_eq!(world.ended, [(id, Error::TimedOut)]);
    assert!(world.endpoint.is_empty() && !world.sockets.contains(&own));
    assert_eq!(world.endpoint.deadline(), None);
}

/// It wakes the association for a moment.
#[test]
fn an_association_with_a_socket_that_woke_is_idle_again_soon() {
    let (mut world, _) = connected(FullCone, options(Some(Tcs)));
    world.pass(Duration::from_secs(400));
    assert_eq!(world.endpoint.idle_len(), 1);
    assert!(world.echoes(0));
    world.pass(Duration::from_secs(200));
    assert_eq!(world.endpoint.idle_len(), 1);
}

#[test]
fn a_look_at_an_idle_association_with_a_socket_lets_its_end_come() {
    let timeout = Duration::from_secs(1800);
    let mut options = options(Some(Tcs));
    options.own_sockets.as_mut().unwrap().idle_timeout = timeout;
    let (mut world, _) = connected(FullCone, options);
    let id = world.newest();
    world.pass(timeout / 2);
    assert_eq!(world.endpoint.idle_len(), 1);
    let now = world.now();
    let deadline = world.endpoint.deadline();
    let is_complete = world.endpoint.look_at(id, now, |it| it.facts().handshake_complete);
    assert_eq!(is_complete, Some(true));
    assert_eq!((world.endpoint.idle_len(), world.endpoint.deadline()), (1, deadline));
    world.pass(timeout);
    assert_eq!(world.ended, [(id, Error::TimedOut)]);
    assert_eq!(world.endpoint.deadline(), None);
}
