//! Lost keys without a clock, and with half of the server's flight.

use std::time::Duration;

use tessera::handshake::EarlyDataStatus;
use tessera::resume::Verdict;
use tessera::wire::{AlertDescription, HandshakeType};
use tessera::{ClientConnection, Error, Event, Output, ReadEvent, ServerConnection};
use tessera_harness::{EARLY_DATA, Mode, at, rewrite, to};

use super::suites::lost::scene;

#[test]
fn without_a_clock_a_lost_key_is_unknown() {
    let (scene, session, _) = scene(Mode::FsDhe, Duration::from_secs(3));
    let (client, server) = (scene.client.clone().checked(), scene.server.clone().checked());
    let mut to_server = Output::new();
    let mut client =
        ClientConnection::start(client.unwrap(), to(Some(session)), at(10), &mut to_server)
            .unwrap();
    client.write_early_data(EARLY_DATA, &mut to_server).unwrap();
    let mut server = ServerConnection::start(server.unwrap(), at(10));
    let (mut input, mut to_client) = (to_server.as_slice().to_vec(), Output::new());
    while !input.is_empty() {
        let progress = server.read(at(10), &mut input, &mut to_client).unwrap();
        input.drain(..progress.consumed);
    }
    let mut input = to_client.as_slice().to_vec();
    loop {
        let progress = client.read(at(10), &mut input, &mut to_server).unwrap();
        match progress.event {
            ReadEvent::Handshake(Event::EarlyDataRejected(verdict)) => {
                assert_eq!(verdict, Verdict::Unknown);
                break;
            }
            ReadEvent::NeedInput => panic!("no verdict came"),
            _ => input.drain(..progress.consumed),
        };
    }
}

/// Only the server may report it.
#[test]
fn a_lost_verdict_is_not_believed_before_the_servers_finished() {
    let (scene, session, _) = scene(Mode::FsDhe, Duration::from_secs(3));
    let mut pair = scene.start(Some(session), at(10));
    pair.client_to_server();
    let flight = pair.intercept_server();
    let forged = rewrite(
        &flight,
        || scene.server_sealers(),
        |piece| {
            if piece[0] == HandshakeType::FINISHED.0 {
                piece[4] ^= 1;
            }
        },
    );
    pair.deliver_to_client(&forged);
    let alert = pair.to_client.error.as_ref().and_then(Error::alert);
    assert_eq!(alert, Some(AlertDescription::DECRYPT_ERROR));
    assert_eq!(pair.to_client.verdict, None);
    assert_eq!(pair.client.facts().early_data, EarlyDataStatus::Rejected(Verdict::Unknown));
}
