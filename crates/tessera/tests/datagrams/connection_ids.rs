//! Connection IDs (RFC 9146, RFC 9147 §9).

use tessera::Role;
use tessera::wire::{AlertDescription, ExtensionType, OpaqueExtension};
use tessera::{AssociationOptions, ConnectionId, ConnectionIdUsage, Destination, Error};
use tessera_harness::{DatagramPair, Mode, lossless, to};

use crate::world::{DELAY, begin, is_connected, scene, session, with_id};

#[test]
fn each_side_s_records_have_the_connection_id_that_the_other_chose() {
    for (of_client, of_server) in
        [(&b""[..], &b"server"[..]), (b"client", b""), (b"client", b"server"), (b"", b"")]
    {
        for mode in Mode::ALL {
            let scene = scene(mode);
            let destination = to(mode.resumes().then(|| session(&scene)).flatten());
            let options = [with_id(of_client), with_id(of_server)];
            let mut pair = begin(&scene, destination, options, lossless(DELAY));
            pair.run();
            is_connected(&mut pair, &format!("{mode:?} {of_client:?} {of_server:?}"));
            for (side, id) in [(Role::Client, of_server), (Role::Server, of_client)] {
                let last = pair.sent[side as usize].last().expect("sent");
                assert_eq!(last[0] & 0x10 != 0, !id.is_empty(), "{mode:?} {side:?}");
                assert!(last[1..].starts_with(id), "{mode:?} {side:?}");
            }
        }
    }
}

#[test]
fn without_an_answer_there_are_none() {
    let none = AssociationOptions { connection_id: None, ..AssociationOptions::default() };
    for options in [[with_id(b"client"), none.clone()], [none, with_id(b"server")]] {
        let mut pair = begin(&scene(Mode::Full), to(None), options, lossless(DELAY));
        pair.run();
        is_connected(&mut pair, "one side has none");
        let all = pair.sent.iter().flatten();
        assert!(all.filter(|it| it[0] & 0xe0 == 0x20).all(|it| it[0] & 0x10 == 0));
    }
}

#[test]
fn a_record_with_another_connection_id_or_with_none_is_dropped() {
    let options = [with_id(b"client"), with_id(b"server")];
    let mut pair = begin(&scene(Mode::Full), to(None), options, lossless(DELAY));
    pair.run();
    let mut record = Vec::new();
    pair.client.write(b"data", &mut record).expect("writes");
    let mut other = record.clone();
    other[1] ^= 1;
    let mut without = vec![record[0] & !0x10];
    without.extend(&record[1 + b"server".len()..]);
    for wrong in [other, without] {
        pair.deliver(Role::Server, wrong);
    }
    assert!(pair.to_server.data.is_empty());
    assert_eq!(pair.server.dropped().malformed, 2);
    pair.deliver(Role::Server, record);
    assert_eq!(pair.to_server.data, b"data");
}

#[test]
fn a_malformed_connection_id_is_refused() {
    let malformed = OpaqueExtension { typ: ExtensionType::CONNECTION_ID, contents: vec![3, 1] };
    let none = AssociationOptions { connection_id: None, ..AssociationOptions::default() };
    let destination = Destination { extensions: vec![malformed], ..to(None) };
    let options = [none, with_id(b"server")];
    let mut pair = begin(&scene(Mode::Full), destination, options, lossless(DELAY));
    pair.run_for(DELAY * 4);
    let alert = pair.to_server.error.as_ref().and_then(Error::alert);
    assert_eq!(alert, Some(AlertDescription::DECODE_ERROR));
    assert_eq!(
        pair.to_client.error,
        Some(Error::AlertReceived(AlertDescription::DECODE_ERROR)),
        "the client learns it"
    );
}

fn ids(names: &[&[u8]]) -> Vec<ConnectionId> {
    names.iter().map(|name| ConnectionId::new(name).expect("short")).collect()
}

/// Both sides with connection IDs of six bytes.
fn connected() -> DatagramPair {
    let options = [with_id(b"client"), with_id(b"server")];
    let mut pair = begin(&scene(Mode::Full), to(None), options, lossless(DELAY));
    pair.run();
    pair
}

/// Whether a side's newest datagram names this connection ID.
fn names(pair: &DatagramPair, side: Role, id: &[u8]) -> bool {
    pair.sent[side as usize].last().is_some_and(|last| last[1..].starts_with(id))
}

#[test]
fn spare_connection_ids_are_used_in_their_order_when_the_sender_likes() {
    let mut pair = connected();
    let given = ids(&[b"second", b"third."]);
    assert_eq!(pair.server.give_connection_ids(&given, ConnectionIdUsage::Spare), Ok(vec![]));
    pair.pass(DELAY * 10);
    is_connected(&mut pair, "the first is still in use");
    assert!(names(&pair, Role::Client, b"server"));
    for (left, id) in [(1, &b"second"[..]), (0, b"third.")] {
        assert!(pair.client.use_next_connection_id());
        assert_eq!(pair.client.spare_connection_ids(), left);
        is_connected(&mut pair, "with the next");
        assert!(names(&pair, Role::Client, id));
        assert_eq!(pair.server.connection_id().map(AsRef::as_ref), Some(id));
    }
    assert!(!pair.client.use_next_connection_id());
    // What was used before the one in use goes when others come.
    let used_up = pair.server.give_connection_ids(&ids(&[b"fourth"]), ConnectionIdUsage::Spare);
    assert_eq!(used_up, Ok(ids(&[b"server", b"second"])));
    is_connected(&mut pair, "with the third");
}

#[test]
fn a_connection_id_for_immediate_use_replaces_the_earlier_and_the_spare_ones() {
    let mut pair = connected();
    pair.client.give_connection_ids(&ids(&[b"spare."]), ConnectionIdUsage::Spare).expect("room");
    pair.pass(DELAY * 10);
    let now = ids(&[b"now...", b"later."]);
    pair.client.give_connection_ids(&now, ConnectionIdUsage::Immediate).expect("room");
    pair.pass(DELAY * 10);
    is_connected(&mut pair, "after the change");
    assert!(names(&pair, Role::Server, b"now..."));
    assert!(pair.server.use_next_connection_id());
    is_connected(&mut pair, "after another");
    assert!(names(&pair, Role::Server, b"later."));
    assert!(!pair.server.use_next_connection_id(), "the earlier spare one is discarded");
}

#[test]
fn requested_connection_ids_come_and_requests_wait_for_each_other() {
    let mut pair = connected();
    pair.client.request_connection_ids(3).expect("possible");
    assert!(matches!(pair.client.request_connection_ids(3), Err(Error::TooEarly(_))));
    pair.pass(DELAY * 10);
    assert_eq!(pair.to_server.requested_ids, [3]);
    assert!(matches!(pair.client.request_connection_ids(3), Err(Error::TooEarly(_))));
    // None is an answer.
    pair.server.give_connection_ids(&[], ConnectionIdUsage::Spare).expect("possible");
    pair.pass(DELAY * 10);
    pair.client.request_connection_ids(1).expect("possible again");
    pair.pass(DELAY * 10);
    pair.server.give_connection_ids(&ids(&[b"second"]), ConnectionIdUsage::Spare).expect("room");
    pair.pass(DELAY * 10);
    assert_eq!(pair.client.spare_connection_ids(), 1);
}

/// RFC 9147 §9: one NewConnectionId at a time.
#[test]
fn connection_ids_wait_until_the_earlier_ones_are_acknowledged() {
    let mut pair = connected();
    for name in [b"second", b"third."] {
        pair.server.give_connection_ids(&ids(&[name]), ConnectionIdUsage::Spare).expect("room");
        for _ in 0..2 {
            let given = pair.server.give_connection_ids(&[], ConnectionIdUsage::Spare);
            assert!(matches!(given, Err(Error::TooEarly(_))), "{given:?}");
            pair.pass(DELAY / 2);
        }
        pair.pass(DELAY * 10);
    }
    assert_eq!(pair.client.spare_connection_ids(), 2);
}

/// A request is reported when it can be answered: a flood of them makes nothing grow.
#[test]
fn a_request_that_crosses_a_key_update_waits_for_its_end() {
    let mut pair = connected();
    pair.client.request_connection_ids(1).expect("possible");
    pair.server.update_keys(false).expect("possible");
    pair.pass(DELAY + DELAY / 2);
    assert!(pair.to_server.requested_ids.is_empty(), "the KeyUpdate is under way");
    let given = pair.server.give_connection_ids(&ids(&[b"second"]), ConnectionIdUsage::Spare);
    assert!(matches!(given, Err(Error::TooEarly(_))));
    pair.pass(DELAY * 20);
    assert_eq!(pair.to_server.requested_ids, [1]);
    pair.server.give_connection_ids(&ids(&[b"second"]), ConnectionIdUsage::Spare).expect("room");
    pair.pass(DELAY * 20);
    assert_eq!(pair.client.spare_connection_ids(), 1);
}

#[test]
fn connection_ids_that_could_be_confused_or_are_too_many_are_not_given() {
    use ConnectionIdUsage::{Immediate, Spare};
    let mut pair = connected();
    let many: Vec<_> = (b'0'..b'7').map(|last| [b'I', b'D', b' ', b'N', b'o', last]).collect();
    let many: Vec<_> = many.iter().map(|id| ConnectionId::new(id).expect("short")).collect();
    let wrong: [(&[&[u8]], ConnectionIdUsage); 4] = [
        (&[b"short"], Spare),
        (&[b"server"], Spare),
        (&[b"double", b"double"], Spare),
        (&[], Immediate),
    ];
    for (names, usage) in wrong {
        let given = pair.server.give_connection_ids(&ids(names), usage);
        assert!(matches!(given, Err(Error::Misuse(_))), "{names:?}");
    }
    assert_eq!(pair.server.room_for_connection_ids(), 7);
    pair.server.give_connection_ids(&many, Spare).expect("room for seven");
    pair.pass(DELAY * 10);
    let given = pair.server.give_connection_ids(&ids(&[b"eighth"]), Spare);
    assert!(matches!(given, Err(Error::Misuse(_))));
    // Nor without any.
    let options = [with_id(b""), with_id(b"server")];
    let mut pair = begin(&scene(Mode::Full), to(None), options, lossless(DELAY));
    pair.run();
    let given = pair.client.give_connection_ids(&ids(&[b"second"]), Spare);
    assert!(matches!(given, Err(Error::Misuse(_))));
    assert!(matches!(pair.server.request_connection_ids(1), Err(Error::Misuse(_))));
}

/// Has the client send a message to the server in a record of its own.
fn send_message(pair: &mut DatagramPair, typ: u8, body: &[u8]) {
    // After a message that the server has read: the mask of the record's number depends on the first 16 bytes.
    let mut content = vec![1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 7];
    let len = body.len() as u8;
    // The client has sent two ClientHellos and Finished.
    content.extend([typ, 0, 0, len, 0, 3, 0, 0, 0, 0, 0, len]);
    content.extend(body);
    let mut datagram = Vec::new();
    pair.client.write(&content, &mut datagram).expect("writes");
    // The null provider leaves it readable.
    let at = datagram.windows(content.len()).position(|it| it == content).expect("content");
    datagram[at + content.len()] = 22;
    pair.deliver(Role::Server, datagram);
}

#[test]
fn malformed_messages_about_connection_ids_are_refused() {
    const NEW: u8 = 10;
    const REQUEST: u8 = 9;
    let error = Some(AlertDescription::DECODE_ERROR);
    for (typ, body, expected) in [
        (NEW, &[0, 3, 2, b'i', b'd', 1][..], None),
        (NEW, &[0, 3, 2, b'i', b'd', 0], None),
        (NEW, &[0, 0, 1], None),
        // For an unknown use, empty, none for immediate use, and more than there may be.
        (NEW, &[0, 3, 2, b'i', b'd', 2], error),
        (NEW, &[0, 1, 0, 1], error),
        (NEW, &[0, 0, 0], error),
        (NEW, &[0, 3, 2, b'i', b'd', 1, 1], error),
        (REQUEST, &[1], None),
        (REQUEST, &[], error),
        (REQUEST, &[1, 1], error),
    ] {
        let mut pair = connected();
        send_message(&mut pair, typ, body);
        let alert = pair.to_server.error.as_ref().and_then(Error::alert);
        assert_eq!(alert, expected, "{typ} {body:?}");
        // Without connection IDs there is nothing to change.
        let options = [with_id(b""), with_id(b"")];
        let mut pair = begin(&scene(Mode::Full), to(None), options, lossless(DELAY));
        pair.run();
        send_message(&mut pair, typ, body);
        let alert = pair.to_server.error.as_ref().and_then(Error::alert);
        assert_eq!(alert, Some(AlertDescription::UNEXPECTED_MESSAGE), "{typ} {body:?}");
    }
}

#[test]
fn a_peer_may_give_any_number_of_connection_ids_and_few_are_kept() {
    let mut pair = connected();
    let mut body = vec![0, 60];
    (0..20).for_each(|n| body.extend([2, b'i', n]));
    body.push(1);
    send_message(&mut pair, 10, &body);
    assert_eq!((pair.to_server.error, pair.server.spare_connection_ids()), (None, 8));
}
