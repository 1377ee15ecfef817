//! Clients that follow their server's announcements.

use std::time::Duration;

use tessera_endpoint::SocketPolicy;

use crate::nat::NatKind;
use crate::nat_world::{NatWorld, SHARED, following, options};
use crate::world::TRIP;

/// The order that opens NATs.
#[test]
fn nothing_comes_from_an_announced_socket_before_the_client_has_sent_there() {
    let mut world = NatWorld::new(NatKind::PortRestricted, options(Some(SocketPolicy::Tcs)));
    world.connect(following(), true);
    for _ in 0..60 {
        world.pass(TRIP / 2);
        let asked: Vec<_> = world.sent_up.iter().map(|(_, to, _)| *to).collect();
        assert!(world.sent.iter().all(|(from, _, _)| *from == SHARED || asked.contains(from)));
    }
    assert!(world.echoes(0));
}

/// The client stays where it is answered, and comes when the other socket answers.
#[test]
fn a_client_uses_an_announced_socket_only_once_that_has_answered() {
    let mut world = NatWorld::new(NatKind::PortRestricted, options(Some(SocketPolicy::Tcs)));
    world.dead = world.sockets.clone();
    let client = world.connect(following(), true);
    world.pass(TRIP * 30);
    for _ in 0..5 {
        assert!(world.echoes(client), "at the shared socket");
        assert_eq!(world.clients[client].endpoint.path().remote, SHARED);
    }
    world.dead.clear();
    world.pass(Duration::from_secs(40));
    assert!(world.echoes(client) && world.echoes(client));
    assert_ne!(world.clients[client].endpoint.path().remote, SHARED);
}

/// A server reads no challenge before Finished.
#[test]
fn the_first_challenge_follows_finished_and_is_answered() {
    let mut world = NatWorld::new(NatKind::PortRestricted, options(Some(SocketPolicy::Tcs)));
    let client = world.connect(following(), true);
    while !world.clients[client].is_complete {
        world.sent_up.clear();
        world.pass(TRIP / 2);
    }
    let own = world.endpoint.own_socket(world.endpoint.ids()[0]).unwrap();
    let asked: Vec<_> = world.sent_up.iter().map(|(_, to, _)| *to).collect();
    assert_eq!(asked, [SHARED, own], "Finished, and a challenge");
    world.pass(TRIP * 2);
    assert_eq!(world.clients[client].endpoint.path().remote, own);
}
