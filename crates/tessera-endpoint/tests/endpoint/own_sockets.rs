//! Associations with sockets of their own, behind NATs.

use std::net::SocketAddr;
use std::time::Duration;

use tessera::{AssociationOptions, ConnectionId};
use tessera_endpoint::{EndpointOptions, OwnSockets, Route, SocketPolicy};
use tessera_harness::Mode;

use crate::nat::NatKind;
use crate::nat_world::{NatWorld, SHARED, following, internal, options, stock};
use crate::world::{TRIP, World};

use NatKind::{AddressRestricted, FullCone, PortRestricted, Symmetric};
use SocketPolicy::{Ipc, Tcs};

/// Returns a world with a client that is connected, and goes on at its association's socket.
pub(crate) fn connected(kind: NatKind, options: EndpointOptions) -> (NatWorld, SocketAddr) {
    let mut world = NatWorld::new(kind, options);
    let client = world.connect(following(), true);
    world.pass(TRIP * 30);
    assert!(world.echoes(client) && world.echoes(client), "{:?}", world.clients[client].error);
    let own = world.endpoint.own_socket(world.newest()).expect("a socket");
    assert_eq!(world.clients[client].endpoint.path().remote, own);
    (world, own)
}

/// The table of `tessera serve --help`.
#[test]
fn what_each_nat_does_to_each_policy() {
    for (policy, kind, connects) in [
        (Some(Ipc), FullCone, true),
        (Some(Ipc), AddressRestricted, true),
        (Some(Ipc), PortRestricted, false),
        (Some(Ipc), Symmetric, false),
        (Some(Tcs), FullCone, true),
        (Some(Tcs), AddressRestricted, true),
        (Some(Tcs), PortRestricted, true),
        (Some(Tcs), Symmetric, true),
        (None, FullCone, true),
        (None, AddressRestricted, true),
        (None, PortRestricted, true),
        (None, Symmetric, true),
    ] {
        let mut world = NatWorld::new(kind, options(policy));
        let client = world.connect(following(), true);
        world.pass(TRIP * 40);
        assert_eq!(world.echoes(client), connects, "{policy:?}, {kind:?}");
        if !connects {
            continue;
        }
        // An expiring NAT: the client has another address.
        for _ in 0..3 {
            assert!(world.echoes(client));
            world.nat.forget();
            assert!(world.echoes(client), "{policy:?}, {kind:?}: rebound");
        }
        // A symmetric NAT has another port for the own socket.
        let moved = 3 + u64::from((policy, kind) == (Some(Tcs), Symmetric));
        assert_eq!(world.endpoint.counts().moved, moved, "{policy:?}, {kind:?}");
        assert_eq!(world.endpoint.own_socket(world.newest()).is_some(), policy.is_some());
    }
}

/// What stock libraries do: no connection IDs, no announcements, a socket that isn't connected.
#[test]
fn a_stock_client_that_is_answered_from_another_port_may_move() {
    let mut world = NatWorld::new(FullCone, options(Some(Ipc)));
    let client = world.connect(stock(), true);
    world.pass(TRIP * 30);
    assert!(world.echoes(client));
    world.nat.forget();
    assert!(world.echoes(client), "without a connection ID");
    let own = world.endpoint.own_socket(world.newest());
    assert_eq!(own, Some(world.clients[client].endpoint.path().remote));
}

#[test]
fn a_client_that_does_not_follow_has_a_connection_id_and_no_socket() {
    let mut world = NatWorld::new(PortRestricted, options(Some(Tcs)));
    let options = AssociationOptions::default();
    let client = world.connect(options, false);
    world.pass(TRIP * 30);
    world.nat.forget();
    assert!(world.echoes(client));
    assert_eq!(world.endpoint.own_socket(world.newest()), None);
    let datagram = &world.sent_up.last().unwrap().2;
    assert_eq!(datagram[0] & 0x10, 0x10, "a connection ID");
}

#[test]
fn a_record_at_an_own_socket_has_no_connection_id() {
    let (world, own) = connected(Symmetric, options(Some(Tcs)));
    let (_, to, datagram) = world.sent_up.last().unwrap();
    assert_eq!((*to, datagram[0] & 0x10), (own, 0));
}

/// A copy of a record at the shared socket, sent to each port: the newest record has come to the association's socket, but
/// its client isn't there.
#[test]
fn a_copy_at_an_own_socket_takes_the_shared_one_from_no_client() {
    let mut world = NatWorld::new(PortRestricted, options(Some(Tcs)));
    world.dead = world.sockets.clone();
    let client = world.connect(following(), true);
    world.pass(TRIP * 30);
    assert!(world.echoes(client));
    let own = world.endpoint.own_socket(world.newest()).unwrap();
    for from in [world.sent_up.last().unwrap().0, internal(8, 0)] {
        world.write(client, b"copied");
        let (_, _, datagram) = world.sent_up.last().unwrap().clone();
        world.dead.retain(|it| *it != own);
        world.deliver(from, own, datagram);
        world.dead.push(own);
        assert_eq!(world.endpoint.path(world.newest()).unwrap().local, Some(own));
        world.pass(TRIP * 4);
        assert!(world.echoes(client));
        assert_eq!(world.endpoint.path(world.newest()).unwrap().local, None);
    }
}

/// wolfssl #10609: an address was updated on a record that wasn't newer.
#[test]
fn only_the_newest_record_at_an_own_socket_moves_its_association() {
    let (mut world, own) = connected(FullCone, options(Some(Tcs)));
    let (home, _, newest) = world.sent_up.last().unwrap().clone();
    let mut late = Vec::new();
    world.clients[0].endpoint.write(b"late", &mut late).unwrap();
    assert!(world.echoes(0));
    let id = world.newest();
    for (datagram, what) in [(newest, "a replay"), (late, "not the newest")] {
        world.deliver(internal(7, 0), own, datagram);
        assert_eq!(world.endpoint.path(id).unwrap().remote, home, "{what}");
    }
    assert_eq!(world.endpoint.counts().moved, 0);
}

/// RFC 9853: three times what came, and back if there is no answer.
#[test]
fn a_victim_s_address_gets_three_times_what_came_from_it() {
    let (mut world, own) = connected(FullCone, options(Some(Tcs)));
    let home = world.sent_up.last().unwrap().0;
    let mut out = Vec::new();
    world.clients[0].endpoint.write(b"copied", &mut out).unwrap();
    let victim = internal(7, 0);
    let len = out.len();
    world.sent.clear();
    world.deliver(victim, own, out);
    let id = world.newest();
    assert_eq!(world.endpoint.path(id).unwrap().remote, victim);
    let mut answer = Vec::new();
    while let Ok(path) = world.endpoint.write(id, b"answer", &mut answer) {
        world.sent.push((own, path.remote, std::mem::take(&mut answer).len()));
    }
    world.pass(Duration::from_secs(10));
    let sent: usize = world.sent.iter().filter(|it| it.1 == victim).map(|it| it.2).sum();
    assert!(sent > 0 && sent <= 3 * len, "{sent} for {len}");
    assert_eq!(world.endpoint.path(id).unwrap().remote, home, "refuted");
    assert!(world.echoes(0));
}

#[test]
fn what_does_not_open_gets_no_answer_at_an_own_socket() {
    let (mut world, own) = connected(FullCone, options(Some(Tcs)));
    let waiting = *world.sockets.iter().find(|it| **it != own).unwrap();
    let hello = world.sent_up[0].2.clone();
    let mut forged = world.sent_up.last().unwrap().2.clone();
    *forged.last_mut().unwrap() ^= 1;
    world.pass(Duration::from_secs(10));
    world.sent.clear();
    let before = world.endpoint.counts();
    for to in [own, waiting] {
        for datagram in [&hello[..], &forged, &[0, 1, 0, 0], &[], &[0x3f; 60], &[0x2f; 60]] {
            let is_read = to == own && datagram.first().is_some_and(|it| it & 0xe0 == 0x20);
            let route = world.deliver(internal(7, 0), to, datagram.to_vec());
            assert_eq!(route == Some(Route::Dropped), !is_read, "{datagram:?}");
        }
    }
    world.pass(Duration::from_secs(10));
    assert_eq!(world.sent, []);
    assert_eq!(world.endpoint.counts().cookies_sent, before.cookies_sent);
    assert!(world.echoes(0));
}

/// A socket costs a port and a descriptor: only a cookie pays for it.
#[test]
fn a_client_has_a_socket_only_once_its_address_is_proved() {
    for policy in [Ipc, Tcs] {
        let mut world = NatWorld::new(FullCone, options(Some(policy)));
        let waiting = world.sockets.clone();
        world.connect(following(), true);
        world.pass(TRIP);
        assert_eq!(world.endpoint.counts().cookies_sent, 1);
        assert_eq!(world.endpoint.len(), 0);
        assert_eq!(world.sockets, waiting, "{policy:?}: the same wait");
        world.pass(TRIP * 30);
        assert_eq!(world.sockets.len(), waiting.len() + 1);
    }
}

/// With a ticket it has none: that would cost the round trip that early data saves. Then it has a connection ID.
#[test]
fn a_client_that_resumes_without_a_cookie_has_no_socket() {
    let mut world = World::new(Mode::PskDhe, options(Some(Ipc)));
    let sessions = [world.session(), world.session()];
    let before = world.endpoint.counts();
    assert_eq!(before.without_socket, 2, "none was given");
    let [with_id, without_id] = sessions;
    let client = world.connect(1000, with_id);
    world.pass(TRIP * 20);
    world.is_connected(client);
    let counts = world.endpoint.counts();
    assert_eq!(counts.without_socket, 2, "none is wanted");
    assert_eq!(counts.cookies_opened, before.cookies_opened);
    // Without a connection ID it could not move: it is asked for a cookie.
    let client = world.connect_with(2000, without_id, stock());
    world.pass(TRIP * 20);
    world.is_connected(client);
    let counts = world.endpoint.counts();
    assert_eq!(counts.without_socket, 3);
    assert_eq!(counts.cookies_opened, before.cookies_opened + 1);
}

#[test]
fn without_ports_associations_share_the_socket_and_are_counted() {
    for policy in [Ipc, Tcs] {
        let mut world = NatWorld::new(PortRestricted, options(Some(policy)));
        world.sockets_left = 0;
        let waiting = world.sockets.len();
        let clients: Vec<_> = (0..waiting + 4).map(|_| world.connect(following(), true)).collect();
        world.pass(TRIP * 60);
        let share = world.endpoint.counts().without_socket;
        assert_eq!(share, 4, "{policy:?}");
        if policy == Tcs {
            for client in clients {
                assert!(world.echoes(client), "{client}");
            }
            world.nat.forget();
            assert!(world.echoes(waiting + 3), "one that shares has a connection ID");
        }
    }
}

#[test]
fn sockets_are_bounded_in_all_and_for_each_source() {
    let mut options = options(Some(Tcs));
    let own = OwnSockets { max: 6, max_per_source: 4, ..OwnSockets::new(Tcs) };
    options.own_sockets = Some(own);
    let mut world = NatWorld::new(FullCone, options);
    for _ in 0..10 {
        world.connect(following(), true);
    }
    world.pass(TRIP * 60);
    assert_eq!(world.endpoint.len(), 10);
    assert_eq!(world.endpoint.counts().without_socket, 6);
    assert!(world.sockets.len() <= 6);
    // The same client is at home at each: no one else has lost anything.
    for client in 0..10 {
        assert!(world.echoes(client), "{client}");
    }
}

/// A NAT that gives one client's port to another: each goes on with its own association.
#[test]
fn a_nat_hands_the_port_of_one_client_to_another() {
    let (mut world, own) = connected(PortRestricted, options(Some(Tcs)));
    let first = world.newest();
    let port = world.sent_up.last().unwrap().0.port();
    world.nat.forget();
    world.nat.next_port = port;
    let second = world.connect(following(), true);
    world.pass(TRIP * 30);
    assert!(world.echoes(second) && world.echoes(second));
    let other = world.newest();
    assert_eq!(world.endpoint.path(other).unwrap().remote.port(), port);
    assert_eq!(world.endpoint.path(first).unwrap().remote.port(), port, "it has heard nothing");
    // What the server still sends to the first one opens at neither.
    let mut out = Vec::new();
    let path = world.endpoint.write(first, b"lost", &mut out).unwrap();
    assert_eq!((path.local, path.remote.port()), (Some(own), port));
    assert!(world.echoes(0), "the first one has another port now");
    assert_ne!(world.endpoint.path(first).unwrap().remote.port(), port);
    assert!(world.echoes(second));
    assert_eq!(world.endpoint.len(), 2);
    assert_ne!(world.endpoint.own_socket(other), Some(own));
}

/// The same while the first one is still at the shared socket: the second takes its route there, not its association.
#[test]
fn a_client_at_the_port_of_another_one_ends_no_association_with_a_socket() {
    let mut world = NatWorld::new(FullCone, options(Some(Tcs)));
    world.dead = world.sockets.clone();
    world.connect(following(), true);
    world.pass(TRIP * 30);
    assert!(world.echoes(0));
    let first = world.newest();
    let port = world.sent_up.last().unwrap().0.port();
    world.nat.forget();
    world.nat.next_port = port;
    let second = world.connect(stock(), false);
    world.pass(TRIP * 30);
    assert!(world.echoes(second));
    assert_eq!(world.endpoint.len(), 2);
    assert!(world.endpoint.own_socket(first).is_some());
    world.dead.clear();
    world.pass(Duration::from_secs(80));
    assert!(world.echoes(0), "it comes to its socket");
    assert!(world.echoes(second));
}

/// wolfssl #8841: a move of one association changed another.
#[test]
fn a_move_at_one_socket_changes_no_other() {
    let (mut world, _) = connected(FullCone, options(Some(Tcs)));
    let first = world.newest();
    let second = world.connect(following(), true);
    world.pass(TRIP * 30);
    assert!(world.echoes(second) && world.echoes(second));
    let (other, before) = (world.newest(), world.endpoint.path(world.newest()));
    world.nat.forget();
    assert!(world.echoes(0));
    assert_ne!(first, other);
    assert_eq!(world.endpoint.path(other), before);
    assert!(world.echoes(second));
}

/// wolfssl #6365: what names the association is the socket, not the client's address.
#[test]
fn clients_swap_their_addresses() {
    let (mut world, _) = connected(FullCone, options(Some(Tcs)));
    let second = world.connect(following(), true);
    world.pass(TRIP * 30);
    assert!(world.echoes(second) && world.echoes(second));
    let first_port = world.nat.leaves(internal(0, 0), SHARED).port();
    world.nat.forget();
    // The second client is mapped first now.
    world.nat.next_port = first_port;
    assert!(world.echoes(second) && world.echoes(0));
    assert_eq!(world.endpoint.len(), 2);
    assert!(world.echoes(second) && world.echoes(0));
}

#[test]
fn a_client_with_a_long_connection_id_is_announced_a_socket_too() {
    let mut world = NatWorld::new(PortRestricted, options(Some(Tcs)));
    let connection_id = ConnectionId::new(&[7; 16]);
    let client = world.connect(AssociationOptions { connection_id, ..following() }, true);
    world.pass(TRIP * 30);
    assert!(world.echoes(client) && world.echoes(client));
    assert_ne!(world.clients[client].endpoint.path().remote, SHARED);
}
