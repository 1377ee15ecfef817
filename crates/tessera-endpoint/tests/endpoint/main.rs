//! An endpoint before its clients, and before strangers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers here are tests too")]

mod announcements;
mod attacks;
mod client_checks;
mod client_paths;
mod client_sockets;
mod fuzz;
mod fuzz_moves;
mod hellos;
mod losses;
mod many_moves;
mod moves;
mod nat;
mod nat_world;
mod own_socket_attacks;
mod own_socket_ends;
mod own_socket_pool;
mod own_socket_routes;
mod own_sockets;
mod randomness;
mod resets;
mod restarts;
mod return_routability;
mod unproved;
mod world;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tessera::handshake::Reply;
use tessera::resume::{AcceptResumption, ExternalPsk, ResumptionJudge, ResumptionVerdict};
use tessera::wire::{AlertDescription, CipherSuite, NamedGroup};
use tessera::{
    AssociationOptions, ConnectionId, ConnectionIdUsage, Destination, Error, PathMessage,
};
use tessera_endpoint::{EndpointOptions, Foreign, Route};
use tessera_harness::{EARLY_DATA, Mode, Scene, to};

use world::{TRIP, World, address};

#[test]
fn strangers_prove_their_address_and_clients_with_a_ticket_need_not() {
    for mode in Mode::ALL {
        let mut world = World::new(mode, EndpointOptions::default());
        let session = if mode.resumes() { world.session() } else { None };
        assert_eq!(session.is_some(), mode.resumes(), "{mode:?}");
        let before = world.endpoint.counts();
        let client = world.connect(1000, session);
        world.pass(TRIP * 20);
        world.is_connected(client);
        let cookies = world.endpoint.counts().cookies_opened - before.cookies_opened;
        assert_eq!(cookies, u64::from(!mode.resumes()), "{mode:?}");
        if world.clients[client].early_data_accepted.is_some() {
            assert_eq!(world.clients[client].early_data_accepted, Some(true), "{mode:?}");
            assert!(world.early.values().any(|early| early == EARLY_DATA), "{mode:?}");
        }
    }
}

#[test]
fn each_byte_of_an_association_is_counted_once() {
    let mut world = World::new(Mode::PskDhe, EndpointOptions::default());
    let session = world.session();
    let client = world.connect(1000, session);
    world.pass(TRIP * 20);
    // It moves, and is challenged; and challenges, too.
    world.clients[client].address = address(1001);
    world.client_writes(client, b"x");
    let mut challenge = Vec::new();
    let message = PathMessage::Challenge([7; 8]);
    world.clients[client].association.write_path_message(message, &mut challenge).unwrap();
    world.deliver(address(1001), challenge);
    world.pass(TRIP * 2);
    assert_eq!(world.endpoint.counts().paths_proved, 1);
    let Route::Association(id) = world.client_writes(client, b"x") else { panic!("lost") };
    let [before, after] = [1000, 1001].map(|port| world.bytes[&address(port)]);
    let total = [0, 1].map(|way| (before[way] + after[way]) as u64);
    assert_eq!(world.endpoint.bytes(id), Some(total));
}

/// Leaves every resumption for later.
struct LaterJudge;

impl ResumptionJudge for LaterJudge {
    fn judge(&self, _: &AcceptResumption) -> Reply<ResumptionVerdict> {
        Reply::Later
    }
}

#[test]
fn a_client_whose_ticket_is_refused_later_is_asked_for_a_cookie() {
    let mut world = World::new(Mode::PskDhe, EndpointOptions::default());
    let session = world.session();
    let mut config = world.scene.server.clone();
    config.judge = Some(Arc::new(LaterJudge));
    world.endpoint.set_config(config.checked().unwrap());
    let before = world.endpoint.counts();
    let client = world.connect(1000, session);
    world.pass(TRIP * 20);
    world.is_connected(client);
    assert_eq!(world.endpoint.counts().cookies_opened, before.cookies_opened + 1);
}

/// Silence would leave its user with a timeout.
#[test]
fn a_client_with_a_wrong_psk_proves_its_address_and_gets_the_alert() {
    let suite = CipherSuite::TLS_AES_128_GCM_SHA256;
    let psk = |secret| ExternalPsk::new(b"device".to_vec(), vec![secret; 32].into(), suite);
    let mut scene = Scene::new(tessera_aws_lc::provider(), Mode::Full);
    scene.server.external_psks = vec![psk(1)];
    // Its first share is right: no other group is asked for, with a cookie.
    scene.server.groups = vec![NamedGroup::X25519];
    let mut world = World::of(scene, EndpointOptions::default());
    let destination = Destination { external_psks: vec![psk(2)], ..to(None) };
    let client = world.connect_to(1000, destination, AssociationOptions::default(), EARLY_DATA);
    world.pass(TRIP * 20);
    let alert = Error::AlertReceived(AlertDescription::DECRYPT_ERROR);
    assert_eq!(world.clients[client].error, Some(alert));
    assert_eq!(world.endpoint.counts().cookies_opened, 1);
}

#[test]
fn other_protocols_are_handed_out_by_kind() {
    let mut world = World::new(Mode::Full, EndpointOptions::default());
    for (datagram, kind) in [
        (vec![0, 1, 0, 0], Foreign::Stun),
        (vec![23, 254, 253, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], Foreign::Dtls12),
        (vec![22, 254, 253, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], Foreign::Dtls12),
        (vec![25, 254, 253, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], Foreign::Dtls12),
        // Of a message under keys, encrypted to what begins like a ClientHello.
        (vec![22, 254, 253, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1], Foreign::Dtls12),
        // A ClientKeyExchange, and an alert, in plaintext.
        ([&[22, 254, 253][..], &[0; 9], &[12, 16], &[0; 11]].concat(), Foreign::Dtls12),
        ([&[21, 254, 253][..], &[0; 9], &[2, 2, 40]].concat(), Foreign::Dtls12),
        (vec![0xc3, 0, 0, 0, 1], Foreign::Other),
    ] {
        assert_eq!(world.deliver(address(1), datagram), Route::Foreign(kind));
    }
    assert_eq!(world.deliver(address(1), vec![0x2f; 100]), Route::Dropped);
    assert_eq!(world.deliver(address(1), Vec::new()), Route::Foreign(Foreign::Other));
}

#[test]
fn associations_are_bounded_in_all_and_for_each_source() {
    let options =
        EndpointOptions { max_associations: 6, max_per_source: 4, ..EndpointOptions::default() };
    let mut world = World::new(Mode::Full, options);
    for port in 0..10 {
        world.connect(1000 + port, None);
    }
    world.pass(TRIP * 20);
    assert_eq!(world.endpoint.len(), 4);
    for port in 0..10 {
        let client = world.connect(2000 + port, None);
        world.clients[client].address = SocketAddr::from(([192, 0, 2, 9], 2000 + port));
    }
    world.pass(TRIP * 20);
    assert_eq!(world.endpoint.len(), 6);
    assert!(world.endpoint.counts().full > 0);
}

#[test]
fn a_source_is_an_ipv4_address_or_an_ipv6_subnet_and_has_room_again() {
    let options = EndpointOptions { max_per_source: 1, ..EndpointOptions::default() };
    let mut world = World::new(Mode::Full, options);
    let (mut connected, mut ids) = (Vec::new(), Vec::new());
    for address in
        ["192.0.2.7", "::ffff:192.0.2.7", "2001:db8::1", "2001:db8::9:1", "2001:db8:0:1::1"]
    {
        let client = world.connect(1000, None);
        world.clients[client].address = SocketAddr::new(address.parse().unwrap(), 1000);
        world.pass(TRIP * 20);
        connected.push(world.clients[client].is_complete);
        if connected[client] {
            let Route::Association(id) = world.client_writes(client, b"x") else { panic!("lost") };
            ids.push(id);
        }
        world.clients[client].error = Some(Error::Closed);
    }
    assert_eq!(connected, [true, false, true, false, true]);
    ids.into_iter().for_each(|id| world.endpoint.remove(id));
    let client = world.connect(1000, None);
    world.clients[client].address = "192.0.2.7:1000".parse().unwrap();
    world.pass(TRIP * 20);
    assert!(world.clients[client].is_complete);
}

#[test]
fn short_connection_ids_are_given_to_one_association_each() {
    let options = EndpointOptions { connection_id_len: 1, ..EndpointOptions::default() };
    let mut world = World::of(Scene::new(tessera_aws_lc::provider(), Mode::Full), options);
    let clients: Vec<_> = (0..60).map(|port| world.connect(1000 + port, None)).collect();
    world.pass(TRIP * 20);
    clients.into_iter().for_each(|client| world.is_connected(client));
}

#[test]
fn an_association_ends_with_its_close_and_a_failed_handshake_in_time() {
    let mut world = World::new(Mode::Full, EndpointOptions::default());
    let client = world.connect(1000, None);
    world.pass(TRIP * 20);
    let Route::Association(id) = world.client_writes(client, b"x") else { panic!("lost") };
    world.endpoint.remove(id);
    assert!(world.endpoint.is_empty());
    assert_eq!(world.client_writes(client, b"x"), Route::Dropped);
    assert_eq!(world.endpoint.counts().unknown, 1);
    // The server's flight never arrives.
    let mut is_retry = true;
    world.loses = Box::new(move |is_up, _| !is_up && !std::mem::take(&mut is_retry));
    world.connect(1001, None);
    world.pass(Duration::from_secs(15));
    assert!(world.endpoint.is_empty());
    assert!(world.failed.contains(&Error::TimedOut), "{:?}", world.failed);
    assert_eq!(world.endpoint.deadline(), None);
}

/// RFC 9147 §11: who sees both paths can't link them by the client's connection ID either.
#[test]
fn a_client_that_moves_gets_records_under_its_next_connection_id() {
    let mut world = World::new(Mode::Full, EndpointOptions::default());
    let connection_id = ConnectionId::new(&[1; 4]);
    let client = world.connect_with(
        1000,
        None,
        AssociationOptions { connection_id, ..AssociationOptions::default() },
    );
    world.pass(TRIP * 20);
    let next = ConnectionId::new(&[2; 4]).unwrap();
    let association = &mut world.clients[client].association;
    association.give_connection_ids(&[next], ConnectionIdUsage::Spare).unwrap();
    world.pass(TRIP * 4);
    for (port, expected) in [(1000, [1; 4]), (1001, [2; 4])] {
        world.clients[client].address = address(port);
        let Route::Association(id) = world.client_writes(client, b"x") else { panic!("lost") };
        let mut out = Vec::new();
        world.endpoint.write(id, b"answer", &mut out).unwrap();
        assert_eq!(out[1..5], expected, "{port}");
    }
}

/// Only an endpoint whose associations have sockets asks for a cookie here.
#[test]
fn a_client_without_connection_ids_resumes_without_a_cookie() {
    let mut world = World::new(Mode::PskDhe, EndpointOptions::default());
    let session = world.session();
    let before = world.endpoint.counts().cookies_opened;
    let without = AssociationOptions { connection_id: None, ..AssociationOptions::default() };
    let client = world.connect_with(1000, session, without);
    world.pass(TRIP * 20);
    world.is_connected(client);
    assert_eq!(world.endpoint.counts().cookies_opened, before);
}

#[test]
fn connection_ids_are_of_the_length_that_was_asked_for_up_to_twenty() {
    assert!(ConnectionId::new(&[0; 255]).is_some() && ConnectionId::new(&[0; 256]).is_none());
    for connection_id_len in [0, 1, 8, 20, 21, 256] {
        let options = EndpointOptions { connection_id_len, ..EndpointOptions::default() };
        let mut world = World::new(Mode::Full, options);
        let client = world.connect(1000, None);
        world.pass(TRIP * 20);
        world.is_connected(client);
    }
}
