//! The carrier paper: what a peer must not send, and the alert that it gets.

use tessera::Error;
use tessera::wire::{AlertDescription, ExtensionType, HandshakeType};
use tessera_harness::{Mode, Pair, rewrite, vec16};

use crate::{CACHED_INFO, Ends, TICKETS, alert, edit_hello};

const DECODE_ERROR: Option<AlertDescription> = Some(AlertDescription::DECODE_ERROR);
const DECRYPT_ERROR: Option<AlertDescription> = Some(AlertDescription::DECRYPT_ERROR);
const ILLEGAL: Option<AlertDescription> = Some(AlertDescription::ILLEGAL_PARAMETER);
const UNEXPECTED: Option<AlertDescription> = Some(AlertDescription::UNEXPECTED_MESSAGE);
const UNSUPPORTED: Option<AlertDescription> = Some(AlertDescription::UNSUPPORTED_EXTENSION);

/// Changes type and body of one message.
pub(crate) fn change(
    message: &mut Vec<u8>,
    typ: HandshakeType,
    edit: &impl Fn(&mut HandshakeType, &mut Vec<u8>),
) {
    if message[0] != typ.0 {
        return;
    }
    let (mut typ, mut body) = (typ, message[4..].to_vec());
    edit(&mut typ, &mut body);
    let [_, a, b, c] = (body.len() as u32).to_be_bytes();
    *message = [&[typ.0, a, b, c][..], &body].concat();
}

/// Returns the alert of a client after a change to the server's message.
pub(crate) fn of_server(
    ends: &Ends,
    typ: HandshakeType,
    edit: impl Fn(&mut HandshakeType, &mut Vec<u8>),
) -> Option<AlertDescription> {
    let mut pair = ends.start();
    edit_server(ends, &mut pair, typ, edit)
}

fn edit_server(
    ends: &Ends,
    pair: &mut Pair,
    typ: HandshakeType,
    edit: impl Fn(&mut HandshakeType, &mut Vec<u8>),
) -> Option<AlertDescription> {
    pair.client_to_server();
    let flight = pair.intercept_server();
    let sealers = || ends.scene.server_sealers();
    let edited = rewrite(&flight, sealers, |message| change(message, typ, &edit));
    pair.deliver_to_client(&edited);
    alert(&pair.to_client.error)
}

/// Returns how a server's connection ends after a change to the client's Certificate.
pub(crate) fn of_client(
    ends: &Ends,
    edit: impl Fn(&mut HandshakeType, &mut Vec<u8>),
) -> Option<Error> {
    let mut pair = ends.start();
    pair.client_to_server();
    pair.server_to_client();
    let flight = pair.intercept_client();
    let sealers = || ends.scene.client_sealers();
    let certificate = HandshakeType::CERTIFICATE;
    let edited = rewrite(&flight, sealers, |message| change(message, certificate, &edit));
    pair.deliver_to_server(&edited);
    pair.to_server.error.clone()
}

/// Adds an extension to EncryptedExtensions, or replaces it.
fn set(body: &mut Vec<u8>, typ: ExtensionType, contents: &[u8]) {
    let mut rest = &body[2..];
    let mut extensions = Vec::new();
    while let [a, b, c, d, ..] = *rest {
        let len = 4 + usize::from(u16::from_be_bytes([c, d]));
        if ExtensionType(u16::from_be_bytes([a, b])) != typ {
            extensions.extend_from_slice(&rest[..len]);
        }
        rest = &rest[len..];
    }
    extensions.extend_from_slice(&typ.0.to_be_bytes());
    extensions.extend_from_slice(&vec16(contents));
    *body = vec16(&extensions);
}

/// Makes the body of a full Certificate.
fn whole() -> Vec<u8> {
    let list = [&[0, 0, 3][..], b"der", &[0, 0]].concat();
    [&[0, 0, 0, list.len() as u8][..], &list].concat()
}

#[test]
fn a_servers_hash_that_was_not_offered_is_an_illegal_parameter() {
    for typ in [HandshakeType::CERTIFICATE, HandshakeType::CERTIFICATE_REQUEST] {
        for at in [1, 32] {
            let ends = Ends::known_on_paper();
            assert_eq!(of_server(&ends, typ, |_, body| body[at] ^= 1), ILLEGAL, "{typ:?}");
        }
    }
}

/// There are not as many staples as certificates in the chain.
#[test]
fn a_servers_chain_with_staples_of_another_is_refused_after_its_proof() {
    let ends = Ends::known_on_paper();
    let staples = [0, 5, 0, 5, 0, 1, 1];
    let edit = |_: &mut _, body: &mut Vec<u8>| body.extend_from_slice(&staples);
    assert_eq!(of_server(&ends, HandshakeType::CERTIFICATE, edit), DECRYPT_ERROR);
    assert_eq!(ends.client.metrics().wrong_hash, 1);
}

#[test]
fn a_clients_hash_of_another_chain_is_refused_after_its_proof() {
    for edit in [
        (|_, body| body[1] ^= 1) as fn(&mut HandshakeType, &mut Vec<u8>),
        |_, body| body[32] ^= 1,
        |_, body| body.extend_from_slice(&[0, 4, 0, 18, 0, 0]),
        |_, body| body.extend_from_slice(&[0, 4, 0, 18, 0, 0, 0, 0]),
    ] {
        let ends = Ends::known_on_paper();
        let error = of_client(&ends, edit);
        assert_eq!(alert(&error), DECRYPT_ERROR);
        let sentence = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(sentence.contains("doesn't match the chain that it named"), "{sentence}");
        // Nothing is dropped; the ticket that was presented is used up.
        assert_eq!(ends.server.metrics().entries, 1);
    }
}

#[test]
fn an_abbreviated_message_that_is_malformed_can_not_be_read() {
    for (what, edit) in [
        ("empty", (|_, body| body.clear()) as fn(&mut HandshakeType, &mut Vec<u8>)),
        ("no hash", |_, body| *body = vec![0]),
        ("a hash of 31 bytes", |_, body| {
            body[0] = 31;
            body.pop();
        }),
        ("a hash of 33 bytes", |_, body| {
            body[0] = 33;
            body.push(0);
        }),
        ("a byte after the hash", |_, body| body.push(0)),
        ("staples that are all empty", |_, body| body.extend_from_slice(&[0; 4])),
    ] {
        for typ in [HandshakeType::CERTIFICATE, HandshakeType::CERTIFICATE_REQUEST] {
            assert_eq!(of_server(&Ends::known_on_paper(), typ, edit), DECODE_ERROR, "{what}");
        }
        assert_eq!(alert(&of_client(&Ends::known_on_paper(), edit)), DECODE_ERROR, "{what}");
    }
}

#[test]
fn a_whole_message_after_its_selection_can_not_be_read() {
    let certificate = |_: &mut _, body: &mut Vec<u8>| *body = whole();
    let request = |_: &mut _, body: &mut Vec<u8>| *body = vec![0, 0, 8, 0, 13, 0, 4, 0, 2, 4, 3];
    let ends = Ends::known_on_paper;
    assert_eq!(of_server(&ends(), HandshakeType::CERTIFICATE, certificate), DECODE_ERROR);
    assert_eq!(of_server(&ends(), HandshakeType::CERTIFICATE_REQUEST, request), DECODE_ERROR);
    assert_eq!(alert(&of_client(&ends(), certificate)), DECODE_ERROR);
}

#[test]
fn a_compressed_certificate_after_a_selection_is_out_of_turn() {
    let compressed = |typ: &mut HandshakeType, body: &mut Vec<u8>| {
        *typ = HandshakeType::COMPRESSED_CERTIFICATE;
        *body = vec![0, 1, 0, 0, 9, 0, 0, 1, 7];
    };
    let ends = Ends::known_on_paper;
    assert_eq!(of_server(&ends(), HandshakeType::CERTIFICATE, compressed), UNEXPECTED);
    assert_eq!(alert(&of_client(&ends(), compressed)), UNEXPECTED);
}

#[test]
fn an_abbreviated_message_without_a_selection_can_not_be_read() {
    let abbreviated = |_: &mut _, body: &mut Vec<u8>| *body = [&[32][..], &[7; 32]].concat();
    let ends = || Ends::on_paper(Mode::Mutual);
    for typ in [HandshakeType::CERTIFICATE, HandshakeType::CERTIFICATE_REQUEST] {
        assert_eq!(of_server(&ends(), typ, abbreviated), DECODE_ERROR);
    }
    assert_eq!(alert(&of_client(&ends(), abbreviated)), DECODE_ERROR);
}

#[test]
fn a_server_selects_only_what_was_offered() {
    for (typ, answer, expected) in [
        (CACHED_INFO, &[][..], DECODE_ERROR),
        (CACHED_INFO, &[0, 0], DECODE_ERROR),
        (CACHED_INFO, &[0, 1, 1, 0], DECODE_ERROR),
        (CACHED_INFO, &[0, 1, 3], ILLEGAL),
        (CACHED_INFO, &[0, 2, 1, 1], ILLEGAL),
        (TICKETS, &[0], DECODE_ERROR),
        (TICKETS, &[0, 2, 1, 0], DECODE_ERROR),
        (TICKETS, &[0, 3, 1, 0, 0, 0], DECODE_ERROR),
        (TICKETS, &[0, 3, 1, 0, 1], ILLEGAL),
        (TICKETS, &[0, 3, 2, 0, 0], ILLEGAL),
    ] {
        let edit = |_: &mut _, body: &mut Vec<u8>| set(body, typ, answer);
        let alert = of_server(&Ends::known_on_paper(), HandshakeType::ENCRYPTED_EXTENSIONS, edit);
        assert_eq!(alert, expected, "{typ:?} {answer:?}");
    }
}

#[test]
fn an_answer_to_what_was_not_sent_is_unsupported() {
    let select = |_: &mut _, body: &mut Vec<u8>| set(body, CACHED_INFO, &[0, 1, 1]);
    let first = Ends::on_paper(Mode::Mutual);
    let typ = HandshakeType::ENCRYPTED_EXTENSIONS;
    assert_eq!(of_server(&first, typ, select), UNSUPPORTED);
    let answer = |_: &mut _, body: &mut Vec<u8>| set(body, TICKETS, &[]);
    assert_eq!(of_server(&Ends::new(Mode::Mutual), typ, answer), UNSUPPORTED);
}

#[test]
fn nothing_may_be_selected_on_paper_where_a_psk_is_used() {
    for (typ, answer) in
        [(CACHED_INFO, &[0, 1, 1][..]), (CACHED_INFO, &[0, 1, 2]), (TICKETS, &[0, 3, 1, 0, 0])]
    {
        let ends = Ends::on_paper(Mode::PskDhe);
        let session = ends.connect().to_client.sessions.pop();
        let mut pair = ends.scene.start(session, tessera_harness::at(0));
        let edit = |_: &mut _, body: &mut Vec<u8>| set(body, typ, answer);
        let message = HandshakeType::ENCRYPTED_EXTENSIONS;
        assert_eq!(edit_server(&ends, &mut pair, message, edit), ILLEGAL, "{typ:?}");
    }
}

#[test]
fn a_malformed_offer_on_paper_is_refused() {
    let ticket = [&[1, 8][..], &[7; 8]].concat();
    let hash = [&[1, 32][..], &[7; 32]].concat();
    for (typ, body, expected) in [
        (CACHED_INFO, Vec::new(), DECODE_ERROR),
        (CACHED_INFO, vec16(&[]), DECODE_ERROR),
        (CACHED_INFO, vec16(&[1, 0]), DECODE_ERROR),
        (CACHED_INFO, vec16(&[2, 1, 7]), DECODE_ERROR),
        (CACHED_INFO, vec16(&hash[..33]), DECODE_ERROR),
        (CACHED_INFO, [&vec16(&hash)[..], &[0]].concat(), DECODE_ERROR),
        (CACHED_INFO, vec16(&[9, 1, 7]), None),
        (CACHED_INFO, vec16(&hash), None),
        (TICKETS, vec16(&[]), DECODE_ERROR),
        (TICKETS, vec16(&ticket[..9]), DECODE_ERROR),
        (TICKETS, [&vec16(&ticket)[..], &[0]].concat(), DECODE_ERROR),
        (TICKETS, vec16(&ticket.repeat(2)), ILLEGAL),
        (TICKETS, vec16(&ticket), None),
    ] {
        let ends = Ends::on_paper(Mode::Mutual);
        let mut pair = ends.start();
        let flight = edit_hello(&pair.intercept_client(), |hello| hello.set(typ, &body));
        pair.deliver_to_server(&flight);
        assert_eq!(alert(&pair.to_server.error), expected, "{typ:?} {body:?}");
    }
}

#[test]
fn a_client_offers_nothing_after_a_hash_on_paper_that_came_to_nothing() {
    let ends = Ends::known_on_paper();
    let edit = |_: &mut _, body: &mut Vec<u8>| body.push(0);
    // The server's proof can't be parsed.
    assert_eq!(of_server(&ends, HandshakeType::CERTIFICATE_VERIFY, edit), DECODE_ERROR);
    let next = ends.start();
    assert_eq!(crate::in_hello(&next, CACHED_INFO), None);
    assert_eq!(crate::in_hello(&next, TICKETS), Some(Vec::new()));
    drop(next);
    ends.connect();
    assert!(crate::in_hello(&ends.start(), CACHED_INFO).is_some());
}
