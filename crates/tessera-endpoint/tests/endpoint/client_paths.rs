//! A client with several sockets.

use std::time::Duration;

use tessera_endpoint::{EndpointOptions, SocketPolicy};

use crate::nat::NatKind;
use crate::nat_world::{NatWorld, following, internal, options};
use crate::world::TRIP;

/// Returns a world with a client that is connected.
pub(crate) fn connected(options: EndpointOptions) -> NatWorld {
    let mut world = NatWorld::new(NatKind::PortRestricted, options);
    let client = world.connect(following(), true);
    world.pass(TRIP * 30);
    assert!(world.echoes(client) && world.echoes(client));
    world.clients[client].endpoint.association_mut().request_connection_ids(2).unwrap_or_default();
    world.pass(TRIP * 10);
    world
}

const BOTH: [Option<SocketPolicy>; 2] = [None, Some(SocketPolicy::Tcs)];

#[test]
fn a_client_leaves_a_socket_only_once_the_next_one_works() {
    for policy in BOTH {
        let mut world = connected(options(policy));
        let (first, second) = (internal(0, 0), internal(0, 1));
        world.dead = vec![second];
        let now = world.now();
        world.clients[0].endpoint.replace_local(Some(second), now);
        for _ in 0..5 {
            assert!(world.echoes(0), "{policy:?}: at the first one");
        }
        assert_eq!(world.clients[0].endpoint.path().local, Some(first));
        assert!(world.clients[0].endpoint.uses_local(Some(second)));
        world.dead.clear();
        world.pass(Duration::from_secs(40));
        assert_eq!(world.clients[0].endpoint.path().local, Some(second), "{policy:?}");
        assert!(!world.clients[0].endpoint.uses_local(Some(first)));
        assert!(world.echoes(0));
        assert_eq!(world.endpoint.counts().moved, 1, "challenges move nothing");
    }
}

/// What the server sent before it knew of the other socket still arrives; then it comes there by itself.
#[test]
fn nothing_is_lost_when_a_client_leaves_a_socket_that_works() {
    for policy in BOTH {
        let mut world = connected(options(policy));
        let second = internal(0, 1);
        let (before, now) = (world.clients[0].received.len(), world.now());
        world.clients[0].endpoint.replace_local(Some(second), now);
        for _ in 0..20 {
            world.write(0, b"x");
            world.pass(TRIP / 2);
        }
        world.pass(TRIP * 2);
        assert_eq!(world.clients[0].received.len(), before + 20, "{policy:?}");
        assert_eq!(world.clients[0].endpoint.path().local, Some(second));
    }
}

#[test]
fn the_server_follows_a_client_that_sends_nothing() {
    let mut world = connected(options(None));
    let (id, before) = (world.newest(), world.endpoint.path(world.newest()));
    let now = world.now();
    world.clients[0].endpoint.replace_local(Some(internal(0, 1)), now);
    world.pass(TRIP * 6);
    assert_ne!(world.endpoint.path(id), before);
}

#[test]
fn a_socket_that_never_works_is_given_up() {
    let mut world = connected(options(None));
    let second = internal(0, 1);
    world.dead = vec![second];
    let now = world.now();
    world.clients[0].endpoint.replace_local(Some(second), now);
    world.pass(Duration::from_secs(300));
    assert!(!world.clients[0].endpoint.uses_local(Some(second)));
    assert!(world.echoes(0));
}

/// RFC 9147 §11: who sees both paths can't link them by the connection ID.
#[test]
fn a_path_is_checked_under_the_connection_id_that_is_used_there() {
    let mut world = connected(options(None));
    assert!(world.clients[0].endpoint.association().spare_connection_ids() > 0);
    let id = |datagram: &[u8]| datagram[1..9].to_vec();
    let first = id(&world.sent_up.last().unwrap().2);
    world.sent_up.clear();
    let now = world.now();
    world.clients[0].endpoint.replace_local(Some(internal(0, 1)), now);
    world.write(0, b"meanwhile");
    world.pass(TRIP * 4);
    assert!(world.echoes(0));
    let from_first = world.sent_up[0].0;
    assert!(world.sent_up.len() > 2);
    for (from, _, datagram) in &world.sent_up {
        assert_eq!(*from == from_first, id(datagram) == first);
    }
}

#[test]
fn three_round_trips_of_silence_lead_to_a_spare_socket_and_back() {
    for policy in BOTH {
        let mut world = connected(options(policy));
        let (first, second) = (internal(0, 0), internal(0, 1));
        world.clients[0].endpoint.add_spare(Some(second));
        world.pass(TRIP * 10);
        assert!(world.echoes(0));
        assert_eq!(world.clients[0].endpoint.path().local, Some(first), "it works");
        for (dead, alive) in [(first, second), (second, first), (first, second)] {
            world.dead = vec![dead];
            let timeout = world.clients[0].endpoint.association().path_timeout();
            assert!(!world.echoes(0));
            world.pass(timeout + TRIP * 3);
            assert_eq!(world.clients[0].endpoint.path().local, Some(alive), "{policy:?}");
            assert!(world.echoes(0), "{policy:?}");
            world.dead.clear();
        }
    }
}

/// A server that has nothing to say isn't gone.
#[test]
fn a_silent_server_that_answers_challenges_keeps_the_client_where_it_is() {
    let mut world = connected(options(None));
    let (first, second) = (internal(0, 0), internal(0, 1));
    world.clients[0].endpoint.add_spare(Some(second));
    for _ in 0..10 {
        // Nothing comes back: the association is silent.
        let mut out = Vec::new();
        world.clients[0].endpoint.write(b"", &mut out).unwrap();
        world.pass(Duration::from_secs(3));
        assert_eq!(world.clients[0].endpoint.path().local, Some(first));
    }
    assert!(world.echoes(0));
}

#[test]
fn the_system_s_refusal_leads_to_a_spare_socket_at_once() {
    let mut world = connected(options(None));
    let (first, second) = (internal(0, 0), internal(0, 1));
    world.clients[0].endpoint.add_spare(Some(second));
    world.dead = vec![first];
    let now = world.now();
    world.clients[0].endpoint.suspect_path(now);
    world.pass(TRIP * 3);
    assert_eq!(world.clients[0].endpoint.path().local, Some(second));
    assert!(world.echoes(0));
}

#[test]
fn a_socket_that_is_gone_is_replaced_at_once_by_a_spare_one() {
    let mut world = connected(options(None));
    let (first, second) = (internal(0, 0), internal(0, 1));
    world.clients[0].endpoint.add_spare(Some(second));
    world.dead = vec![first];
    let now = world.now();
    assert!(world.clients[0].endpoint.remove_local(Some(first), now));
    assert!(world.echoes(0));
    world.dead = vec![second];
    assert!(!world.clients[0].endpoint.remove_local(Some(second), now), "none is left");
}

#[test]
fn a_socket_that_was_just_left_is_the_last_to_replace_one_that_is_gone() {
    let mut world = connected(options(None));
    let [first, second, third] = [0, 1, 2].map(|socket| internal(0, socket));
    let now = world.now();
    world.clients[0].endpoint.replace_local(Some(second), now);
    world.pass(TRIP * 3);
    assert_eq!(world.clients[0].endpoint.path().local, Some(second));
    assert!(world.clients[0].endpoint.uses_local(Some(first)), "for a second");
    world.clients[0].endpoint.add_spare(Some(third));
    let now = world.now();
    for (gone, next) in [(second, third), (third, first)] {
        assert!(world.clients[0].endpoint.remove_local(Some(gone), now));
        assert_eq!(world.clients[0].endpoint.path().local, Some(next));
    }
    world.pass(Duration::from_secs(2));
    assert!(world.echoes(0), "one that is used isn't left");
}

/// An interface that comes and goes ten times a second.
#[test]
fn a_socket_that_changes_again_and_again_costs_few_datagrams() {
    let mut world = connected(options(None));
    let before = world.sent_up.len();
    for turn in 0..100 {
        let now = world.now();
        let next = internal(0, 1 + turn % 50);
        world.clients[0].endpoint.replace_local(Some(next), now);
        world.dead = vec![next];
        world.pass(Duration::from_millis(100));
        let used =
            (0..60).filter(|it| world.clients[0].endpoint.uses_local(Some(internal(0, *it))));
        assert!(used.count() <= 2, "the one in use, and the newest");
    }
    assert!(world.sent_up.len() - before <= 300, "three challenges each at most");
    world.dead.clear();
    world.pass(Duration::from_secs(5));
    assert!(world.echoes(0));
}
