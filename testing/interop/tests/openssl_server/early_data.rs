//! Replayable early data, to a server with its own protection against replays.

use tessera::ClientConfig;
use tessera::handshake::EarlyDataStatus;
use tessera::resume::{ClientSession, PskKind};
use tessera::wire::NamedGroup;
use tessera_interop::{Client, client, to};

use crate::{World, talk, talk_and_close};

fn config(world: &World) -> ClientConfig {
    let mut config = client(&world.pki);
    config.policy.early_data.replayable_without_forward_secrecy = true;
    config.groups = vec![NamedGroup::X25519, NamedGroup::SECP384R1];
    config
}

#[test]
fn s_server_accepts_early_data_once() {
    let world = World::new();
    let (mut server, address) = world.server(&["-early_data"]);
    let mut first = Client::start(&config(&world), to(None), address);
    talk_and_close(&mut first, &mut server);
    let session = first.told.sessions.pop().unwrap();
    let copy = ClientSession::import(&session.export()).unwrap();

    let mut second = Client::start_early(&config(&world), to(Some(session)), address, b"early one");
    second.handshake();
    // The data takes another way to the output than the messages around it.
    server.says("early one").says("End of early data");
    assert_eq!(second.told.early_data_accepted, Some(true));
    assert_eq!(second.facts().early_data, EarlyDataStatus::Accepted);
    assert_eq!(second.facts().psk, Some(PskKind::Resumption));
    talk(&mut second, &mut server);
    second.close().closed();

    let mut third = Client::start_early(&config(&world), to(Some(copy)), address, b"early two");
    third.handshake();
    assert_eq!(third.told.early_data_accepted, Some(false));
    assert_eq!(third.facts().psk, None);
    third.send(b"late\n");
    server.says("late");
    assert!(!server.output().contains("early two"), "{}", server.output());
}

/// Early data is replayable.
#[test]
fn s_server_without_replay_protection_accepts_early_data_twice() {
    let world = World::new();
    let (mut server, address) = world.server(&["-early_data", "-no_anti_replay"]);
    let mut first = Client::start(&config(&world), to(None), address);
    talk_and_close(&mut first, &mut server);
    let exported = first.told.sessions[0].export();
    for times in 1..3 {
        let session = ClientSession::import(&exported).unwrap();
        let mut end = Client::start_early(&config(&world), to(Some(session)), address, b"early");
        end.handshake();
        assert_eq!(end.told.early_data_accepted, Some(true));
        end.close().closed();
        server.says_times("End of early data", times);
    }
}

/// The longest that the ticket allows.
#[test]
fn the_client_sends_s_server_as_much_early_data_as_the_ticket_allows() {
    let world = World::new();
    let (mut server, address) = world.server(&["-early_data"]);
    let mut first = Client::start(&config(&world), to(None), address);
    talk_and_close(&mut first, &mut server);
    let session = first.told.sessions.pop().unwrap();
    assert_eq!(session.state.max_early_data_size, 16_384);
    let data = [b'e'; 16_384];
    let mut second = Client::start_early(&config(&world), to(Some(session)), address, &data);
    second.handshake();
    assert_eq!(second.told.early_data_accepted, Some(true));
    server.says(&"e".repeat(16_384));
}

#[test]
fn the_client_offers_no_early_data_with_a_ticket_of_s_server_that_allows_none() {
    let world = World::new();
    let (mut server, address) = world.server(&[]);
    let mut first = Client::start(&config(&world), to(None), address);
    talk_and_close(&mut first, &mut server);
    let session = first.told.sessions.pop();
    let second = Client::start(&config(&world), to(session), address);
    assert_eq!(second.connection.early_data_room(), 0);
}

#[test]
fn s_server_rejects_early_data_by_a_hello_retry_request() {
    let world = World::new();
    let (mut server, address) = world.server(&["-early_data", "-groups", "P-384"]);
    let mut first = Client::start(&config(&world), to(None), address);
    talk_and_close(&mut first, &mut server);
    // A client that remembered the group would not need the retry.
    let session = first.told.sessions.pop().map(|session| ClientSession { group: None, ..session });
    let mut second = Client::start_early(&config(&world), to(session), address, b"too early");
    second.handshake();
    assert!(second.facts().hello_retry);
    assert_eq!(second.told.early_data_accepted, Some(false));
    talk(&mut second, &mut server);
    assert!(!server.output().contains("too early"), "{}", server.output());
}

/// More than one record.
#[test]
fn s_server_accepts_early_data_in_many_records() {
    let world = World::new();
    let more = ["-early_data", "-max_early_data", "50000", "-recv_max_early_data", "50000"];
    let (mut server, address) = world.server(&more);
    let mut first = Client::start(&config(&world), to(None), address);
    talk_and_close(&mut first, &mut server);
    let session = first.told.sessions.pop().unwrap();
    assert_eq!(session.state.max_early_data_size, 50_000);
    let data = [b'~'; 50_000];
    let mut second = Client::start_early(&config(&world), to(Some(session)), address, &data);
    talk_and_close(&mut second, &mut server);
    assert_eq!(second.told.early_data_accepted, Some(true));
    server.says_times("~", 50_000);
}
