//! Malformed questions for receipts, malformed answers, and answers before the server's Finished.

use tessera::Error;
use tessera::resume::FlightHandle;
use tessera::wire::{AlertDescription, ContentType, ExtensionType, HandshakeType};
use tessera_harness::{Hello, Mode, at, message, plain, records, rewrite, vec16};

use super::suites::receipts::{asking, is_accepted, scene};

#[test]
fn a_question_with_a_wrong_binder_burns_nothing() {
    let (scene, _) = scene(Mode::FsDhe);
    let other = scene.session().expect("a session");
    let flight = other.forward_secret.as_ref().expect("a ticket").handle;
    let mut asked = asking(&scene, &[flight]);
    let mut hello = Hello::read(&records(&asked.intercept_client())[0][5..]);
    hello.binders()[0][0] ^= 1;
    let mut refused = scene.start(None, at(0));
    refused.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
    let alert = refused.to_server.error.as_ref().and_then(Error::alert);
    assert_eq!(alert, Some(AlertDescription::DECRYPT_ERROR));
    is_accepted(&scene, other);
}

/// The server isn't authenticated before its Finished.
#[test]
fn a_receipt_is_nothing_before_the_servers_finished() {
    let (scene, _) = scene(Mode::FsDhe);
    let flight = FlightHandle([7; 32]);
    let mut pair = asking(&scene, &[flight]);
    pair.client_to_server();
    let flight = pair.intercept_server();
    let last = records(&flight).pop().expect("a Finished").len();
    pair.deliver_to_client(&flight[..flight.len() - last]);
    assert_eq!(pair.to_client.error, None);
    assert_eq!(pair.client.facts().receipts, []);
    pair.deliver_to_client(&flight[flight.len() - last..]);
    assert_eq!(pair.client.facts().receipts.len(), 1);
}

#[test]
fn a_malformed_list_of_flight_handles_is_refused() {
    let (scene, _) = scene(Mode::FsDhe);
    let flight = asking(&scene, &[FlightHandle([7; 32])]).intercept_client();
    let hello = Hello::read(&records(&flight)[0][5..]);
    for body in [vec![], vec16(&[]), vec16(&[7; 31]), vec16(&[7; 33]), vec16(&[7; 9 * 32])] {
        let mut hello = hello.clone();
        hello.set(ExtensionType::FORWARD_SECRET_RECEIPTS, &body);
        let mut pair = scene.start(None, at(0));
        pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
        let alert = pair.to_server.error.as_ref().and_then(Error::alert);
        assert_eq!(alert, Some(AlertDescription::DECODE_ERROR));
    }
}

/// One byte for each flight, or no answer at all; and nothing unasked.
#[test]
fn a_malformed_or_unasked_list_of_receipts_is_refused() {
    let (scene, _) = scene(Mode::FsDhe);
    for (asked, receipts, expected) in [
        // The answer is accepted; only the server's Finished, which covers another one, is wrong now.
        (2, &[0, 9][..], AlertDescription::DECRYPT_ERROR),
        (2, &[], AlertDescription::DECODE_ERROR),
        (2, &[1], AlertDescription::ILLEGAL_PARAMETER),
        (2, &[1, 1, 1], AlertDescription::ILLEGAL_PARAMETER),
        (0, &[1], AlertDescription::UNSUPPORTED_EXTENSION),
    ] {
        let flights: Vec<_> = (0..asked).map(|number| FlightHandle([number; 32])).collect();
        let mut pair = asking(&scene, &flights);
        pair.client_to_server();
        let flight = pair.intercept_server();
        let forged = rewrite(
            &flight,
            || scene.server_sealers(),
            |piece| {
                if piece[0] == HandshakeType::ENCRYPTED_EXTENSIONS.0 {
                    let typ = ExtensionType::FORWARD_SECRET_RECEIPTS.0.to_be_bytes();
                    let list = [&[receipts.len() as u8], receipts].concat();
                    let extension = [&typ[..], &vec16(&list)].concat();
                    *piece = message(HandshakeType::ENCRYPTED_EXTENSIONS, &vec16(&extension));
                }
            },
        );
        pair.deliver_to_client(&forged);
        let alert = pair.to_client.error.as_ref().and_then(Error::alert);
        assert_eq!(alert, Some(expected), "{asked} {receipts:?}");
        assert_eq!(pair.client.facts().receipts, [], "nothing of it is believed");
    }
}
