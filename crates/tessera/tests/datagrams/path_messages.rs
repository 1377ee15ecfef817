//! Messages of return routability checks (RFC 9853).

use std::time::Duration;

use tessera::wire::{AlertDescription, ExtensionType, OpaqueExtension};
use tessera::{AssociationOptions, Destination, Error, PathMessage, ReadEvent};
use tessera_harness::{DatagramPair, Mode, lossless, to};

use crate::world::{DELAY, begin, is_connected, scene, session, with_id};

/// Checks that each side reads what the other writes.
#[track_caller]
fn exchange(pair: &mut DatagramPair, context: &str) {
    for message in [PathMessage::Challenge, PathMessage::Response, PathMessage::Drop] {
        let (message, now) = (message([9; 8]), pair.now());
        let mut datagram = Vec::new();
        pair.client.write_path_message(message, &mut datagram).expect(context);
        let length = pair.client.datagram_len(PathMessage::LEN);
        assert_eq!(datagram.len(), length, "{context}");
        let read = pair.server.read(now, &mut datagram).expect(context);
        assert!(matches!(read.event, ReadEvent::Path(it) if it == message), "{context}");
        datagram.clear();
        pair.server.write_path_message(message, &mut datagram).expect(context);
        let read = pair.client.read(now, &mut datagram).expect(context);
        assert!(matches!(read.event, ReadEvent::Path(it) if it == message), "{context}");
    }
}

#[test]
fn both_sides_check_paths_in_all_modes_and_after_an_idle_time() {
    for mode in Mode::ALL {
        let scene = scene(mode);
        let destination = to(mode.resumes().then(|| session(&scene)).flatten());
        let options = [with_id(b""), with_id(b"server")];
        let mut pair = begin(&scene, destination, options, lossless(DELAY));
        let early = pair.client.write_path_message(PathMessage::Drop([0; 8]), &mut Vec::new());
        assert!(early.is_err(), "{mode:?}: before they are agreed");
        pair.run();
        exchange(&mut pair, &format!("{mode:?}"));
        pair.pass(Duration::from_secs(300));
        let now = pair.now();
        pair.server = pair.server.take_idle(now).expect("idle").wake();
        exchange(&mut pair, &format!("{mode:?}, after an idle time"));
    }
}

#[test]
fn an_answer_to_a_challenge_is_awaited_for_a_few_seconds_whatever_was_lost_before() {
    let slow = AssociationOptions { first_timeout: Duration::from_secs(60), ..with_id(b"server") };
    let pair = begin(&scene(Mode::Full), to(None), [with_id(b"client"), slow], lossless(DELAY));
    assert_eq!(pair.client.path_timeout(), Duration::from_secs(2));
    assert_eq!(pair.server.path_timeout(), Duration::from_secs(6));
}

#[test]
fn without_connection_ids_or_if_one_side_wants_none_there_are_no_checks() {
    let none = AssociationOptions { connection_id: None, ..AssociationOptions::default() };
    let unchecked = || AssociationOptions { checks_paths: false, ..with_id(b"") };
    for options in [
        [with_id(b"client"), none.clone()],
        [none, with_id(b"server")],
        [unchecked(), with_id(b"server")],
        [with_id(b"client"), unchecked()],
    ] {
        let mut pair = begin(&scene(Mode::Full), to(None), options, lossless(DELAY));
        pair.run();
        is_connected(&mut pair, "one side has none");
        assert!(!pair.client.can_check_paths() && !pair.server.can_check_paths());
        let written = pair.client.write_path_message(PathMessage::Drop([0; 8]), &mut Vec::new());
        assert!(matches!(written, Err(Error::Misuse(_))), "{written:?}");
    }
}

/// Returns a pair whose client has no connection IDs, and sends these extensions by hand.
fn by_hand(ids: Option<&[u8]>, rrc: &[u8]) -> DatagramPair {
    let extension = |typ, contents: &[u8]| OpaqueExtension { typ, contents: contents.to_vec() };
    let mut extensions = vec![extension(ExtensionType::RRC, rrc)];
    extensions.extend(ids.map(|ids| extension(ExtensionType::CONNECTION_ID, ids)));
    let none = AssociationOptions { connection_id: None, ..AssociationOptions::default() };
    let destination = Destination { extensions, ..to(None) };
    begin(&scene(Mode::Full), destination, [none, with_id(b"")], lossless(DELAY))
}

#[test]
fn a_server_offers_no_checks_to_a_client_without_connection_ids() {
    let mut pair = by_hand(None, b"");
    pair.run();
    is_connected(&mut pair, "rrc alone");
    assert!(pair.client.facts().peer_extensions.is_empty());
}

#[test]
fn an_rrc_extension_with_content_is_refused() {
    let mut pair = by_hand(Some(&[0]), b"x");
    pair.run();
    let decode_error = AlertDescription::DECODE_ERROR;
    assert_eq!(pair.to_server.error.as_ref().and_then(Error::alert), Some(decode_error));
}

#[test]
fn a_path_message_that_was_not_agreed_ends_the_association() {
    let mut pair = by_hand(Some(&[0]), b"");
    pair.run();
    assert!(pair.server.can_check_paths() && !pair.client.can_check_paths());
    let mut datagram = Vec::new();
    pair.server.write_path_message(PathMessage::Challenge([0; 8]), &mut datagram).expect("agreed");
    let now = pair.now();
    let read = pair.client.read(now, &mut datagram);
    let unexpected = AlertDescription::UNEXPECTED_MESSAGE;
    assert_eq!(read.err().and_then(|error| error.alert()), Some(unexpected));
}
