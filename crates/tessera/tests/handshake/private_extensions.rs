//! The extensions of forward-secret 0-RTT have types from the range for private use (RFC 8446 §11): without
//! the feature, such an extension may be another party's, and is ignored.

use std::sync::Arc;

use tessera::Error;
use tessera::wire::{AlertDescription, ContentType, ExtensionType, HandshakeType};
use tessera_harness::{Hello, Journal, Mode, Pair, Scene, at, message, plain, records, vec16};
use tessera_null_provider::provider;

const EARLY: ExtensionType = ExtensionType::FORWARD_SECRET_EARLY_DATA;
const RECEIPTS: ExtensionType = ExtensionType::FORWARD_SECRET_RECEIPTS;
const RECORDS: ExtensionType = ExtensionType::EARLY_RECORDS;

/// Contents that are no list of code points or handles.
const STRANGE: [&[u8]; 4] = [b"", b"\0\0", b"an owner's own", &[0xff; 300]];

/// A server that received this scene's ClientHello with an extension of this type and contents.
fn after(scene: &Scene, typ: ExtensionType, contents: &[u8]) -> Pair {
    let mut pair = scene.start(None, at(0));
    let mut hello = Hello::read(&records(&pair.intercept_client())[0][5..]);
    hello.set(typ, contents);
    pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
    pair
}

fn alert(pair: &Pair) -> Option<AlertDescription> {
    pair.to_server.error.as_ref().and_then(Error::alert)
}

#[test]
fn a_server_without_the_feature_ignores_its_extensions() {
    for contents in STRANGE {
        for typ in [EARLY, RECEIPTS, RECORDS] {
            let pair = after(&Scene::new(provider(), Mode::Full), typ, contents);
            assert_eq!(alert(&pair), None, "{typ:?} {contents:?}");
            assert!(pair.server.facts().group.is_some(), "ServerHello is sent");
        }
    }
}

#[test]
fn a_server_with_the_feature_refuses_what_it_can_not_read() {
    let decode_error = Some(AlertDescription::DECODE_ERROR);
    let mut scene = Scene::new(provider(), Mode::FsDhe);
    for contents in STRANGE {
        assert_eq!(alert(&after(&scene, EARLY, contents)), decode_error, "{contents:?}");
        // Receipts are another feature, and records of early data are counted over datagrams alone.
        assert_eq!(alert(&after(&scene, RECORDS, contents)), None, "{contents:?}");
        assert_eq!(alert(&after(&scene, RECEIPTS, contents)), None, "{contents:?}");
    }
    let guard = scene.server.policy.early_data.forward_secret.as_mut();
    let guard = guard.expect("it has the feature");
    guard.receipts = Some(Arc::new(Journal::new(scene.vault.clone())));
    for contents in STRANGE {
        assert_eq!(alert(&after(&scene, RECEIPTS, contents)), decode_error, "{contents:?}");
    }
}

/// RFC 8446 §4.6.1: clients ignore unrecognized extensions of a ticket.
#[test]
fn a_client_reads_the_companion_of_a_ticket_only_with_the_feature() {
    for (mode, expected) in
        [(Mode::PskDhe, None), (Mode::FsDhe, Some(AlertDescription::DECODE_ERROR))]
    {
        for contents in STRANGE {
            let mut scene = Scene::new(provider(), mode);
            scene.server.tickets = None;
            let mut pair = scene.start(None, at(0));
            pair.run();
            let extension = [&EARLY.0.to_be_bytes()[..], &vec16(contents)].concat();
            let head = [0, 0, 14, 16, 0, 0, 0, 0, 1, 0];
            let body = [&head[..], &vec16(b"sealed"), &vec16(&extension)].concat();
            let mut sealer = scene.server_sealers().pop().expect("the secret of the server's data");
            let ticket = message(HandshakeType::NEW_SESSION_TICKET, &body);
            pair.deliver_to_client(&sealer.seal(ContentType::HANDSHAKE, &ticket));
            let alert = pair.to_client.error.as_ref().and_then(Error::alert);
            assert_eq!(alert, expected, "{mode:?} {contents:?}");
            assert_eq!(pair.to_client.sessions.len(), usize::from(expected.is_none()));
        }
    }
}
