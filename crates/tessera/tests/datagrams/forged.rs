//! What anyone on the path can send changes nothing but a count.

use std::time::Duration;

use tessera::Role;
use tessera::wire::AlertDescription;
use tessera::{AssociationOptions, DroppedRecords, Error};
use tessera_harness::{Link, Mode, Numbers, Scene, lossless};

use crate::world::{DELAY, is_connected, scene, scene_with, start};

/// A plaintext record of this type.
fn plaintext(typ: u8, sequence: u8, content: &[u8]) -> Vec<u8> {
    let mut record = vec![typ, 254, 253, 0, 0, 0, 0, 0, 0, 0, sequence];
    record.extend((content.len() as u16).to_be_bytes());
    record.extend(content);
    record
}

/// A fragment of a message.
fn fragment(typ: u8, len: u8, seq: u8, offset: u8, body: &[u8]) -> Vec<u8> {
    let mut fragment = vec![typ, 0, 0, len, 0, seq, 0, 0, offset, 0, 0, body.len() as u8];
    fragment.extend(body);
    fragment
}

fn malformed() -> Vec<Vec<u8>> {
    vec![
        vec![],
        vec![22],
        plaintext(22, 9, b""),
        // A fragment that is cut off, one beyond its message, and one that claims 16 MiB.
        plaintext(22, 9, b"\x02\0\0"),
        plaintext(22, 9, &fragment(2, 1, 0, 1, b"ab")),
        plaintext(22, 9, &[2, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 1, 7]),
        // A message of another epoch's, and one far ahead.
        plaintext(22, 9, &fragment(20, 1, 200, 0, b"x")),
        // ACKs: cut off, and of records that were never sent.
        plaintext(26, 9, b"\0\x10\0"),
        plaintext(26, 9, &[&[0, 16][..], &[7; 16]].concat()),
        plaintext(26, 9, b"\0\0"),
        // Data in plaintext, DTLS 1.2, and records of epochs without keys.
        plaintext(23, 9, b"data"),
        vec![25, 254, 253, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0],
        [&[0x2f, 0, 0, 0, 20][..], &[7; 20]].concat(),
        [&[0x2e, 0, 0, 0, 20][..], &[7; 20]].concat(),
        [&[0x2d, 0, 0, 0, 20][..], &[7; 20]].concat(),
        vec![0x20, 1],
        vec![0xff; 1200],
    ]
}

/// Before, during and after the handshake, at both ends.
#[test]
fn malformed_datagrams_do_not_disturb_a_handshake() {
    for mode in [Mode::Full, Mode::Mutual, Mode::PskDhe, Mode::FsDhe] {
        for side in [Role::Client, Role::Server] {
            let mut pair = start(&scene(mode), AssociationOptions::default(), lossless(DELAY));
            // A server judges the first ClientHello alone.
            let steps = if side == Role::Server { 2..8 } else { 0..8 };
            for step in 0..10 {
                if steps.contains(&step) {
                    malformed().into_iter().for_each(|datagram| pair.deliver(side, datagram));
                }
                pair.pass(DELAY / 2);
            }
            pair.run();
            is_connected(&mut pair, &format!("{mode:?} {side:?}"));
            let dropped = match side {
                Role::Client => pair.client.dropped(),
                Role::Server => pair.server.dropped(),
            };
            assert!(dropped.malformed > 0 && dropped.misplaced > 0, "{dropped:?}");
        }
    }
}

#[test]
fn bytes_changed_on_the_way_cost_a_retransmission_and_nothing_else() {
    for seed in 0..200 {
        let mut numbers = Numbers(seed);
        let link: Link = Box::new(move |_, _, datagram| {
            // Protected records alone: a well-formed hello that is changed ends the attempt.
            if datagram[0] & 0xe0 == 0x20 && numbers.happens(30) {
                let at = numbers.next() as usize % datagram.len();
                datagram[at] ^= 1 << (numbers.next() % 8);
            }
            vec![DELAY]
        });
        // The null provider's records open whatever is changed.
        let mut scene = Scene::new(tessera_aws_lc::provider(), Mode::Mutual);
        scene.client.handshake_timeout = Duration::from_secs(600);
        scene.server.handshake_timeout = Duration::from_secs(600);
        let mut pair = start(&scene, AssociationOptions::default(), link);
        pair.run();
        is_connected(&mut pair, &format!("seed {seed}"));
    }
}

#[test]
fn a_plaintext_alert_ends_nothing_once_there_are_keys() {
    let mut pair = start(&scene(Mode::Full), AssociationOptions::default(), lossless(DELAY));
    pair.run();
    for alert in [[2, 40], [1, 0], [2, 20]] {
        pair.deliver(Role::Client, plaintext(21, 99, &alert));
        pair.deliver(Role::Server, plaintext(21, 99, &alert));
    }
    is_connected(&mut pair, "after forged alerts");
}

#[test]
fn a_plaintext_alert_ends_nothing_at_a_server_and_a_malformed_one_nothing_at_a_client() {
    let short = AssociationOptions { max_datagram: 120, ..AssociationOptions::default() };
    let mut pair = start(&scene(Mode::Full), short, lossless(DELAY));
    pair.transmit();
    for content in [&[][..], &[2], &[7, 40], &[2, 40, 0]] {
        pair.deliver(Role::Client, plaintext(21, 99, content));
    }
    // A part of the ClientHello has arrived.
    let first = pair.sent[Role::Client as usize][0].clone();
    pair.deliver(Role::Server, first);
    for content in [&[2, 40][..], &[1, 0], &[], &[7, 40]] {
        pair.deliver(Role::Server, plaintext(21, 99, content));
    }
    pair.run();
    is_connected(&mut pair, "after forged alerts");
    assert!(pair.server.dropped().misplaced >= 4 && pair.client.dropped().malformed >= 3);
}

#[test]
fn plaintext_messages_after_the_handshake_get_no_ack() {
    let mut pair = start(&scene(Mode::Full), AssociationOptions::default(), lossless(DELAY));
    pair.run();
    for side in [Role::Client, Role::Server] {
        let sent = pair.sent[side as usize].len();
        // One that was answered long ago.
        let typ = if side == Role::Server { 1 } else { 2 };
        pair.deliver(side, plaintext(22, 77, &fragment(typ, 4, 0, 0, b"old!")));
        pair.pass(DELAY * 100);
        assert_eq!(pair.sent[side as usize].len(), sent, "{side:?}");
    }
    is_connected(&mut pair, "after forged messages");
}

#[test]
fn forgeries_ask_for_new_keys_once_and_end_the_association_at_the_limit() {
    let scene = scene_with(|suite| suite.with_integrity_limit(8));
    let mut pair = start(&scene, AssociationOptions::default(), lossless(DELAY));
    pair.run();
    // The server's own KeyUpdate, which is shorter than an ACK, is lost: the client reads under the same keys.
    pair.link =
        Box::new(
            |from, _, datagram| {
                if from == Role::Server && datagram.len() < 40 { vec![] } else { vec![DELAY] }
            },
        );
    let forged = [&[0x2f, 0, 0, 0, 20][..], &[7; 20]].concat();
    for _ in 0..7 {
        pair.deliver(Role::Client, forged.clone());
        pair.pass(Duration::from_secs(1));
    }
    pair.write(Role::Client, b"data").expect("writes");
    let last = pair.sent[Role::Client as usize].last().expect("sent");
    assert_eq!(last[0] & 3, 0, "epoch 4, after one update");
    assert!(pair.to_client.error.is_none());
    pair.deliver(Role::Client, forged);
    let alert = pair.to_client.error.as_ref().and_then(Error::alert);
    assert_eq!(alert, Some(AlertDescription::BAD_RECORD_MAC));
}

/// The one thing that a forger can do (SECURITY.md): end the attempt before there are keys.
#[test]
fn a_forged_server_hello_ends_the_attempt_with_an_error() {
    let mut pair = start(&scene(Mode::Full), AssociationOptions::default(), lossless(DELAY));
    pair.transmit();
    let hello = fragment(2, 40, 0, 0, &[3; 40]);
    pair.deliver(Role::Client, plaintext(22, 0, &hello));
    assert!(
        matches!(pair.to_client.error, Some(Error::Protocol { .. })),
        "{:?}",
        pair.to_client.error
    );
}

#[test]
fn a_server_that_speaks_only_dtls_1_2_is_named() {
    let mut pair = start(&scene(Mode::Full), AssociationOptions::default(), lossless(DELAY));
    pair.transmit();
    // HelloVerifyRequest: DTLS 1.0, and a cookie.
    pair.deliver(Role::Client, plaintext(22, 0, &fragment(3, 4, 0, 0, &[254, 255, 1, 7])));
    let alert = pair.to_client.error.as_ref().and_then(Error::alert);
    assert_eq!(alert, Some(AlertDescription::PROTOCOL_VERSION));
}

#[test]
fn a_replayed_record_is_counted_and_dropped() {
    let mut pair = start(&scene(Mode::Full), AssociationOptions::default(), lossless(DELAY));
    pair.run();
    pair.write(Role::Client, b"once").expect("writes");
    pair.pass(DELAY);
    let record = pair.sent[Role::Client as usize].last().expect("sent").clone();
    let before = pair.server.dropped();
    for _ in 0..5 {
        pair.deliver(Role::Server, record.clone());
    }
    assert_eq!(pair.to_server.data, b"once");
    let dropped = pair.server.dropped();
    assert_eq!(dropped, DroppedRecords { repeated: before.repeated + 5, ..before });
}

/// RFC 9147 §5.10: anything with a number after close_notify's is ignored, and what was sent before it isn't.
#[test]
fn records_before_a_close_that_overtook_them_still_count() {
    let mut pair = start(&scene(Mode::Full), AssociationOptions::default(), lossless(DELAY));
    pair.run();
    let mut late = Vec::new();
    pair.client.write(b"before", &mut late).expect("writes");
    pair.client.close();
    pair.pass(DELAY * 2);
    assert!(pair.to_server.closed);
    pair.deliver(Role::Server, late);
    assert_eq!(pair.to_server.data, b"before");
}

/// Only a ClientHello comes without keys, and it is short.
#[test]
fn a_plaintext_message_longer_than_any_client_hello_is_dropped() {
    let mut pair = start(&scene(Mode::Full), AssociationOptions::default(), lossless(DELAY));
    // The first byte of 16 KiB.
    let begin = [1, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 1, 7];
    pair.deliver(Role::Server, plaintext(22, 0, &begin));
    assert_eq!(pair.server.dropped().misplaced, 1);
    pair.run();
    is_connected(&mut pair, "after a long hello");
}

#[test]
fn a_close_before_the_end_of_the_handshake_is_an_error() {
    let mut pair = start(&scene(Mode::Full), AssociationOptions::default(), lossless(DELAY));
    pair.transmit();
    pair.deliver(Role::Client, plaintext(21, 0, &[1, 0]));
    let close = AlertDescription::CLOSE_NOTIFY;
    assert_eq!(pair.to_client.error, Some(Error::AlertReceived(close)));
    assert!(!pair.to_client.closed);
}

/// A server has no keys for early data until it accepts it.
#[test]
fn an_alert_of_a_client_that_sends_early_data_is_plaintext() {
    let mut pair = start(&scene(Mode::Replayable), AssociationOptions::default(), lossless(DELAY));
    pair.transmit();
    pair.deliver(Role::Client, plaintext(22, 0, &fragment(2, 40, 0, 0, &[3; 40])));
    pair.transmit();
    let alert = pair.sent[Role::Client as usize].last().expect("sent");
    assert_eq!(alert[..3], [21, 254, 253]);
}

/// Their application reads what is authenticated by the whole handshake.
#[test]
fn data_under_the_keys_of_the_handshake_is_refused() {
    for side in [Role::Client, Role::Server] {
        let link: Link = Box::new(move |from, _, datagram| {
            // The record after ServerHello, or that of Finished. The null provider's tags don't cover its type.
            let begin = match datagram[..] {
                [22, ..] => 13 + usize::from(u16::from_be_bytes([datagram[11], datagram[12]])),
                _ => 0,
            };
            let typ = datagram.len() - 17;
            if from != side && datagram.get(begin).is_some_and(|first| first & 0xe3 == 0x22) {
                datagram[typ] = 23;
            }
            vec![DELAY]
        });
        let mut pair = start(&scene(Mode::Full), AssociationOptions::default(), link);
        pair.run_for(Duration::from_secs(1));
        let received = if side == Role::Client { pair.to_client } else { pair.to_server };
        let alert = received.error.as_ref().and_then(Error::alert);
        assert_eq!(alert, Some(AlertDescription::UNEXPECTED_MESSAGE), "{side:?}");
        assert!(received.data.is_empty());
    }
}

#[test]
fn a_peer_may_cancel_a_few_times() {
    let mut pair = start(&scene(Mode::Full), AssociationOptions::default(), lossless(DELAY));
    pair.run();
    for count in 1..=5 {
        // user_canceled, the type of an alert, and padding: the null provider leaves it readable.
        let content = [&[1, 90, 21][..], &[0; 13]].concat();
        let mut alert = Vec::new();
        pair.client.write(&content, &mut alert).expect("writes");
        let typ = alert.len() - 17;
        alert[typ] = 0;
        pair.deliver(Role::Server, alert);
        let alert = pair.to_server.error.as_ref().and_then(Error::alert);
        let expected = (count == 5).then_some(AlertDescription::UNEXPECTED_MESSAGE);
        assert_eq!(alert, expected, "{count}");
    }
    assert!(pair.to_server.data.is_empty());
}
