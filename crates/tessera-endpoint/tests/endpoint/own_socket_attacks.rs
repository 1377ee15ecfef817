//! Attackers of own sockets, and NATs and interfaces that move clients between them.

use std::net::SocketAddr;
use std::time::Duration;

use tessera::{Error, PathMessage};
use tessera_endpoint::{EndpointOptions, Path, ReturnRoutability, Route, SocketPolicy};
use tessera_harness::Numbers;

use crate::client_sockets::announced_in_vain;
use crate::nat::NatKind;
use crate::nat_world::{NatWorld, SHARED, following, internal, options, stock};
use crate::world::TRIP;

/// Returns a client that follows, behind a NAT, and its association's own socket.
pub(crate) fn nat_connected(kind: NatKind, options: EndpointOptions) -> (NatWorld, SocketAddr) {
    let mut world = NatWorld::new(kind, options);
    let client = world.connect(following(), true);
    world.pass(TRIP * 30);
    assert!(world.echoes(client) && world.echoes(client));
    let own = world.endpoint.own_socket(world.newest()).expect("a socket");
    (world, own)
}

/// The client's answer to a check of the server's doesn't mean that it uses its own socket.
#[test]
fn a_copy_of_an_answer_at_an_own_socket_takes_the_shared_one_from_no_client() {
    let kind = EndpointOptions {
        return_routability: ReturnRoutability::Enhanced,
        ..options(Some(SocketPolicy::Tcs))
    };
    let mut world = NatWorld::new(NatKind::PortRestricted, kind);
    // Its own socket doesn't answer it.
    world.dead = world.sockets.clone();
    let client = world.connect(following(), true);
    world.pass(TRIP * 30);
    assert!(world.echoes(client));
    let id = world.newest();
    let own = world.endpoint.own_socket(id).unwrap();
    let home = world.sent_up.last().unwrap().0;
    let copy = |world: &mut NatWorld, from, datagram: Vec<u8>| {
        world.dead.retain(|it| *it != own);
        world.deliver(from, own, datagram);
        world.dead.push(own);
    };
    // A copy of data from elsewhere begins a check at the shared socket, where the client is.
    let mut data = Vec::new();
    world.clients[client].endpoint.write(b"copied", &mut data).unwrap();
    copy(&mut world, internal(8, 0), data);
    // The client answers; the copy comes first.
    world.sent_up.clear();
    world.pass(TRIP * 3 / 2);
    let answers: Vec<_> =
        world.sent_up.iter().filter(|it| it.1 == SHARED).map(|it| it.2.clone()).collect();
    assert!(!answers.is_empty());
    for answer in answers {
        copy(&mut world, home, answer);
    }
    let mut data = Vec::new();
    world.clients[client].endpoint.write(b"copied", &mut data).unwrap();
    copy(&mut world, home, data);
    world.pass(TRIP * 20);
    assert!(world.echoes(client), "at the shared socket");
}

/// A challenge of the client's may be one of the shared socket, to which it looks for another path.
#[test]
fn a_copy_of_a_challenge_at_an_own_socket_takes_the_shared_one_from_no_client() {
    let (mut world, client) = (announced_in_vain(), 0);
    let own = world.endpoint.own_socket(world.newest()).unwrap();
    let now = world.now();
    world.sent_up.clear();
    world.clients[client].endpoint.add_spare(Some(internal(client, 1)));
    world.clients[client].endpoint.suspect_path(now);
    world.pass(TRIP / 2);
    world.write(client, b"copied");
    let copied = world.sent_up.clone();
    assert!(copied.len() >= 3, "two challenges and data");
    world.dead.retain(|it| *it != own);
    for (from, _, datagram) in copied {
        world.deliver(from, own, datagram);
    }
    world.dead.push(own);
    assert_eq!(world.endpoint.path(world.newest()).unwrap().local, Some(own));
    world.pass(TRIP * 4);
    for _ in 0..3 {
        assert!(world.echoes(client), "at the shared socket");
    }
    let path = world.endpoint.path(world.newest()).unwrap();
    assert_eq!((path.local, world.endpoint.counts().paths_proved), (None, 1));
}

/// The server asks at the shared socket whether the client has come back, and the client hasn't.
#[test]
fn a_copy_at_the_shared_socket_takes_no_client_from_its_own_for_long() {
    for is_forgotten in [false, true] {
        let (mut world, own) =
            nat_connected(NatKind::PortRestricted, options(Some(SocketPolicy::Tcs)));
        let id = world.newest();
        let home = world.sent_up.last().unwrap().0;
        let mut data = Vec::new();
        world.clients[0].endpoint.write(b"copied", &mut data).unwrap();
        world.deliver(home, SHARED, data);
        assert_eq!(world.endpoint.path(id).unwrap().local, None);
        if is_forgotten {
            // No challenge reaches it.
            world.nat.forget();
        }
        world.pass(if is_forgotten { Duration::from_secs(7) } else { TRIP * 3 });
        assert_eq!(world.endpoint.path(id).unwrap().local, Some(own));
        assert_eq!(world.endpoint.counts().paths_refuted, 1);
        assert!(world.echoes(0));
    }
}

/// An IPC server has answered from the own socket from the first on.
#[test]
fn nothing_at_the_shared_socket_moves_an_ipc_client() {
    let mut world = NatWorld::new(NatKind::FullCone, options(Some(SocketPolicy::Ipc)));
    let client = world.connect(stock(), true);
    world.pass(TRIP * 30);
    assert!(world.echoes(client));
    let before = world.endpoint.path(world.newest());
    let mut data = Vec::new();
    world.clients[client].endpoint.write(b"copied", &mut data).unwrap();
    let home = world.sent_up.last().unwrap().0;
    world.deliver(home, SHARED, data);
    assert_eq!(world.endpoint.path(world.newest()), before);
}

/// A client that a copy has led there would stay, and be lost at its next address.
#[test]
fn an_ipc_server_answers_no_challenge_at_the_shared_socket() {
    let (mut world, own) = nat_connected(NatKind::FullCone, options(Some(SocketPolicy::Ipc)));
    let home = world.sent_up.last().unwrap().0;
    for (to, answers) in [(own, 1), (SHARED, 0)] {
        let mut challenge = Vec::new();
        let association = world.clients[0].endpoint.association_mut();
        association.write_path_message(PathMessage::Challenge([7; 8]), &mut challenge).unwrap();
        world.deliver(home, to, challenge);
        let now = world.now();
        let sent = std::iter::from_fn(|| world.endpoint.transmit(now, &mut Vec::new()));
        assert_eq!(sent.count(), answers, "at {to}");
    }
}

/// An IPC client goes where records under handshake keys come from: a copy from another port of the server's address must
/// not take it away for good.
#[test]
fn a_copy_of_a_flight_from_another_port_takes_no_client_away() {
    for options_of_client in [following(), stock()] {
        let mut world = NatWorld::new(NatKind::FullCone, options(Some(SocketPolicy::Ipc)));
        let client = world.connect(options_of_client, true);
        let other = SocketAddr::new(SHARED.ip(), 9);
        world.copies_from = Some(other);
        while !world.clients[client].is_complete {
            world.pass(TRIP / 2);
        }
        world.copies_from = None;
        assert_eq!(world.clients[client].endpoint.path().remote, other, "the copy came first");
        world.pass(Duration::from_secs(10));
        assert_eq!(world.clients[client].error, None);
        assert!(world.echoes(client));
        assert_ne!(world.clients[client].endpoint.path().remote, other);
    }
}

/// Copies of what follows Finished come from another port first: of the ACK, or of data that was sent before it.
#[test]
fn a_copy_of_the_last_ack_takes_no_client_away() {
    for (options_of_client, has_data) in
        [(following(), false), (following(), true), (stock(), false)]
    {
        let mut world = NatWorld::new(NatKind::FullCone, options(Some(SocketPolicy::Ipc)));
        let client = world.connect(options_of_client, true);
        while !world.clients[client].is_complete {
            world.pass(TRIP / 2);
        }
        let other = SocketAddr::new(SHARED.ip(), 9);
        world.copies_from = Some(other);
        let (from, own, finished) = world.sent_up.last().unwrap().clone();
        world.deliver(from, own, finished);
        if has_data {
            let mut out = Vec::new();
            let path = world.endpoint.write(world.endpoint.ids()[0], b"data", &mut out).unwrap();
            world.send(false, path, out);
        }
        while !world.clients[client].endpoint.association().is_acknowledged() {
            world.pass(TRIP / 2);
        }
        world.copies_from = None;
        let remote = world.clients[client].endpoint.path().remote;
        assert_eq!(remote == other, has_data, "for a moment");
        world.pass(TRIP * 3);
        assert!(world.clients[client].endpoint.path().remote == own && world.echoes(client));
    }
}

/// Copies of all that comes before the last ACK have one address, and lead to one path.
#[test]
fn copies_of_all_but_the_last_ack_take_no_client_away() {
    for other in [SocketAddr::new(SHARED.ip(), 9), SHARED] {
        let mut world = NatWorld::new(NatKind::FullCone, options(Some(SocketPolicy::Ipc)));
        let client = world.connect(following(), true);
        world.copies_from = Some(other);
        while !world.clients[client].is_complete {
            world.pass(TRIP / 2);
        }
        world.copies_from = None;
        assert_eq!(world.clients[client].endpoint.path().remote, other, "the copies came first");
        let own = world.endpoint.path(world.endpoint.ids()[0]).and_then(|path| path.local).unwrap();
        let (from, _, finished) = world.sent_up.last().unwrap().clone();
        world.deliver(from, own, finished);
        world.pass(TRIP * 8);
        assert_eq!(world.clients[client].endpoint.path().remote, own, "copies from {other}");
        assert!(world.echoes(client));
    }
}

/// A client that was led away while the end of its handshake was acknowledged, and the attacker is gone.
#[test]
fn a_later_record_finds_an_ipc_client_that_was_led_away() {
    let mut world = NatWorld::new(NatKind::FullCone, options(Some(SocketPolicy::Ipc)));
    let client = world.connect(following(), true);
    let other = SocketAddr::new(SHARED.ip(), 9);
    world.copies_from = Some(other);
    while !world.clients[client].is_complete {
        world.pass(TRIP / 2);
    }
    let id = world.endpoint.ids()[0];
    let own = world.endpoint.path(id).and_then(|path| path.local).unwrap();
    let (from, _, finished) = world.sent_up.last().unwrap().clone();
    world.deliver(from, own, finished);
    while !world.clients[client].endpoint.association().is_acknowledged() {
        world.pass(TRIP / 2);
    }
    world.copies_from = None;
    assert_eq!(world.clients[client].endpoint.path().remote, other);
    let mut data = Vec::new();
    let path = world.endpoint.write(id, b"data", &mut data).unwrap();
    world.send(false, path, data);
    world.pass(TRIP * 4);
    assert!(world.clients[client].endpoint.path().remote == own && world.echoes(client));
}

/// A scan of the ports, and a flood of one: no answer, no memory, no time of the association's.
#[test]
fn a_flood_at_own_sockets_gets_nothing_and_keeps_nothing() {
    let mut kind = options(Some(SocketPolicy::Tcs));
    kind.own_sockets.as_mut().unwrap().idle_timeout = Duration::from_secs(600);
    let (mut world, own) = nat_connected(NatKind::FullCone, kind);
    let before = (world.endpoint.len(), world.sockets.len(), world.endpoint.counts().moved);
    let mut numbers = Numbers(3);
    world.sent.clear();
    let sockets = world.sockets.clone();
    for number in 0..20_000_u32 {
        let len = (numbers.next() % 100) as usize;
        let mut datagram: Vec<_> = (0..len).map(|_| numbers.next() as u8).collect();
        if let Some(first) = datagram.first_mut().filter(|_| numbers.happens(70)) {
            *first = 0x20 | (*first & 0x1f);
        }
        let from = SocketAddr::from((number.to_be_bytes(), 7));
        let to = if number % 2 == 0 { own } else { sockets[number as usize % sockets.len()] };
        world.deliver(from, to, datagram);
    }
    world.pass(Duration::from_secs(10));
    assert_eq!(world.sent, []);
    let after = (world.endpoint.len(), world.sockets.len(), world.endpoint.counts().moved);
    assert_eq!(before, after);
    assert!(world.echoes(0));
    world.pass(Duration::from_secs(300));
    for _ in 0..5 {
        world.deliver(internal(7, 0), own, vec![0x2f; 60]);
        world.pass(Duration::from_secs(70));
    }
    assert_eq!(world.endpoint.len(), 0, "what is forged doesn't keep it");
}

/// Nor does an address at the shared socket that another client may have by now.
#[test]
fn what_does_not_open_wakes_no_idle_association() {
    for policy in [SocketPolicy::Tcs, SocketPolicy::Ipc] {
        let (mut world, own) = nat_connected(NatKind::FullCone, options(Some(policy)));
        let (home, _, newest) = world.sent_up.last().unwrap().clone();
        let hello = world.sent_up[0].2.clone();
        world.pass(Duration::from_secs(400));
        let before = (1, world.endpoint.deadline());
        assert_eq!((world.endpoint.idle_len(), before.1.is_some()), (1, true));
        let mut forged = newest.clone();
        *forged.last_mut().unwrap() ^= 1;
        for datagram in [&hello[..], &forged, &newest, &[22; 40], &[21; 15], &[], &[0x3f; 60]] {
            for (from, to) in [(home, own), (internal(7, 0), own), (home, SHARED)] {
                world.deliver(from, to, datagram.to_vec());
                let after = (world.endpoint.idle_len(), world.endpoint.deadline());
                assert_eq!(after, before, "{policy:?}, {datagram:?}");
            }
        }
        assert!(world.echoes(0));
        assert_eq!(world.endpoint.idle_len(), 0);
    }
}

/// Interfaces that come and go: no more sockets than the client has, and it goes on.
#[test]
fn interfaces_that_flap_leave_a_client_with_few_paths() {
    for policy in [None, Some(SocketPolicy::Tcs)] {
        let mut world = NatWorld::new(NatKind::PortRestricted, options(policy));
        let client = world.connect(following(), true);
        world.pass(TRIP * 30);
        assert!(world.echoes(client));
        let mut numbers = Numbers(11);
        for round in 0..200 {
            let now = world.now();
            let local = Some(internal(0, (numbers.next() % 50) as u16));
            let endpoint = &mut world.clients[client].endpoint;
            match numbers.next() % 6 {
                0 => endpoint.use_local(local, now),
                1 => endpoint.suspect_path(now),
                2 => endpoint.note_new_address(now),
                3 => _ = endpoint.remove_local(local, now),
                _ => endpoint.replace_local(local, now),
            }
            if numbers.happens(5) {
                world.nat.forget();
            }
            if numbers.happens(30) {
                world.write(client, b"x");
            }
            world.pass(TRIP * (numbers.next() % 20) as u32);
            let uses = |it| world.clients[client].endpoint.uses_local(Some(internal(0, it)));
            let used = (0..50).filter(|it| uses(*it)).count();
            // The one in use, the next, and those that were left a second ago.
            assert!(used <= 12, "round {round}: {used} sockets");
        }
        world.pass(Duration::from_secs(5));
        assert_eq!(world.clients[client].error, None);
        assert!(world.echoes(client), "{policy:?}");
        assert_eq!(world.endpoint.len(), 1);
    }
}

/// A NAT forgets a client at each step of its handshake: that goes on, or ends in time, and costs no one else anything.
#[test]
fn a_client_that_moves_before_finished_goes_on_or_ends_alone() {
    for step in 1..16 {
        for policy in [None, Some(SocketPolicy::Tcs), Some(SocketPolicy::Ipc)] {
            let mut world = NatWorld::new(NatKind::FullCone, options(policy));
            let first = world.connect(following(), true);
            world.pass(TRIP / 2 * step);
            world.nat.forget();
            let second = world.connect(following(), true);
            world.pass(Duration::from_secs(120));
            assert!(world.echoes(second), "{policy:?}, {step}: {:?}", world.clients[second].error);
            let is_alive = world.echoes(first);
            assert!(world.echoes(second), "{policy:?}, {step}");
            assert!(is_alive || world.endpoint.len() == 1, "{policy:?}, {step}");
        }
    }
}

/// What the owner of a socket reads at one that was released, or was never given, is of none.
#[test]
fn a_path_at_an_unknown_local_address_moves_no_association_with_a_socket() {
    let (mut world, own) = nat_connected(NatKind::FullCone, options(Some(SocketPolicy::Tcs)));
    let id = world.newest();
    let before = world.endpoint.path(id);
    let mut out = Vec::new();
    world.clients[0].endpoint.write(b"question", &mut out).unwrap();
    for local in [None, Some(SHARED), Some(SocketAddr::new(own.ip(), 7))] {
        let from = Path { remote: internal(9, 0), local };
        let now = world.now();
        assert_eq!(world.endpoint.route(now, from, &out), Route::Dropped, "{local:?}");
        // Though its owner reads it for the association.
        let _ = world.endpoint.read(id, now, from, &mut out.clone());
        assert_eq!(world.endpoint.path(id), before, "{local:?}");
    }
    assert_eq!(world.clients[0].error, None::<Error>);
}
