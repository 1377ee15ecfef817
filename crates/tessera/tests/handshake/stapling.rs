//! What comes with a certificate, from either side: OCSP responses and signed certificate timestamps
//! (RFC 8446 §4.4.2.1). They are sent on request, read strictly, and passed to the verifier.

use std::sync::{Arc, Mutex};

use tessera::Error;
use tessera::auth::{
    Credential, PeerAcceptance, PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer,
};
use tessera::handshake::{ClientAuthentication, Reply};
use tessera::wire::{
    AlertDescription, ContentType, EntryExtensions, ExtensionType, HandshakeType, SignatureScheme,
};
use tessera_harness::{
    Hello, Mode, ReceivedData, Scene, credential, message, plain, records, rewrite, vec16,
};
use tessera_null_provider::NullVerifier;

/// What arrived: the OCSP response and the SCTs.
type StapledData = (Option<Vec<u8>>, Option<Vec<u8>>);

/// Asks for some of it, and records what arrives.
#[derive(Default)]
struct StapleVerifier {
    entry_extensions: EntryExtensions,
    seen: Mutex<Vec<StapledData>>,
}

impl StapleVerifier {
    fn seen(&self) -> Option<StapledData> {
        self.seen.lock().expect("unpoisoned").pop()
    }
}

impl PeerVerifier for StapleVerifier {
    fn schemes(&self) -> &[SignatureScheme] {
        NullVerifier.schemes()
    }

    fn entry_extensions(&self) -> EntryExtensions {
        self.entry_extensions
    }

    fn policy(&self) -> VerifierPolicy {
        NullVerifier.policy()
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        let stapled = (question.ocsp_response.clone(), question.sct_list.clone());
        self.seen.lock().expect("unpoisoned").push(stapled);
        NullVerifier.verify(question)
    }
}

const OCSP: &[u8] = b"an OCSP response";
const SCTS: &[u8] = &[0, 7, 0, 1, 7, 0, 2, 8, 8];

fn stapled() -> Credential {
    Credential {
        chain: vec![vec![0x30; 300], vec![0x31; 200]],
        ocsp_response: Some(OCSP.to_vec()),
        sct_list: Some(SCTS.to_vec()),
        ..credential()
    }
}

/// Both sides have the credential, and ask.
struct World {
    scene: Scene,
    client: Arc<StapleVerifier>,
    server: Arc<StapleVerifier>,
}

fn world(credential: Credential, status_request: bool, sct: bool) -> World {
    let asking = || {
        let entry_extensions =
            EntryExtensions { status_request, signed_certificate_timestamp: sct };
        Arc::new(StapleVerifier { entry_extensions, seen: Mutex::default() })
    };
    let (client, server) = (asking(), asking());
    let mut scene = Scene::new(tessera_null_provider::provider(), Mode::Mutual);
    scene.client.verifier = client.clone();
    scene.client.credentials = vec![credential.clone()];
    scene.server.credentials = vec![credential];
    scene.server.client_authentication = ClientAuthentication::Required(server.clone());
    World { scene, client, server }
}

/// What client and server see of each other's.
fn seen(credential: Credential, status_request: bool, sct: bool) -> [StapledData; 2] {
    let world = world(credential, status_request, sct);
    let mut pair = world.scene.pair();
    pair.run();
    assert!(pair.to_client.complete && pair.to_server.complete, "{:?}", pair.to_client.error);
    [world.client, world.server].map(|asking| asking.seen().expect("a peer was judged"))
}

#[test]
fn a_client_gets_the_staples_that_it_asks_for() {
    let (ocsp, scts) = (Some(OCSP.to_vec()), Some(SCTS.to_vec()));
    for (status_request, sct, expected) in [
        (true, true, (ocsp.clone(), scts.clone())),
        (true, false, (ocsp.clone(), None)),
        (false, true, (None, scts.clone())),
        (false, false, (None, None)),
    ] {
        assert_eq!(seen(stapled(), status_request, sct), [expected.clone(), expected]);
    }
    // A side without staples sends none.
    assert_eq!(seen(credential(), true, true), [(None, None), (None, None)]);
}

#[test]
fn the_longest_staples_are_sent() {
    let most = 65_523;
    for (ocsp, sct) in [(Some(most), None), (None, Some(most)), (Some(most - 500), Some(500))] {
        let long = Credential {
            ocsp_response: ocsp.map(|len| vec![8; len]),
            sct_list: sct.map(|len| vec16(&vec16(&vec![9; len - 4]))),
            chain: vec![vec![0x30; 100]],
            ..credential()
        };
        let expected = (long.ocsp_response.clone(), long.sct_list.clone());
        assert_eq!(seen(long, true, true), [expected.clone(), expected]);
    }
}

#[test]
fn a_client_asks_for_no_staples_by_default() {
    let scene = Scene::new(tessera_null_provider::provider(), Mode::Full);
    let flight = scene.pair().intercept_client();
    let hello = Hello::read(&records(&flight)[0][5..]);
    for typ in [
        ExtensionType::STATUS_REQUEST,
        ExtensionType::SIGNED_CERTIFICATE_TIMESTAMP,
        ExtensionType::COMPRESS_CERTIFICATE,
    ] {
        assert_eq!(hello.extension(typ), None);
    }
}

fn alert(received: &ReceivedData) -> Option<AlertDescription> {
    received.error.as_ref().and_then(Error::alert)
}

/// A Certificate whose entries have these extension blocks, each without its length.
fn certificate(entries: &[&[u8]]) -> Vec<u8> {
    let mut list = Vec::new();
    for extensions in entries {
        list.extend([0, 0, 4, 0x30, 1, 1, 1]);
        list.extend(vec16(extensions));
    }
    let body = [&[0, 0][..], &vec16(&list)].concat();
    message(HandshakeType::CERTIFICATE, &body)
}

/// An extension.
fn extension(typ: ExtensionType, body: &[u8]) -> Vec<u8> {
    [&typ.0.to_be_bytes()[..], &vec16(body)].concat()
}

fn ocsp(body: &[u8]) -> Vec<u8> {
    extension(ExtensionType::STATUS_REQUEST, body)
}

fn scts(body: &[u8]) -> Vec<u8> {
    extension(ExtensionType::SIGNED_CERTIFICATE_TIMESTAMP, body)
}

/// The alerts of client and server after such a Certificate, and what their verifiers saw.
fn received(
    world: &World,
    entries: &[&[u8]],
) -> [(Option<AlertDescription>, Option<StapledData>); 2] {
    let forged = certificate(entries);
    let edit = |message: &mut Vec<u8>| {
        if message[0] == HandshakeType::CERTIFICATE.0 {
            *message = forged.clone();
        }
    };
    let mut pair = world.scene.pair();
    pair.client_to_server();
    let flight = pair.intercept_server();
    pair.deliver_to_client(&rewrite(&flight, || world.scene.server_sealers(), edit));
    let client = (alert(&pair.to_client), world.client.seen());

    let mut pair = world.scene.pair();
    pair.client_to_server();
    pair.server_to_client();
    let flight = pair.intercept_client();
    pair.deliver_to_server(&rewrite(&flight, || world.scene.client_sealers(), edit));
    let server = (alert(&pair.to_server), world.server.seen());
    // The client judged the server's before its own was replaced.
    world.client.seen();
    [client, server]
}

#[track_caller]
fn refused(world: &World, entries: &[&[u8]], expected: AlertDescription) {
    let refused = (Some(expected), None);
    assert_eq!(received(world, entries), [refused.clone(), refused]);
}

#[track_caller]
fn passed(world: &World, entries: &[&[u8]], ocsp: Option<&[u8]>, scts: Option<&[u8]>) {
    let stapled = (ocsp.map(<[u8]>::to_vec), scts.map(<[u8]>::to_vec));
    // Read and judged; only Finished shows that it is not what the peer sent.
    let expected = (Some(AlertDescription::DECRYPT_ERROR), Some(stapled));
    assert_eq!(received(world, entries), [expected.clone(), expected]);
}

#[test]
fn staples_that_were_not_asked_for_are_refused() {
    let (some, list) = (ocsp(&[1, 0, 0, 1, 7]), scts(&[0, 3, 0, 1, 7]));
    let unsupported = AlertDescription::UNSUPPORTED_EXTENSION;
    let nothing = world(stapled(), false, false);
    refused(&nothing, &[&some], unsupported);
    refused(&nothing, &[&list], unsupported);
    let only_ocsp = world(stapled(), true, false);
    passed(&only_ocsp, &[&some], Some(&[7]), None);
    refused(&only_ocsp, &[&list], unsupported);
    let only_scts = world(stapled(), false, true);
    passed(&only_scts, &[&list], None, Some(&[0, 3, 0, 1, 7]));
    refused(&only_scts, &[&some], unsupported);
    // Nor in an entry that isn't the first, nor any other extension.
    refused(&only_scts, &[&[], &some], unsupported);
    for typ in [ExtensionType::SERVER_NAME, ExtensionType(0x1234)] {
        refused(&world(stapled(), true, true), &[&extension(typ, &[])], unsupported);
    }
}

#[test]
fn a_staple_that_comes_twice_is_refused() {
    let world = world(stapled(), true, true);
    let (some, list) = (ocsp(&[1, 0, 0, 1, 7]), scts(&[0, 3, 0, 1, 7]));
    for twice in [[&some[..], &some].concat(), [&list[..], &some, &list].concat()] {
        refused(&world, &[&twice], AlertDescription::ILLEGAL_PARAMETER);
        refused(&world, &[&[], &twice], AlertDescription::ILLEGAL_PARAMETER);
    }
}

#[test]
fn malformed_staples_are_refused() {
    let world = world(stapled(), true, true);
    let statuses: [&[u8]; 9] = [
        &[],
        &[1],
        &[1, 0, 0],
        // Empty.
        &[1, 0, 0, 0],
        &[1, 0, 0, 2, 7],
        &[1, 0, 0, 1, 7, 7],
        // Not ocsp; ocsp_multi is not part of TLS 1.3.
        &[0, 0, 0, 1, 7],
        &[2, 0, 0, 1, 7],
        &[1, 0xff, 0xff, 0xff, 7],
    ];
    for status in statuses {
        refused(&world, &[&ocsp(status)], AlertDescription::DECODE_ERROR);
        refused(&world, &[&[], &ocsp(status)], AlertDescription::DECODE_ERROR);
    }
    let lists: [&[u8]; 10] = [
        &[],
        &[0],
        // Empty list; empty SCT, first and last.
        &[0, 0],
        &[0, 2, 0, 0],
        &[0, 5, 0, 0, 0, 1, 7],
        &[0, 5, 0, 1, 7, 0, 0],
        &[0, 3, 0, 2, 7],
        &[0, 4, 0, 1, 7],
        &[0, 3, 0, 1, 7, 7],
        &[0, 1, 0],
    ];
    for list in lists {
        refused(&world, &[&scts(list)], AlertDescription::DECODE_ERROR);
        refused(&world, &[&[], &scts(list)], AlertDescription::DECODE_ERROR);
    }
}

#[test]
fn only_the_end_entitys_staples_are_passed_on() {
    let world = world(stapled(), true, true);
    let (some, list) = (ocsp(&[1, 0, 0, 1, 7]), scts(&[0, 3, 0, 1, 7]));
    let both = [&list[..], &some].concat();
    passed(&world, &[&both, &both], Some(&[7]), Some(&[0, 3, 0, 1, 7]));
    passed(&world, &[&some, &list], Some(&[7]), None);
    passed(&world, &[&[], &both], None, None);
}

/// A server's alert after a hello with this extension, and whether it staples.
fn after_hello(typ: ExtensionType, body: &[u8]) -> (Option<AlertDescription>, bool) {
    let scene = world(stapled(), false, false).scene;
    let mut pair = scene.pair();
    let flight = pair.intercept_client();
    let mut hello = Hello::read(&records(&flight)[0][5..]);
    hello.set(typ, body);
    pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
    let flight = pair.intercept_server();
    let mut stapled = false;
    rewrite(
        &flight,
        || scene.server_sealers(),
        |message| stapled |= message.windows(OCSP.len()).any(|window| window == OCSP),
    );
    (alert(&pair.to_server), stapled)
}

#[test]
fn malformed_requests_of_a_client_for_staples_are_refused() {
    let decode = (Some(AlertDescription::DECODE_ERROR), false);
    let cases: [(&[u8], _); 10] = [
        (&[1, 0, 0, 0, 0], (None, true)),
        // A responder and request extensions.
        (&[1, 0, 3, 0, 1, 7, 0, 2, 9, 9], (None, true)),
        // Another type of status.
        (&[2, 7], (None, false)),
        (&[], decode),
        (&[1], decode),
        (&[1, 0, 0, 0], decode),
        (&[1, 0, 0, 0, 0, 0], decode),
        (&[1, 0, 2, 0, 0, 0, 0], decode),
        (&[1, 0, 1, 0, 0, 0], decode),
        (&[1, 0, 0, 0, 1], decode),
    ];
    for (body, expected) in cases {
        assert_eq!(after_hello(ExtensionType::STATUS_REQUEST, body), expected, "{body:?}");
    }
    let scts = ExtensionType::SIGNED_CERTIFICATE_TIMESTAMP;
    assert_eq!(after_hello(scts, &[]), (None, false));
    assert_eq!(after_hello(scts, &[0]), decode);
}

#[test]
fn requests_of_a_server_for_staples_that_are_not_empty_are_refused() {
    for typ in [ExtensionType::STATUS_REQUEST, ExtensionType::SIGNED_CERTIFICATE_TIMESTAMP] {
        for (body, expected) in [
            // Finished shows that it was forged.
            (&[][..], AlertDescription::DECRYPT_ERROR),
            (&[0], AlertDescription::DECODE_ERROR),
            (&[1, 0, 0, 0, 0], AlertDescription::DECODE_ERROR),
        ] {
            let world = world(stapled(), false, false);
            let mut pair = world.scene.pair();
            pair.client_to_server();
            let flight = pair.intercept_server();
            let edit = |request: &mut Vec<u8>| {
                if request[0] == HandshakeType::CERTIFICATE_REQUEST.0 {
                    let schemes = [0, 13, 0, 4, 0, 2, 4, 3];
                    let asked = vec16(&[&schemes[..], &extension(typ, body)].concat());
                    let body = [&[0][..], &asked].concat();
                    *request = message(HandshakeType::CERTIFICATE_REQUEST, &body);
                }
            };
            pair.deliver_to_client(&rewrite(&flight, || world.scene.server_sealers(), edit));
            assert_eq!(alert(&pair.to_client), Some(expected), "{typ:?} {body:?}");
        }
    }
}

#[test]
fn staples_in_encrypted_extensions_are_refused() {
    for (asks, expected) in [
        (true, AlertDescription::ILLEGAL_PARAMETER),
        (false, AlertDescription::UNSUPPORTED_EXTENSION),
    ] {
        let world = world(stapled(), asks, asks);
        for typ in [ExtensionType::STATUS_REQUEST, ExtensionType::SIGNED_CERTIFICATE_TIMESTAMP] {
            let mut pair = world.scene.pair();
            pair.client_to_server();
            let flight = pair.intercept_server();
            let edit = |message: &mut Vec<u8>| {
                if message[0] == HandshakeType::ENCRYPTED_EXTENSIONS.0 {
                    let body = vec16(&extension(typ, &[]));
                    *message = tessera_harness::message(HandshakeType::ENCRYPTED_EXTENSIONS, &body);
                }
            };
            pair.deliver_to_client(&rewrite(&flight, || world.scene.server_sealers(), edit));
            assert_eq!(alert(&pair.to_client), Some(expected));
        }
    }
}

#[test]
fn credentials_with_staples_that_can_not_be_sent_are_refused() {
    let ocsp = |len| Credential { ocsp_response: Some(vec![1; len]), ..credential() };
    let scts = |list: &[u8]| Credential { sct_list: Some(list.to_vec()), ..credential() };
    let both = Credential { ocsp_response: Some(vec![1; 65_515]), ..stapled() };
    for credential in [
        both,
        ocsp(0),
        ocsp(65_524),
        scts(&[]),
        scts(&[0, 0]),
        scts(&[0, 2, 0, 0]),
        scts(&[0, 3, 0, 1]),
    ] {
        let scene = world(credential, false, false).scene;
        assert!(matches!(scene.client.checked().err(), Some(Error::Configuration(_))));
        assert!(matches!(scene.server.checked().err(), Some(Error::Configuration(_))));
    }
}
