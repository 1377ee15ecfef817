//! What an endpoint sends to an address that its client hasn't proved.

use std::net::SocketAddr;

use tessera::auth::PeerRejected;
use tessera::wire::AlertDescription;
use tessera::{AssociationOptions, Error, PathMessage};
use tessera_endpoint::{AssociationId, EndpointOptions, Path, Route};
use tessera_harness::Mode;

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
