//! The choice of certificates on the wire, and its malformed messages.

use std::sync::Arc;

use tessera::Error;
use tessera::auth::PeerVerifier;
use tessera::wire::{AlertDescription, ContentType, ExtensionType, HandshakeType};
use tessera_harness::{
    Hello, Mode, Pair, ReceivedData, Scene, message, plain, records, rewrite, vec16,
};
use tessera_null_provider::NullVerifier;

use super::suites::certificate_choice::{ChoosyVerifier, NEW, OLD};

/// The scene's first flight with this verifier.
fn hello(choosy: ChoosyVerifier) -> Hello {
    let mut scene = Scene::new(tessera_null_provider::provider(), Mode::Full);
    scene.client.verifier = Arc::new(choosy);
    Hello::read(&records(&scene.pair().intercept_client())[0][5..])
}

#[test]
fn a_client_sends_chain_schemes_and_authorities_only_if_they_add_information() {
    let silent = hello(ChoosyVerifier::default());
    assert_eq!(silent.extension(ExtensionType::SIGNATURE_ALGORITHMS_CERT), None);
    assert_eq!(silent.extension(ExtensionType::CERTIFICATE_AUTHORITIES), None);
    // The same policy is sent once.
    let same = ChoosyVerifier {
        chain_schemes: NullVerifier.schemes().to_vec(),
        ..ChoosyVerifier::default()
    };
    assert_eq!(hello(same).extension(ExtensionType::SIGNATURE_ALGORITHMS_CERT), None);

    let all = hello(ChoosyVerifier {
        chain_schemes: vec![NEW, OLD],
        authorities: vec![b"one".to_vec(), b"three".to_vec()],
    });
    let schemes = all.extension(ExtensionType::SIGNATURE_ALGORITHMS_CERT);
    assert_eq!(schemes, Some(&vec![0, 4, 4, 3, 4, 1]));
    let names = vec16(&[vec16(b"one"), vec16(b"three")].concat());
    assert_eq!(all.extension(ExtensionType::CERTIFICATE_AUTHORITIES), Some(&names));
}

fn alert(received: &ReceivedData) -> Option<AlertDescription> {
    received.error.as_ref().and_then(Error::alert)
}

const MALFORMED: [(ExtensionType, &[u8]); 6] = [
    (ExtensionType::CERTIFICATE_AUTHORITIES, &[0, 0]),
    (ExtensionType::CERTIFICATE_AUTHORITIES, &[0, 2, 0, 0]),
    (ExtensionType::CERTIFICATE_AUTHORITIES, &[0, 3, 0, 2, 1]),
    (ExtensionType::CERTIFICATE_AUTHORITIES, &[0, 3, 0, 1, 1, 9]),
    (ExtensionType::SIGNATURE_ALGORITHMS_CERT, &[0, 0]),
    (ExtensionType::SIGNATURE_ALGORITHMS_CERT, &[0, 2, 4, 3, 9]),
];

#[test]
fn malformed_certificate_criteria_in_a_client_hello_are_refused() {
    for (typ, body) in MALFORMED {
        let mut pair = Scene::new(tessera_null_provider::provider(), Mode::Full).pair();
        let mut hello = Hello::read(&records(&pair.intercept_client())[0][5..]);
        hello.set(typ, body);
        let bytes = plain(ContentType::HANDSHAKE, &hello.write());
        pair.deliver_to_server(&bytes);
        assert_eq!(
            alert(&pair.to_server),
            Some(AlertDescription::DECODE_ERROR),
            "{typ:?} {body:?}"
        );
    }
}

/// A client that receives a CertificateRequest with this extension added.
fn asked_with(typ: ExtensionType, body: &[u8]) -> Pair {
    let scene = Scene::new(tessera_null_provider::provider(), Mode::Mutual);
    let mut pair = scene.pair();
    pair.client_to_server();
    let flight = pair.intercept_server();
    let rewritten = rewrite(
        &flight,
        || scene.server_sealers(),
        |piece| {
            if piece[0] == HandshakeType::CERTIFICATE_REQUEST.0 {
                let extension = [&typ.0.to_be_bytes()[..], &vec16(body)].concat();
                let extensions = [&piece[7..], &extension].concat();
                let body = [&[0], &vec16(&extensions)[..]].concat();
                *piece = message(HandshakeType::CERTIFICATE_REQUEST, &body);
            }
        },
    );
    pair.deliver_to_client(&rewritten);
    pair
}

#[test]
fn malformed_certificate_criteria_in_a_certificate_request_are_refused() {
    for (typ, body) in MALFORMED {
        let pair = asked_with(typ, body);
        assert_eq!(
            alert(&pair.to_client),
            Some(AlertDescription::DECODE_ERROR),
            "{typ:?} {body:?}"
        );
    }
}

/// RFC 8446 §4.1.1: a server that can't serve a client sends an alert in place of a ServerHello.
#[test]
fn a_server_without_a_fitting_certificate_sends_an_alert_and_no_server_hello() {
    let scene = Scene::new(tessera_null_provider::provider(), Mode::Full);
    let mut pair = scene.pair();
    let mut hello = Hello::read(&records(&pair.intercept_client())[0][5..]);
    hello.set(ExtensionType::SIGNATURE_ALGORITHMS, &vec16(&OLD.0.to_be_bytes()));
    pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
    let fatal = [2, AlertDescription::HANDSHAKE_FAILURE.0];
    assert_eq!(pair.intercept_server(), plain(ContentType::ALERT, &fatal));
}
