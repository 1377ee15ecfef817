//! What a client believes of what comes, and what it answers.

use std::net::SocketAddr;
use std::time::Duration;

use tessera::{AddressPrefix, ClientAssociation, Error, PathCookie, PathMessage, ReadEvent};
use tessera_endpoint::{ClientEndpoint, Path, SocketPolicy};
use tessera_harness::{Mode, Scene, to};
use tessera_null_provider::provider;

use crate::client_paths::connected;
use crate::client_sockets::announced_in_vain;
use crate::nat::NatKind;
use crate::nat_world::{NatWorld, SHARED, following, internal, options};
use crate::world::TRIP;

const FIRST: u16 = 0;
const SECOND: u16 = 1;

/// Another port of the server's address.
const OTHER_PORT: SocketAddr = SocketAddr::new(SHARED.ip(), 9);

/// Another host's.
fn other_host() -> SocketAddr {
    "203.0.113.7:5684".parse().unwrap()
}

/// Returns the path between a socket of the client and an address.
pub(crate) fn between(socket: u16, remote: SocketAddr) -> Path {
    Path { remote, local: Some(internal(0, socket)) }
}

/// Returns what the client sends now; it arrives nowhere.
pub(crate) fn sent(world: &mut NatWorld) -> Vec<(Path, Vec<u8>)> {
    let (now, mut all, mut out) = (world.now(), Vec::new(), Vec::new());
    while let Some(path) = world.clients[0].endpoint.transmit(now, &mut out) {
        all.push((path, std::mem::take(&mut out)));
    }
    all
}

/// Returns the message in a datagram of the client's.
fn message(world: &mut NatWorld, (path, datagram): &(Path, Vec<u8>)) -> PathMessage {
    let (id, now) = (world.endpoint.ids()[0], world.now());
    let from = Path { remote: path.local.unwrap(), local: None };
    let read = world.endpoint.read(id, now, from, &mut datagram.clone()).unwrap();
    match read.event {
        ReadEvent::Path(message) => message,
        other => panic!("{other:?}"),
    }
}

/// Returns the cookie of the challenge that the client sends now from its second socket.
fn challenge(world: &mut NatWorld) -> PathCookie {
    let sent = sent(world);
    let datagram = sent.iter().find(|(path, _)| *path == between(SECOND, SHARED)).unwrap();
    match message(world, datagram) {
        PathMessage::Challenge(cookie) => cookie,
        other => panic!("{other:?}"),
    }
}

/// Hands the client a message of its server's.
fn arrives(world: &mut NatWorld, path: Path, message: PathMessage) {
    let (id, now, mut datagram) = (world.endpoint.ids()[0], world.now(), Vec::new());
    let written = world.endpoint.with(id, |it| it.write_path_message(message, &mut datagram));
    assert_eq!(written, Some(Ok(())));
    let _ = world.clients[0].endpoint.read(now, path, &mut datagram).unwrap();
}

fn uses(world: &NatWorld, socket: u16) -> bool {
    world.clients[0].endpoint.path().local == Some(internal(0, socket))
}

#[test]
fn only_the_answer_to_its_challenge_on_its_path_leads_a_client_to_another_socket() {
    let mut world = connected(options(None));
    let now = world.now();
    world.clients[0].endpoint.replace_local(Some(internal(0, SECOND)), now);
    let cookie = challenge(&mut world);
    let wrong = cookie.map(|byte| !byte);
    for (path, message) in [
        (between(SECOND, SHARED), PathMessage::Response(wrong)),
        (between(FIRST, SHARED), PathMessage::Response(cookie)),
        (between(SECOND, OTHER_PORT), PathMessage::Response(cookie)),
        (between(SECOND, SHARED), PathMessage::Drop(cookie)),
        (between(SECOND, SHARED), PathMessage::Challenge(cookie)),
    ] {
        arrives(&mut world, path, message);
        assert!(uses(&world, FIRST), "{message:?} on {path:?}");
    }
    arrives(&mut world, between(SECOND, SHARED), PathMessage::Response(cookie));
    assert!(uses(&world, SECOND));
}

/// Otherwise one who delays an answer could choose the path long after.
#[test]
fn an_answer_to_a_check_that_has_begun_again_is_worth_nothing() {
    let mut world = connected(options(None));
    let now = world.now();
    world.clients[0].endpoint.replace_local(Some(internal(0, SECOND)), now);
    let earlier = challenge(&mut world);
    world.clients[0].endpoint.replace_local(Some(internal(0, SECOND)), now);
    let cookie = challenge(&mut world);
    arrives(&mut world, between(SECOND, SHARED), PathMessage::Response(earlier));
    assert!(uses(&world, FIRST));
    arrives(&mut world, between(SECOND, SHARED), PathMessage::Response(cookie));
    assert!(uses(&world, SECOND));
}

/// RFC 9853 §5.4.
#[test]
fn a_challenge_is_answered_where_it_came_and_dropped_but_on_the_path_in_use() {
    let mut world = connected(options(None));
    world.clients[0].endpoint.add_spare(Some(internal(0, SECOND)));
    for (socket, is_used) in [(FIRST, true), (SECOND, false), (7, false)] {
        arrives(&mut world, between(socket, SHARED), PathMessage::Challenge([7; 8]));
        let [answer] = &sent(&mut world)[..] else { panic!("one answer") };
        assert_eq!(answer.0, between(socket, SHARED));
        let expected = match is_used {
            true => PathMessage::Response([7; 8]),
            false => PathMessage::Drop([7; 8]),
        };
        assert_eq!(message(&mut world, answer), expected, "{socket}");
    }
}

#[test]
fn answers_of_a_client_that_are_not_sent_are_bounded() {
    let mut world = connected(options(None));
    for number in 0..100 {
        arrives(&mut world, between(FIRST, SHARED), PathMessage::Challenge([number; 8]));
    }
    assert_eq!(sent(&mut world).len(), 16);
}

/// Returns the datagrams of the server's flights, first a HelloRetryRequest; the next is handed out when the client has read
/// the one before.
pub(crate) fn flight(world: &mut NatWorld, number: usize) -> Vec<Vec<u8>> {
    for _ in 0..number {
        for datagram in flight_now(world) {
            let (now, mut datagram) = (world.now(), datagram);
            let _ = world.clients[0].endpoint.read(now, between(FIRST, SHARED), &mut datagram);
        }
    }
    flight_now(world)
}

pub(crate) fn flight_now(world: &mut NatWorld) -> Vec<Vec<u8>> {
    for (_, datagram) in sent(world) {
        world.deliver(internal(0, FIRST), SHARED, datagram);
    }
    let (now, mut all, mut out) = (world.now(), Vec::new(), Vec::new());
    while world.endpoint.transmit(now, &mut out).is_some() {
        all.push(std::mem::take(&mut out));
    }
    all
}

/// Anyone can forge a HelloRetryRequest, and send a copy of a flight from or to elsewhere.
#[test]
fn a_client_goes_where_records_under_the_handshake_s_keys_come_from_at_allowed_addresses() {
    for (number, path, leads) in [
        (0, between(FIRST, OTHER_PORT), false),
        (1, between(FIRST, other_host()), false),
        (1, between(SECOND, OTHER_PORT), false),
        (1, between(FIRST, OTHER_PORT), true),
    ] {
        let mut world = NatWorld::new(NatKind::FullCone, options(None));
        world.connect(following(), true);
        world.clients[0].endpoint.add_spare(Some(internal(0, SECOND)));
        let (now, datagrams) = (world.now(), flight(&mut world, number));
        assert!(!datagrams.is_empty());
        for mut datagram in datagrams {
            let _ = world.clients[0].endpoint.read(now, path, &mut datagram);
        }
        let is_protected = world.clients[0].endpoint.association().newest_record() > (0, 0);
        assert_eq!(is_protected, number > 0);
        let expected = if leads { path } else { between(FIRST, SHARED) };
        assert_eq!(world.clients[0].endpoint.path(), expected, "flight {number} on {path:?}");
    }
}

#[test]
fn a_client_reads_what_comes_from_its_server_and_from_where_it_may_follow_it() {
    let prefix: AddressPrefix = AddressPrefix::new(other_host().ip(), 24).unwrap();
    for (follows_to, [of_port, of_host]) in
        [(None, [false, false]), (Some(vec![]), [true, false]), (Some(vec![prefix]), [true, true])]
    {
        let config = Scene::new(provider(), Mode::Full).client.checked().unwrap();
        let random = config.provider.random;
        let world = NatWorld::new(NatKind::FullCone, options(None));
        let association =
            ClientAssociation::start(config, to(None), following(), world.now()).unwrap();
        let path = between(FIRST, SHARED);
        let client = ClientEndpoint::new(association, path, follows_to.clone(), random);
        assert!(client.is_from_server(SHARED));
        assert_eq!(client.is_from_server(OTHER_PORT), of_port, "{follows_to:?}");
        assert_eq!(client.is_from_server(other_host()), of_host, "{follows_to:?}");
        assert!(!client.is_from_server("198.51.100.7:5684".parse().unwrap()));
    }
}

/// How an association ends.
const ENDS: [fn(&mut NatWorld); 3] = [
    |world| world.clients[0].endpoint.end(),
    // A fatal alert.
    |world| {
        let (id, now, mut out) = (world.endpoint.ids()[0], world.now(), Vec::new());
        let reason = "it was revoked".to_owned();
        let alert = tessera::wire::AlertDescription::CERTIFICATE_REVOKED;
        let _ = world.endpoint.with(id, |association| {
            association.refuse(tessera::auth::PeerRejected { alert, reason });
            association.transmit(now, &mut out)
        });
        let read = world.clients[0].endpoint.read(now, between(FIRST, SHARED), &mut out);
        assert_eq!(read.err(), Some(Error::AlertReceived(alert)));
    },
    // A handshake without an answer.
    |world| {
        *world = NatWorld::new(NatKind::FullCone, options(None));
        world.connect(following(), true);
        world.dead = vec![SHARED];
        world.pass(Duration::from_secs(60));
        assert_eq!(world.clients[0].error, Some(Error::TimedOut));
    },
];

#[test]
fn a_client_whose_association_has_ended_reads_nothing_and_asks_nothing() {
    for (number, end) in ENDS.iter().enumerate() {
        let mut world = connected(options(None));
        end(&mut world);
        let now = world.now();
        world.clients[0].endpoint.replace_local(Some(internal(0, SECOND)), now);
        assert!(!world.clients[0].endpoint.is_from_server(SHARED), "{number}");
        assert_eq!(world.clients[0].endpoint.deadline(), None, "{number}");
        let asked = sent(&mut world).iter().any(|(path, _)| *path == between(SECOND, SHARED));
        assert!(!asked, "{number}");
    }
}

/// A server may have both connection IDs and a socket for the association.
#[test]
fn a_client_that_goes_on_at_another_socket_follows_its_server_from_there_alone() {
    let mut world = announced_in_vain();
    let (own, now) = (world.endpoint.own_socket(world.newest()).unwrap(), world.now());
    world.clients[0].endpoint.replace_local(Some(internal(0, SECOND)), now);
    let cookie = challenge(&mut world);
    arrives(&mut world, between(SECOND, SHARED), PathMessage::Response(cookie));
    assert!(uses(&world, SECOND));
    assert!(sent(&mut world).iter().any(|(path, _)| *path == between(SECOND, own)));
    world.pass(Duration::from_secs(2));
    assert!(!world.clients[0].endpoint.uses_local(Some(internal(0, FIRST))));
}

/// It learns it by the record that comes after the answer.
#[test]
fn a_server_learns_that_its_client_uses_an_own_socket_though_that_has_nothing_to_send() {
    let mut world = NatWorld::new(NatKind::PortRestricted, options(Some(SocketPolicy::Tcs)));
    world.connect(following(), true);
    world.pass(TRIP * 30);
    let id = world.endpoint.ids()[0];
    assert_eq!(world.endpoint.path(id).unwrap().local, world.endpoint.own_socket(id));
}
