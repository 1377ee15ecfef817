//! What an endpoint sends to an address that its client hasn't proved.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::rc::Rc;
use std::time::Duration;

use tessera::auth::PeerRejected;
use tessera::wire::{AlertDescription, ExtensionType, NamedGroup, OpaqueExtension};
use tessera::{AssociationOptions, ConnectionId, Destination, Error, Padding, PathMessage};
use tessera_endpoint::{AssociationId, EndpointOptions, Path, Route};
use tessera_harness::{EARLY_DATA, Mode, Scene, to};
use tessera_null_provider::provider;

use crate::moves::without_ids;
use crate::world::{TRIP, World, address, path};

fn connected(options: AssociationOptions) -> (World, AssociationId) {
    let mut world = World::new(Mode::Full, EndpointOptions::default());
    world.connect_with(1000, None, options);
    world.pass(TRIP * 20);
    world.is_connected(0);
    let id = world.endpoint.ids()[0];
    (world, id)
}

/// Delivers a challenge of the client's.
fn challenge(world: &mut World, from: SocketAddr, cookie: u8) -> usize {
    let mut datagram = Vec::new();
    let challenge = PathMessage::Challenge([cookie; 8]);
    world.clients[0].association.write_path_message(challenge, &mut datagram).unwrap();
    let len = datagram.len();
    world.deliver(from, datagram);
    len
}

/// Returns how many datagrams the endpoint sends now, and how many bytes.
fn sent(world: &mut World) -> (usize, usize) {
    let (now, mut count, mut out) = (world.now(), 0, Vec::new());
    while world.endpoint.transmit(now, &mut out).is_some() {
        count += 1;
    }
    (count, out.len())
}

#[test]
fn an_unproved_address_stays_so_at_another_address_of_the_server() {
    let (mut world, id) =
        connected(AssociationOptions { checks_paths: false, ..AssociationOptions::default() });
    for local in [None, Some("198.51.100.1:5684".parse().unwrap())] {
        let mut record = Vec::new();
        world.clients[0].association.write(b"moved", &mut record).unwrap();
        let (now, path) = (world.now(), Path { remote: address(4000), local });
        let _ = world.endpoint.read(id, now, path, &mut record).unwrap();
        assert_eq!(world.endpoint.path(id), Some(path));
        let refused = world.endpoint.write(id, &[7; 1000], &mut Vec::new());
        assert!(matches!(refused, Err(Error::TooEarly(_))), "{refused:?}");
    }
}

#[test]
fn answers_to_challenges_count_in_what_an_unproved_address_gets() {
    let (mut world, id) = connected(AssociationOptions::default());
    world.clients[0].address = address(4000);
    let route = world.client_writes(0, b"moved");
    assert_eq!(route, Route::Association(id));
    challenge(&mut world, address(4000), 7);
    let (count, mut to) = sent(&mut world);
    assert_eq!(count, 2, "the answer, and a challenge");
    let mut out = Vec::new();
    while world.endpoint.write(id, b"x", &mut out).is_ok() {
        to += std::mem::take(&mut out).len();
    }
    let from = world.bytes[&address(4000)][0];
    assert!(to <= 3 * from, "{to} for {from}");
}

/// What is known of it is there until then.
#[test]
fn an_unproved_address_gets_no_alert_of_a_complete_association_which_then_ends() {
    let (mut world, id) = connected(AssociationOptions::default());
    world.clients[0].address = address(4000);
    let _ = world.client_writes(0, &[7; 1000]);
    let (now, to) = (world.now(), path(address(4000)));
    sent(&mut world);
    let reason = "it was revoked".to_owned();
    let refused = PeerRejected { alert: AlertDescription::CERTIFICATE_REVOKED, reason };
    world.endpoint.with(id, |it| it.refuse(refused));
    let mut record = Vec::new();
    world.clients[0].association.write(b"more", &mut record).unwrap();
    assert!(world.endpoint.read(id, now, to, &mut record).is_err());
    let is_complete = world.endpoint.look_at(id, now, |it| it.facts().handshake_complete);
    assert_eq!(is_complete, Some(true));
    assert_eq!(sent(&mut world), (0, 0));
    assert!(world.endpoint.is_empty());
}

#[test]
fn answers_to_challenges_that_are_not_sent_are_bounded() {
    let (mut world, _) = connected(AssociationOptions::default());
    for number in 0..2000_u16 {
        challenge(&mut world, address(1000), number as u8);
    }
    assert_eq!(sent(&mut world).0, 1024);
}

#[test]
fn padding_counts_in_what_an_unproved_address_gets() {
    let mut scene = Scene::new(provider(), Mode::Full);
    scene.server.padding = Padding::MultipleOf(NonZeroU16::MAX);
    let mut world = World::of(scene, EndpointOptions::default());
    let client = world.connect(1000, None);
    world.pass(TRIP * 20);
    world.clients[client].address = address(1001);
    let Route::Association(id) = world.client_writes(client, b"moved") else { panic!("lost") };
    let refused = world.endpoint.write(id, b"x", &mut Vec::new());
    assert!(matches!(refused, Err(Error::TooEarly(_))), "{refused:?}");
}

/// A client chooses the length of its connection ID, and could have it sent to a victim.
#[test]
fn connection_ids_count_in_what_an_unproved_address_gets() {
    let mut world = World::new(Mode::Full, EndpointOptions::default());
    let connection_id = ConnectionId::new(&[7; 255]);
    let client = world.connect_with(
        1000,
        None,
        AssociationOptions { connection_id, ..AssociationOptions::default() },
    );
    world.pass(TRIP * 20);
    world.clients[client].address = address(1001);
    for _ in 0..5 {
        world.clients[client].association.update_keys(false).unwrap_or_default();
        world.pass(Duration::from_secs(3));
    }
    let [from, to] = world.bytes[&address(1001)];
    assert!(from > 0 && to <= 3 * from, "{from} and {to}");
}

/// It proves no address: what an idle association may send stays what it was.
#[test]
fn an_idle_association_whose_client_checks_no_paths_may_send_no_more_than_before() {
    let mut scene = Scene::new(provider(), Mode::Full);
    // The client acknowledges nothing.
    scene.server.tickets = None;
    // A short ServerHello leaves room for the whole EncryptedExtensions.
    scene.server.groups = vec![NamedGroup::X25519];
    let options = EndpointOptions { connection_id_len: 8, ..EndpointOptions::default() };
    let mut world = World::of(scene, options);
    // A client made by hand, that offers connection IDs alone.
    let typ = ExtensionType::CONNECTION_ID;
    let extensions = vec![OpaqueExtension { typ, contents: vec![0] }];
    let destination = Destination { extensions, ..to(None) };
    let client = world.connect_to(1000, destination, without_ids(), EARLY_DATA);
    let seen = Rc::new(RefCell::new([Vec::new(), Vec::new()]));
    let note = seen.clone();
    world.loses = Box::new(move |is_up, datagram| {
        note.borrow_mut()[usize::from(is_up)].push(datagram.to_vec());
        is_up && datagram[0] & 0xe0 == 0x20
    });
    world.pass(TRIP * 6);
    let [from_server, from_client] = seen.take();
    let (flight, extension) = (from_server.concat(), [0, 54, 0, 9, 8]);
    let at = flight.windows(extension.len()).position(|it| it == extension).unwrap();
    let id = &flight[at + extension.len()..][..8];
    // The null provider's tags don't cover the header.
    let named = |datagram: &[u8]| [&[datagram[0] | 0x10][..], id, &datagram[1..]].concat();
    let finished = from_client.iter().find(|it| it[0] & 0xe0 == 0x20).unwrap();
    let route = world.deliver(address(1000), named(finished));
    let Route::Association(id) = route else { panic!("{route:?}") };
    world.pass(TRIP * 2);
    assert_eq!(world.complete, [id]);
    let mut datagram = Vec::new();
    world.clients[client].association.write(b"moved", &mut datagram).unwrap();
    world.deliver(address(1001), named(&datagram));
    assert_eq!(world.endpoint.path(id).unwrap().remote, address(1001));
    for is_idle in [0, 1] {
        assert_eq!(world.endpoint.idle_len(), is_idle);
        let refused = world.endpoint.write(id, &[7; 1000], &mut Vec::new());
        assert!(matches!(refused, Err(Error::TooEarly(_))), "{refused:?}");
        assert_eq!(world.endpoint.idle_len(), 0, "it is awake");
        world.pass(Duration::from_secs(370));
    }
}

/// Otherwise anyone could have more sent to a victim.
#[test]
fn what_is_forged_or_comes_from_elsewhere_allows_nothing_to_be_sent_to_an_unproved_address() {
    let mut world = World::new(Mode::Full, EndpointOptions::default());
    let client = world.connect(1000, None);
    world.pass(TRIP * 20);
    world.clients[client].address = address(1001);
    let Route::Association(id) = world.client_writes(client, b"moved") else { panic!("lost") };
    let mut forged = Vec::new();
    world.clients[client].association.write(&[7; 1000], &mut forged).unwrap();
    *forged.last_mut().unwrap() ^= 1;
    for _ in 0..10 {
        assert_eq!(world.deliver(address(1001), forged.clone()), Route::Association(id));
        assert_eq!(world.deliver(address(1002), forged.clone()), Route::Association(id));
    }
    let refused = world.endpoint.write(id, &[7; 1000], &mut Vec::new());
    assert!(matches!(refused, Err(Error::TooEarly(_))), "{refused:?}");
}
