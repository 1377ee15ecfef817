//! ClientHellos of strangers: with cookies, in parts, spoofed.

use std::net::SocketAddr;
use std::time::Duration;

use tessera::resume::ClientSession;
use tessera::wire::NamedGroup;
use tessera::{AssociationOptions, ClientAssociation, Error};
use tessera_endpoint::{EndpointOptions, Route};
use tessera_harness::{Mode, Scene, to};
use tessera_null_provider::provider;

use crate::world::{TRIP, World, address, path};

#[test]
fn a_spoofed_hello_leaves_nothing_and_gets_no_more_than_three_times_its_bytes() {
    for mode in [Mode::Full, Mode::PskDhe, Mode::FsKe] {
        let mut world = World::new(mode, EndpointOptions::default());
        let session = if mode.resumes() { world.session() } else { None };
        let associations = world.endpoint.len();
        let config = world.scene.client.clone().checked().unwrap();
        let options = AssociationOptions::default();
        let mut spoofed =
            ClientAssociation::start(config, to(session), options, world.now()).unwrap();
        let mut hello = Vec::new();
        assert!(spoofed.transmit(world.now(), &mut hello));
        for port in 0..500 {
            world.deliver(address(2000 + port), hello.clone());
            world.pass(Duration::ZERO);
        }
        // The one with a ticket that opens has an association until it times out.
        assert!(world.endpoint.len() <= associations + 1, "{mode:?}: {}", world.endpoint.len());
        world.pass(Duration::from_secs(30));
        assert_eq!(world.endpoint.len(), associations, "{mode:?}");
        for (address, [from, to]) in world.bytes.iter().filter(|(it, _)| it.port() < 60_000) {
            assert!(*to <= 3 * from, "{mode:?} {address}: {from} and {to}");
        }
    }
}

#[test]
fn a_cookie_is_good_for_its_address_and_for_half_a_minute() {
    let mut scene = Scene::new(provider(), Mode::Full);
    // A hybrid share needs two datagrams.
    scene.server.groups = vec![NamedGroup::X25519];
    let mut world = World::of(scene, EndpointOptions::default());
    world.elapsed = Duration::from_secs(60);
    let client = world.connect(1000, None);
    let mut hellos = Vec::new();
    let now = world.now();
    let mut datagram = Vec::new();
    assert!(world.clients[client].association.transmit(now, &mut datagram));
    let share = key_share(&datagram).expect("an X25519 share").to_vec();
    assert_eq!(world.deliver(address(1000), datagram), Route::Handled);
    let mut request = Vec::new();
    assert_eq!(world.endpoint.transmit(now, &mut request), Some(path(address(1000))));
    world.deliver_to_client(address(1000), request);
    let mut second = Vec::new();
    while world.clients[client].association.transmit(now, &mut second) {
        hellos.push(std::mem::take(&mut second));
    }
    let [second] = &hellos[..] else { panic!("one datagram: {}", hellos.len()) };
    // dimpl #163: a request for a cookie alone changes no share (RFC 8446 §4.1.2).
    assert_eq!(key_share(second), Some(&share[..]));
    let other_host = SocketAddr::from(([192, 0, 2, 2], 1000));
    for other in [address(1001), other_host] {
        assert_eq!(world.deliver(other, second.clone()), Route::Dropped);
    }
    // Made too long ago, or by a server of the fleet whose clock is ahead.
    for (seconds, is_good) in [(91, false), (29, false), (31, true), (89, true)] {
        world.elapsed = Duration::from_secs(seconds);
        let route = world.deliver(address(1000), second.clone());
        assert_eq!(matches!(route, Route::Association(_)), is_good, "{seconds}: {route:?}");
        assert_eq!(world.endpoint.len(), usize::from(is_good));
        if let Route::Association(id) = route {
            world.endpoint.remove(id);
        }
    }
    assert_eq!(world.endpoint.counts().cookies_refused, 4);
}

/// Returns the one X25519 share of a ClientHello in one record.
fn key_share(datagram: &[u8]) -> Option<&[u8]> {
    let extension = [0, 51, 0, 38, 0, 36, 0, 29, 0, 32];
    let at = datagram.windows(extension.len()).position(|it| it == extension)? + extension.len();
    datagram.get(at..at + 32)
}

#[test]
fn hellos_in_parts_wait_in_a_bounded_pool() {
    let mut world = World::new(
        Mode::Full,
        EndpointOptions { hello_pool: 16 * 1024, ..EndpointOptions::default() },
    );
    let config = world.scene.client.clone().checked().unwrap();
    let short = AssociationOptions { max_datagram: 120, ..AssociationOptions::default() };
    for port in 1000..1100 {
        let now = world.now();
        let mut client =
            ClientAssociation::start(config.clone(), to(None), short.clone(), now).unwrap();
        let mut part = Vec::new();
        assert!(client.transmit(now, &mut part));
        world.deliver(address(port), part);
    }
    let counts = world.endpoint.counts();
    let left = counts.kept_parts - counts.dropped_hellos;
    assert!(counts.kept_parts == 100 && (4..=20).contains(&left), "{counts:?}");
    // A client with a long hello comes through at once.
    let now = world.now();
    let association = ClientAssociation::start(config, to(None), short, now).unwrap();
    let client = world.connect(3000, None);
    world.clients[client].association = association;
    world.pass(Duration::from_secs(5));
    world.is_connected(client);
}

/// Otherwise 250 datagrams of 26 bytes would empty the default pool.
#[test]
fn a_part_takes_no_more_of_the_pool_than_its_bytes() {
    let options = EndpointOptions { hello_pool: 16 * 1024, ..EndpointOptions::default() };
    let mut world = World::new(Mode::Full, options);
    // The last byte of a ClientHello of 16,000.
    let fragment = [1, 0, 0x3e, 0x80, 0, 0, 0, 0x3e, 0x7f, 0, 0, 1, 7];
    let part = [&[22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 13][..], &fragment].concat();
    for port in 0..10 {
        assert_eq!(world.deliver(address(1000 + port), part.clone()), Route::Handled);
    }
    assert_eq!(world.endpoint.counts().dropped_hellos, 0);
}

#[test]
fn parts_of_a_hello_wait_as_long_as_a_cookie_lives() {
    for (seconds, answers) in [(29, 1), (31, 0)] {
        let mut world = World::new(Mode::Full, EndpointOptions::default());
        let flight = first_flight(&world, None, 96);
        let (last, others) = flight.split_last().unwrap();
        others.iter().for_each(|part| {
            assert_eq!(world.deliver(address(1000), part.clone()), Route::Handled)
        });
        world.elapsed += Duration::from_secs(seconds);
        assert_eq!(world.deliver(address(1000), last.clone()), Route::Handled);
        assert_eq!(world.endpoint.counts().cookies_sent, answers, "{seconds}");
    }
}

/// Repeated parts are kept, too, for early data may come with them.
#[test]
fn repeated_parts_fill_neither_a_small_pool_nor_a_large_one() {
    for hello_pool in [16 * 1024, 1 << 20] {
        let options = EndpointOptions { hello_pool, ..EndpointOptions::default() };
        let mut world = World::new(Mode::Full, options);
        let part = first_flight(&world, None, 96).swap_remove(0);
        let most = hello_pool.min(32 * 1024) / part.len();
        let is_kept = |_: &usize| world.deliver(address(1000), part.clone()) == Route::Handled;
        let kept = (0..1000).take_while(is_kept).count();
        assert!((most / 2..=most).contains(&kept), "{kept} of {most}");
        assert_eq!(world.endpoint.counts().dropped_hellos, 1);
    }
}

#[test]
fn answers_that_are_not_sent_are_bounded() {
    let mut world = World::new(Mode::Full, EndpointOptions::default());
    let [hello] = &first_flight(&world, None, 1 << 13)[..] else { panic!("one datagram") };
    (0..2000).for_each(|port| drop(world.deliver(address(1000 + port), hello.clone())));
    let counts = world.endpoint.counts();
    assert_eq!((counts.cookies_sent, counts.refused_hellos), (1024, 976));
}

#[test]
fn an_association_that_is_proved_or_gone_is_none_without_a_proved_address() {
    let options = EndpointOptions { max_unproved: 1, ..EndpointOptions::default() };
    let mut world = World::new(Mode::FsDhe, options);
    let sessions = [(); 4].map(|()| world.session());
    for (port, session) in (1000..).zip(sessions) {
        if port == 1002 {
            for datagram in first_flight(&world, session, 1 << 13) {
                world.deliver(address(port), datagram);
            }
        } else {
            let client = world.connect(port, session);
            world.pass(TRIP * 20);
            assert_eq!(world.clients[client].early_data_accepted, Some(true), "{port}");
            let Route::Association(id) = world.client_writes(client, b"x") else { panic!("lost") };
            let sent = (0..100).map(|_| world.endpoint.write(id, &[7; 1000], &mut Vec::new()));
            assert!(sent.into_iter().all(|sent| sent.is_ok()), "the address is proved");
        }
        world.pass(Duration::from_secs(60));
    }
}

#[test]
fn under_load_every_client_needs_a_cookie_and_early_data_is_rejected() {
    let options = EndpointOptions { max_unproved: 0, ..EndpointOptions::default() };
    let mut world = World::new(Mode::FsDhe, options);
    let session = world.session();
    let client = world.connect(1000, session);
    world.pass(TRIP * 20);
    world.is_connected(client);
    assert_eq!(world.clients[client].early_data_accepted, Some(false));
    assert!(world.early.is_empty());
}

/// Returns the first flight of a client with datagrams of at most so many bytes.
fn first_flight(
    world: &World,
    session: Option<ClientSession>,
    max_datagram: usize,
) -> Vec<Vec<u8>> {
    let config = world.scene.client.clone().checked().unwrap();
    let options = AssociationOptions { max_datagram, ..AssociationOptions::default() };
    let mut client = ClientAssociation::start(config, to(session), options, world.now()).unwrap();
    let mut flight = Vec::new();
    let mut datagram = Vec::new();
    while client.transmit(world.now(), &mut datagram) {
        flight.push(std::mem::take(&mut datagram));
    }
    flight
}

#[test]
fn hellos_in_parts_leave_their_room_in_the_pool_to_the_next() {
    let options = EndpointOptions { hello_pool: 16 * 1024, ..EndpointOptions::default() };
    let mut world = World::new(Mode::Full, options);
    let flight = first_flight(&world, None, 96);
    let [first, second, third] = &flight[..] else { panic!("three parts: {}", flight.len()) };
    let mut forged = second.clone();
    *forged.last_mut().unwrap() ^= 1;
    for port in 1000..1100 {
        // Some come twice, and what contradicts the others replaces them.
        for part in [first, first, second, &forged, first, second, first, third] {
            world.deliver(address(port), part.clone());
        }
        let counts = world.endpoint.counts();
        assert_eq!((counts.cookies_sent, counts.dropped_hellos), (u64::from(port) - 999, 0));
    }
}

/// Anyone who guesses a client's address can send a part that contradicts the client's.
#[test]
fn a_spoofed_part_keeps_no_client_out() {
    for groups in [vec![NamedGroup::X25519], vec![NamedGroup::X25519MLKEM768]] {
        let mut scene = Scene::new(provider(), Mode::Full);
        scene.server.groups = groups.clone();
        let mut world = World::of(scene, EndpointOptions::default());
        let mut spoofed = first_flight(&world, None, 120).swap_remove(1);
        // Of a longer message.
        spoofed[13 + 3] += 8;
        for at in 0..20 {
            assert_eq!(world.deliver(address(1000), spoofed.clone()), Route::Handled, "{at}");
        }
        let client = world.connect(1000, None);
        world.pass(TRIP * 20);
        world.is_connected(client);
        assert!(world.elapsed < Duration::from_secs(1), "no retransmission: {groups:?}");
    }
}

#[test]
fn a_spoofed_hello_that_no_association_would_read_begins_none() {
    let mut world = World::new(Mode::PskDhe, EndpointOptions::default());
    let session = world.session();
    let before = world.endpoint.len();
    let [hello] = &first_flight(&world, session, 1 << 13)[..] else { panic!("one datagram") };
    // The number of a second ClientHello, without a cookie.
    let mut second = hello.clone();
    second[13 + 5] = 1;
    assert_eq!(world.deliver(address(1000), second), Route::Dropped);
    // A record longer than any may be: fragments, over and over.
    let len = usize::from(u16::from_be_bytes([hello[11], hello[12]]));
    let content = hello[13..13 + len].repeat((1 << 14) / len + 1);
    let mut long = hello[..11].to_vec();
    long.extend((content.len() as u16).to_be_bytes());
    long.extend(content);
    assert_eq!(world.deliver(address(1000), long), Route::Dropped);
    assert_eq!(world.endpoint.len(), before);
    assert!(matches!(world.deliver(address(1000), hello.clone()), Route::Association(_)));
}

/// Its ticket opens: it is the sender's own, or of a recorded ClientHello. The server's flight goes to the client, which
/// knows nothing of it.
#[test]
fn a_spoofed_hello_with_a_ticket_holds_no_client_back() {
    for mode in [Mode::PskDhe, Mode::FsDhe] {
        for resumes in [false, true] {
            let mut world = World::new(mode, EndpointOptions::default());
            let session = world.session();
            let own = if resumes { world.session() } else { None };
            let associations = world.endpoint.len();
            for datagram in first_flight(&world, session, 1 << 13) {
                world.deliver(address(1000), datagram);
            }
            assert_eq!(world.endpoint.len(), associations + 1);
            world.pass(TRIP * 2);
            let client = world.connect(1000, own);
            world.pass(TRIP * 20);
            world.is_connected(client);
            assert_eq!(world.endpoint.len(), associations + 1, "the spoofed one is replaced");
            assert!(world.failed.contains(&Error::Truncated), "{:?}", world.failed);
        }
    }
}

/// Records of epochs 5 and 6 have the bits of a handshake's. Without connection IDs they would belong to the handshake that
/// a spoofed hello begins.
#[test]
fn a_spoofed_hello_with_a_ticket_takes_no_record_of_an_association() {
    for updates in 0..5 {
        let mut world = World::new(Mode::PskDhe, EndpointOptions::default());
        let session = world.session();
        let options = AssociationOptions { connection_id: None, ..AssociationOptions::default() };
        let client = world.connect_with(1000, None, options);
        world.pass(TRIP * 20);
        for _ in 0..updates {
            world.clients[client].association.update_keys(false).unwrap();
            world.pass(Duration::from_secs(1));
            world.is_connected(client);
        }
        for datagram in first_flight(&world, session, 1 << 13) {
            world.deliver(address(1000), datagram);
        }
        world.is_connected(client);
    }
}

/// Neither its own lost flight nor a hello from the client's address without a cookie replaces an association.
#[test]
fn a_handshake_under_way_is_replaced_by_no_hello_without_a_cookie() {
    let mut world = World::new(Mode::FsDhe, EndpointOptions::default());
    let (session, other) = (world.session(), world.session());
    let associations = world.endpoint.len();
    let mut is_lost = true;
    world.loses = Box::new(move |is_up, _| !is_up && std::mem::take(&mut is_lost));
    let client = world.connect(1000, session);
    world.pass(TRIP * 2);
    for datagram in first_flight(&world, other, 1 << 13) {
        assert_eq!(world.deliver(address(1000), datagram), Route::Handled);
    }
    // A client that has no ServerHello yet would believe the request for a cookie.
    let request = world.endpoint.transmit(world.now(), &mut Vec::new());
    assert_eq!(request, Some(path(address(1000))));
    assert_eq!(world.endpoint.len(), associations + 1);
    world.pass(Duration::from_secs(5));
    world.is_connected(client);
    assert_eq!(world.endpoint.len(), associations + 1);
    assert_eq!(world.clients[client].early_data_accepted, Some(true));
}
