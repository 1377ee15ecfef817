//! Servers that have lost their associations, and tell the clients so.

use std::time::Duration;

use tessera::Error;
use tessera_endpoint::{EndpointOptions, ResetKey, Route};
use tessera_harness::Mode;

use crate::world::{TRIP, World, address};

/// The options of a server with this key.
pub(crate) fn with_key(key: u8) -> EndpointOptions {
    let reset_key = Some(ResetKey::new(&[key; ResetKey::LEN]));
    EndpointOptions { reset_key, ..EndpointOptions::default() }
}

/// Returns a world with a client whose handshake is complete.
fn connected(options: EndpointOptions) -> (World, usize) {
    let mut world = World::new(Mode::Full, options);
    let client = world.connect(1000, None);
    world.pass(TRIP * 20);
    world.is_connected(client);
    (world, client)
}

#[test]
fn a_client_learns_in_one_round_trip_that_its_server_has_restarted() {
    for moves in [false, true] {
        let (mut world, client) = connected(with_key(1));
        if moves {
            let association = &mut world.clients[client].association;
            association.request_connection_ids(2).unwrap();
            world.pass(TRIP * 4);
            let association = &mut world.clients[client].association;
            assert!(association.use_next_connection_id());
            world.clients[client].address = address(1001);
            world.is_connected(client);
            world.pass(TRIP * 4);
        }
        world.restart(with_key(1));
        let datagram = world.client_sends(client, b"question");
        world.pass(TRIP * 2);
        assert_eq!(world.clients[client].error, Some(Error::AssociationLost), "moves: {moves}");
        assert_eq!(world.endpoint.counts().resets_sent, 1);
        let [_, to_client] = world.bytes[&world.clients[client].address];
        assert!(to_client > 0 && to_client < datagram.len(), "shorter than what it answers");
    }
}

/// As when its owner has closed it, and the client still sends.
#[test]
fn a_client_learns_that_its_association_is_gone_from_a_server_that_goes_on() {
    let (mut world, client) = connected(with_key(1));
    let [id] = world.endpoint.ids()[..] else { panic!("one") };
    world.endpoint.remove(id);
    world.client_sends(client, b"question");
    world.pass(TRIP * 2);
    assert_eq!(world.clients[client].error, Some(Error::AssociationLost));
}

#[test]
fn resets_that_are_not_sent_are_bounded() {
    let mut world = World::new(Mode::Full, with_key(1));
    for _ in 0..2 {
        for port in 1..=1000 {
            world.deliver(address(port), vec![0x3b; 60]);
        }
        world.elapsed += Duration::from_secs(1);
    }
    assert_eq!(world.endpoint.counts().resets_sent, 1024);
}

#[test]
fn a_reset_of_another_instance_or_for_another_association_changes_nothing() {
    let (mut world, client) = connected(with_key(1));
    let other = world.connect(1001, None);
    world.pass(TRIP * 20);
    // A datagram that went to the wrong instance.
    world.restart(with_key(2));
    world.client_sends(client, b"question");
    world.pass(TRIP * 2);
    assert_eq!(world.endpoint.counts().resets_sent, 1);
    assert_eq!(world.clients[client].error, None);
    // The reset of another client.
    world.restart(with_key(1));
    let mut datagram = Vec::new();
    world.clients[other].association.write(b"question", &mut datagram).unwrap();
    assert_eq!(world.deliver(address(1001), datagram), Route::Handled);
    let (now, mut reset) = (world.now(), Vec::new());
    world.endpoint.transmit(now, &mut reset).unwrap();
    world.deliver_to_client(address(1000), reset.clone());
    assert_eq!(world.clients[client].error, None);
    // Nor does one that is cut, or changed in a bit.
    for place in 0..reset.len() * 8 {
        let mut forged = reset.clone();
        forged[place / 8] ^= 1 << (place % 8);
        world.deliver_to_client(address(1001), forged);
    }
    world.deliver_to_client(address(1001), reset[reset.len() - 16..].to_vec());
    assert_eq!(world.clients[other].error, None);
    world.deliver_to_client(address(1001), reset);
    assert_eq!(world.clients[other].error, Some(Error::AssociationLost));
}

#[test]
fn no_reset_answers_what_is_as_short_or_what_is_there() {
    let (mut world, client) = connected(with_key(1));
    let mut record = Vec::new();
    world.clients[client].association.write(b"", &mut record).unwrap();
    // The number of a live association under a connection ID that it never had: none but the server can make one, so
    // the record of one that is there stands for it.
    *record.last_mut().unwrap() ^= 1;
    world.deliver(address(4000), record.clone());
    assert_eq!(world.endpoint.counts().resets_sent, 0);
    world.restart(with_key(1));
    for len in 9..record.len() {
        let before = world.endpoint.counts().resets_sent;
        world.deliver(address(4000), record[..len].to_vec());
        let (now, mut reset) = (world.now(), Vec::new());
        while world.endpoint.transmit(now, &mut reset).is_some() {}
        let sent = world.endpoint.counts().resets_sent > before;
        assert_eq!(sent, len > 21, "{len} bytes");
        assert!(reset.len() < len, "{} bytes for {len}", reset.len());
    }
}

#[test]
fn a_flood_of_unknown_records_gets_a_thousand_resets_a_second() {
    let mut world = World::new(Mode::Full, with_key(1));
    let mut record = vec![0x3b; 60];
    for second in 1..=3 {
        for number in 0..5000_u16 {
            record[1..3].copy_from_slice(&number.to_be_bytes());
            world.deliver(address(number), record.clone());
            let (now, mut reset) = (world.now(), Vec::new());
            world.endpoint.transmit(now, &mut reset);
        }
        assert_eq!(world.endpoint.counts().resets_sent, 1000 * second);
        world.pass(Duration::from_secs(1));
    }
    assert_eq!(world.endpoint.counts().unknown, 12_000);
}

#[test]
fn without_a_key_or_with_short_connection_ids_there_are_no_resets() {
    for options in [
        EndpointOptions::default(),
        EndpointOptions { connection_id_len: 7, ..with_key(1) },
        EndpointOptions { connection_id_len: 0, ..with_key(1) },
    ] {
        let (mut world, client) = connected(options.clone());
        world.restart(options);
        world.client_sends(client, b"question");
        world.pass(TRIP * 2);
        assert_eq!(world.clients[client].error, None);
        assert_eq!(world.endpoint.counts().resets_sent, 0);
    }
}
