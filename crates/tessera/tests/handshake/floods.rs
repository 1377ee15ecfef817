//! Floods of what is allowed a few times are bounded, and ended by the right alert.

use tessera::wire::{AlertDescription, ContentType, HandshakeType};
use tessera_harness::{Mode, at, message, plain, records};

use crate::oversize::{alert, connected, scene};

#[test]
fn floods_of_key_updates_empty_records_and_tickets_are_refused() {
    let update = message(HandshakeType::KEY_UPDATE, &[0]);
    let unexpected = Some(AlertDescription::UNEXPECTED_MESSAGE);
    // Key updates: 32 may come without data between them.
    let (mut pair, mut client, _) = connected(Mode::Full);
    for count in 1..=33 {
        assert_eq!(pair.to_server.error, None, "{count}");
        pair.deliver_to_server(&client.seal(ContentType::HANDSHAKE, &update));
        client.update();
    }
    assert_eq!(alert(&pair.to_server), unexpected);
    // With data between them there may be more.
    let (mut pair, mut client, _) = connected(Mode::Full);
    for _ in 0..100 {
        pair.deliver_to_server(&client.seal(ContentType::HANDSHAKE, &update));
        client.update();
        pair.deliver_to_server(&client.seal(ContentType::APPLICATION_DATA, b"."));
    }
    assert_eq!(pair.to_server.error, None);
    assert_eq!(pair.to_server.data.len(), 100);

    // Records without content.
    let (mut pair, mut client, _) = connected(Mode::Full);
    for count in 1..=33 {
        assert_eq!(pair.to_server.error, None, "{count}");
        pair.deliver_to_server(&client.seal(ContentType::APPLICATION_DATA, b""));
    }
    assert_eq!(alert(&pair.to_server), unexpected);

    // Tickets.
    let (mut pair, _, mut server) = connected(Mode::Full);
    let body = [&[0, 0, 14, 16, 1, 2, 3, 4, 1, 0, 0, 4][..], &[9; 4], &[0, 0]].concat();
    let ticket = message(HandshakeType::NEW_SESSION_TICKET, &body);
    for _ in 0..33 {
        pair.deliver_to_client(&server.seal(ContentType::HANDSHAKE, &ticket));
    }
    assert_eq!(alert(&pair.to_client), unexpected);

    // user_canceled.
    let (mut pair, mut client, _) = connected(Mode::Full);
    for count in 1..=5 {
        assert_eq!(pair.to_server.error, None, "{count}");
        pair.deliver_to_server(&client.seal(ContentType::ALERT, &[1, 90]));
    }
    assert_eq!(alert(&pair.to_server), unexpected);

    // change_cipher_spec.
    let mut pair = scene(Mode::Full).pair();
    for count in 1..=9 {
        assert_eq!(pair.to_client.error, None, "{count}");
        pair.deliver_to_client(&plain(ContentType::CHANGE_CIPHER_SPEC, &[1]));
    }
    assert_eq!(alert(&pair.to_client), unexpected);
}

#[test]
fn a_flood_of_empty_early_data_is_refused() {
    let scene = scene(Mode::FsDhe);
    let mut pair = scene.pair();
    pair.client_to_server();
    let mut early = scene.client_sealers().remove(0);
    for _ in 0..32 {
        pair.deliver_to_server(&early.seal(ContentType::APPLICATION_DATA, b""));
    }
    assert_eq!(pair.to_server.error, None);
    pair.deliver_to_server(&early.seal(ContentType::APPLICATION_DATA, b""));
    assert_eq!(alert(&pair.to_server), Some(AlertDescription::UNEXPECTED_MESSAGE));
}

#[test]
fn more_early_data_than_allowed_is_refused() {
    for mode in [Mode::FsDhe, Mode::FsKe, Mode::FsPsk, Mode::Replayable] {
        let scene = scene(mode);
        let mut pair = scene.pair();
        pair.client_to_server();
        let mut early = scene.client_sealers().remove(0);
        let left = 16 * 1024 - tessera_harness::EARLY_DATA.len();
        pair.deliver_to_server(&early.seal(ContentType::APPLICATION_DATA, &vec![7; left]));
        assert_eq!(pair.to_server.error, None);
        assert_eq!(pair.to_server.early_data.len(), 16 * 1024);
        pair.deliver_to_server(&early.seal(ContentType::APPLICATION_DATA, b"."));
        assert_eq!(alert(&pair.to_server), Some(AlertDescription::UNEXPECTED_MESSAGE));
    }
    // Refused early data is ignored only up to a limit.
    let mut scene = scene(Mode::FsDhe);
    let session = scene.session();
    scene.server.policy.early_data.forward_secret = None;
    let mut pair = scene.start(session, at(0));
    pair.client_to_server();
    let junk = plain(ContentType::APPLICATION_DATA, &vec![7; 1017]);
    let mut passed = 0;
    while pair.to_server.error.is_none() {
        pair.deliver_to_server(&junk);
        passed += 1;
        assert!(passed < 100, "it ends");
    }
    assert_eq!(passed, 17);
    assert_eq!(alert(&pair.to_server), Some(AlertDescription::UNEXPECTED_MESSAGE));
}

#[test]
fn many_requested_key_updates_are_answered_once() {
    // However often the peer asks, the answer goes out with the next data (RFC 8446 §4.6.3).
    let (mut pair, mut client, mut server) = connected(Mode::Full);
    let update = message(HandshakeType::KEY_UPDATE, &[1]);
    for _ in 0..1_000 {
        pair.deliver_to_server(&client.seal(ContentType::HANDSHAKE, &update));
        client.update();
        pair.deliver_to_server(&client.seal(ContentType::APPLICATION_DATA, b"."));
    }
    assert_eq!(pair.to_server.error, None);
    assert_eq!(pair.to_server.data.len(), 1_000);
    assert!(pair.server_output.is_empty());
    pair.server_write(b"pong");
    let sent = records(&pair.intercept_server());
    let answer = message(HandshakeType::KEY_UPDATE, &[0]);
    assert_eq!(server.open(&sent[0]), Some((ContentType::HANDSHAKE, answer)));
    server.update();
    let data = (ContentType::APPLICATION_DATA, b"pong".to_vec());
    assert_eq!(server.open(&sent[1]), Some(data));
    assert_eq!(sent.len(), 2);
}
