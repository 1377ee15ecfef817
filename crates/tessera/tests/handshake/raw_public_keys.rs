//! Raw public keys (RFC 7250 in TLS 1.3: RFC 8446 §4.4.2), of either side.

use std::sync::{Arc, Mutex};

use tessera::Error;
use tessera::auth::{
    Credential, PeerAcceptance, PeerIdentity, PeerRejected, PeerVerifier, VerifierPolicy,
    VerifyPeer,
};
use tessera::handshake::{ClientAuthentication, Reply};
use tessera::wire::{
    AlertDescription, CertificateType, ContentType, ExtensionType, HandshakeType, SignatureScheme,
};
use tessera_harness::{
    Hello, Mode, Pair, ReceivedData, Scene, at, credential, message, messages, open_all, plain,
    records, rewrite, vec16,
};
use tessera_null_provider::NullVerifier;

const X509: CertificateType = CertificateType::X509;
const RAW: CertificateType = CertificateType::RAW_PUBLIC_KEY;
const UNKNOWN: CertificateType = CertificateType(5);

const CLIENT_TYPE: ExtensionType = ExtensionType::CLIENT_CERTIFICATE_TYPE;
const SERVER_TYPE: ExtensionType = ExtensionType::SERVER_CERTIFICATE_TYPE;

const UNSUPPORTED: Option<AlertDescription> = Some(AlertDescription::UNSUPPORTED_CERTIFICATE);
const ILLEGAL: Option<AlertDescription> = Some(AlertDescription::ILLEGAL_PARAMETER);

/// Accepts these types, and records what it was shown; the identity is its first byte.
struct RecordingVerifier {
    types: Vec<CertificateType>,
    shown: Mutex<Vec<(CertificateType, Vec<Vec<u8>>)>>,
}

fn taking(types: &[CertificateType]) -> Arc<RecordingVerifier> {
    Arc::new(RecordingVerifier { types: types.to_vec(), shown: Mutex::default() })
}

impl PeerVerifier for RecordingVerifier {
    fn schemes(&self) -> &[SignatureScheme] {
        NullVerifier.schemes()
    }

    fn certificate_types(&self) -> &[CertificateType] {
        &self.types
    }

    fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new("tests: everybody by the first byte")
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        let shown = (question.certificate_type, question.chain.clone());
        self.shown.lock().expect("no panic").push(shown);
        let identity = PeerIdentity { blob: question.chain[0].clone(), expires_at: None };
        Reply::Now(Ok(identity.into()))
    }
}

/// A credential of the type; raw keys and certificates differ in their first byte.
fn of(typ: CertificateType) -> Credential {
    let key = credential().key;
    match typ {
        RAW => Credential::raw_public_key(b"raw".to_vec(), key),
        _ => Credential::new(vec![b"leaf".to_vec(), b"issuer".to_vec()], key),
    }
}

/// What a server with credentials of these types, and a client that accepts those types, agree on.
fn server_authenticates(
    own: &[CertificateType],
    taken: &[CertificateType],
) -> (Scene, Arc<RecordingVerifier>) {
    let mut scene = Scene::new(tessera_null_provider::provider(), Mode::Full);
    let verifier = taking(taken);
    scene.client.verifier = verifier.clone();
    scene.server.credentials = own.iter().map(|typ| of(*typ)).collect();
    (scene, verifier)
}

/// The same for the client's certificate.
fn client_authenticates(
    own: &[CertificateType],
    taken: &[CertificateType],
) -> (Scene, Arc<RecordingVerifier>) {
    let mut scene = Scene::new(tessera_null_provider::provider(), Mode::Full);
    let verifier = taking(taken);
    scene.server.client_authentication = ClientAuthentication::Required(verifier.clone());
    scene.client.credentials = own.iter().map(|typ| of(*typ)).collect();
    (scene, verifier)
}

fn alert(received: &ReceivedData) -> Option<AlertDescription> {
    received.error.as_ref().and_then(Error::alert)
}

/// The types that were shown.
fn types(taking: &RecordingVerifier) -> Vec<CertificateType> {
    taking.shown.lock().expect("no panic").iter().map(|(typ, _)| *typ).collect()
}

fn hello(pair: &Pair) -> Hello {
    Hello::read(&records(&pair.client_sent)[0][5..])
}

/// The extensions of EncryptedExtensions.
fn encrypted_extensions(scene: &Scene, pair: &Pair) -> Vec<(u16, Vec<u8>)> {
    let opened = open_all(&pair.server_sent, &mut scene.server_sealers());
    let all = opened.into_iter().filter(|(_, typ, _)| *typ == ContentType::HANDSHAKE);
    let mut all = all.flat_map(|(_, _, content)| messages(&content));
    let message = all.find(|message| message[0] == HandshakeType::ENCRYPTED_EXTENSIONS.0);
    let message = message.expect("EncryptedExtensions");
    let mut rest = &message[6..];
    let mut extensions = Vec::new();
    while let [a, b, c, d, after @ ..] = rest {
        let (body, after) = after.split_at(usize::from(u16::from_be_bytes([*c, *d])));
        extensions.push((u16::from_be_bytes([*a, *b]), body.to_vec()));
        rest = after;
    }
    extensions
}

fn answer(scene: &Scene, pair: &Pair, typ: ExtensionType) -> Option<Vec<u8>> {
    let found = encrypted_extensions(scene, pair).into_iter().find(|(listed, _)| *listed == typ.0);
    found.map(|(_, body)| body)
}

/// The types in a ClientHello's format.
fn as_listed(types: &[CertificateType]) -> Vec<u8> {
    [&[types.len() as u8][..], &types.iter().map(|typ| typ.0).collect::<Vec<_>>()].concat()
}

/// The server prefers its first credential; the order of the client's list doesn't count.
#[test]
fn the_type_of_the_servers_key_is_negotiated() {
    let both = [X509, RAW];
    let turned = [RAW, X509];
    for (own, taken, chosen) in [
        (&[RAW][..], &[RAW][..], RAW),
        (&[RAW], &both, RAW),
        (&both, &[RAW], RAW),
        (&both, &both, X509),
        (&both, &turned, X509),
        (&turned, &both, RAW),
        (&turned, &[X509], X509),
        (&[X509], &turned, X509),
    ] {
        let (scene, verifier) = server_authenticates(own, taken);
        let mut pair = scene.pair();
        pair.run();
        assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None));
        assert_eq!(types(&verifier), [chosen], "{own:?}, {taken:?}");
        let shown = verifier.shown.lock().expect("no panic")[0].1.clone();
        assert_eq!(shown, of(chosen).chain);
        // X.509 alone is not negotiated.
        let list = Some(taken).filter(|list| *list != [X509]);
        assert_eq!(hello(&pair).extension(SERVER_TYPE).cloned(), list.map(as_listed));
        assert_eq!(hello(&pair).extension(CLIENT_TYPE), None);
        assert_eq!(answer(&scene, &pair, SERVER_TYPE), list.map(|_| vec![chosen.0]));
        assert_eq!(answer(&scene, &pair, CLIENT_TYPE), None);
    }
}

/// The server prefers the first type that its verifier lists.
#[test]
fn the_type_of_the_clients_key_is_negotiated() {
    let both = [X509, RAW];
    let turned = [RAW, X509];
    for (own, taken, chosen) in [
        (&[RAW][..], &[RAW][..], RAW),
        (&[RAW], &both, RAW),
        (&both, &[RAW], RAW),
        (&both, &both, X509),
        (&turned, &both, X509),
        (&both, &turned, RAW),
        (&both, &[X509], X509),
        (&[X509], &turned, X509),
    ] {
        let (scene, verifier) = client_authenticates(own, taken);
        let mut pair = scene.pair();
        pair.run();
        assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None));
        assert_eq!(types(&verifier), [chosen], "{own:?}, {taken:?}");
        let identity = pair.server.facts().peer.clone().expect("an identity");
        assert_eq!(identity.blob, of(chosen).chain[0]);
        let list = Some(own).filter(|list| *list != [X509]);
        assert_eq!(hello(&pair).extension(CLIENT_TYPE).cloned(), list.map(as_listed));
        assert_eq!(answer(&scene, &pair, CLIENT_TYPE), list.map(|_| vec![chosen.0]));
    }
}

/// A server that asks for no certificate doesn't state its type (RFC 7250 §4.2).
#[test]
fn a_server_that_asks_for_no_certificate_names_no_client_certificate_type() {
    let (mut scene, _) = client_authenticates(&[RAW], &[RAW]);
    scene.server.client_authentication = ClientAuthentication::None;
    let mut pair = scene.pair();
    pair.run();
    assert!(pair.to_client.complete);
    assert!(hello(&pair).extension(CLIENT_TYPE).is_some());
    assert_eq!(answer(&scene, &pair, CLIENT_TYPE), None);
}

#[test]
fn sides_without_a_certificate_type_in_common_do_not_connect() {
    for (own, taken) in [([RAW], [X509]), ([X509], [RAW])] {
        let (scene, _) = server_authenticates(&own, &taken);
        let mut pair = scene.pair();
        pair.run();
        assert_eq!(alert(&pair.to_server), UNSUPPORTED, "the server has {own:?}");

        let (scene, _) = client_authenticates(&own, &taken);
        let mut pair = scene.pair();
        pair.run();
        assert_eq!(alert(&pair.to_server), UNSUPPORTED, "the client has {own:?}");
    }
    let (mut scene, verifier) = client_authenticates(&[RAW], &[X509]);
    scene.server.client_authentication = ClientAuthentication::Optional(verifier);
    let mut pair = scene.pair();
    pair.run();
    assert_eq!(alert(&pair.to_server), UNSUPPORTED, "the client lists no acceptable type");
}

/// If client certificates are optional, a client that lists no types is not asked: it may have
/// no certificate at all.
#[test]
fn a_client_that_lists_no_types_is_welcome_where_certificates_are_optional() {
    for own in [&[][..], &[X509]] {
        let (mut scene, verifier) = client_authenticates(own, &[RAW]);
        scene.server.client_authentication = ClientAuthentication::Optional(verifier.clone());
        let mut pair = scene.pair();
        pair.run();
        assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None), "{own:?}");
        assert_eq!(pair.server.facts().peer, None);
        assert_eq!(types(&verifier), []);
    }
}

/// The peer's identity is in the ticket; no certificates are needed.
#[test]
fn a_connection_with_raw_public_keys_is_resumed_without_them() {
    let (mut scene, verifier) = server_authenticates(&[RAW], &[RAW]);
    let clients = taking(&[RAW]);
    scene.server.client_authentication = ClientAuthentication::Required(clients.clone());
    scene.client.credentials = vec![of(RAW)];
    let mut pair = scene.pair();
    pair.run();
    let session = pair.to_client.sessions.pop();
    let mut pair = scene.start(session, at(1));
    pair.run();
    assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None));
    assert!(pair.client.facts().psk.is_some());
    for facts in [pair.client.facts(), pair.server.facts()] {
        assert_eq!(facts.peer.as_ref().map(|peer| &peer.blob[..]), Some(&b"raw"[..]));
    }
    assert_eq!((types(&verifier), types(&clients)), (vec![RAW], vec![RAW]));
    assert_eq!(answer(&scene, &pair, SERVER_TYPE), Some(vec![RAW.0]));
    assert_eq!(answer(&scene, &pair, CLIENT_TYPE), None);
}

/// Delivers a ClientHello with this list to a server with both types.
fn listed(typ: ExtensionType, body: &[u8]) -> ReceivedData {
    let (mut scene, _) = client_authenticates(&[X509], &[X509, RAW]);
    scene.server.credentials = vec![of(X509), of(RAW)];
    let mut pair = scene.pair();
    let mut hello = Hello::read(&records(&pair.intercept_client())[0][5..]);
    hello.set(typ, body);
    pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
    pair.to_server
}

#[test]
fn malformed_lists_of_certificate_types_are_refused() {
    for typ in [CLIENT_TYPE, SERVER_TYPE] {
        for (body, expected) in [
            (&[1, RAW.0][..], None),
            // A server ignores unknown types.
            (&[2, UNKNOWN.0, RAW.0], None),
            (&[2, X509.0, UNKNOWN.0], None),
            (&[1, UNKNOWN.0], UNSUPPORTED),
            (&[0], ILLEGAL),
            (&[1, X509.0], ILLEGAL),
            (&[2, RAW.0], Some(AlertDescription::DECODE_ERROR)),
            (&[1, RAW.0, 0], Some(AlertDescription::DECODE_ERROR)),
        ] {
            let received = listed(typ, body);
            assert_eq!(alert(&received), expected, "{typ:?} {body:?}: {:?}", received.error);
        }
    }
}

/// The alert of a client with both types when the server's message is changed.
fn answered(
    own: &[CertificateType],
    taken: &[CertificateType],
    session_from: Option<&Scene>,
    edit: impl Fn(&mut Vec<u8>),
) -> Option<AlertDescription> {
    let (mut scene, _) = server_authenticates(&[RAW, X509], taken);
    scene.server.client_authentication = ClientAuthentication::Optional(taking(&[RAW, X509]));
    scene.client.credentials = own.iter().map(|typ| of(*typ)).collect();
    let session = session_from.and_then(|scene| scene.sessions().pop());
    let mut pair = scene.start(session, at(0));
    pair.client_to_server();
    let flight = pair.intercept_server();
    pair.deliver_to_client(&rewrite(&flight, || scene.server_sealers(), edit));
    alert(&pair.to_client)
}

/// Puts these extensions into EncryptedExtensions.
fn say(extensions: &[(ExtensionType, CertificateType)]) -> impl Fn(&mut Vec<u8>) + use<'_> {
    move |piece| {
        if piece[0] == HandshakeType::ENCRYPTED_EXTENSIONS.0 {
            let block: Vec<u8> = extensions
                .iter()
                .flat_map(|(typ, chosen)| [&typ.0.to_be_bytes()[..], &[0, 1, chosen.0]].concat())
                .collect();
            *piece = message(HandshakeType::ENCRYPTED_EXTENSIONS, &vec16(&block));
        }
    }
}

/// The answer is accepted; only the server's Finished, which covers another one, is wrong now.
const TAKEN: Option<AlertDescription> = Some(AlertDescription::DECRYPT_ERROR);

#[test]
fn a_certificate_type_that_the_client_did_not_offer_is_refused() {
    let raw = [(CLIENT_TYPE, RAW), (SERVER_TYPE, RAW)];
    assert_eq!(answered(&[RAW], &[RAW], None, say(&raw)), TAKEN);
    for (own, taken, said, expected) in [
        // Another type than offered, or an unknown one.
        (&[RAW][..], &[RAW][..], &[(CLIENT_TYPE, RAW), (SERVER_TYPE, X509)][..], UNSUPPORTED),
        (&[RAW], &[RAW, X509], &[(SERVER_TYPE, UNKNOWN)], UNSUPPORTED),
        (&[RAW], &[RAW], &[(CLIENT_TYPE, X509), (SERVER_TYPE, RAW)], UNSUPPORTED),
        (&[RAW, X509], &[RAW], &[(CLIENT_TYPE, UNKNOWN), (SERVER_TYPE, RAW)], UNSUPPORTED),
        // No answer means X.509.
        (&[RAW], &[RAW], &[], UNSUPPORTED),
        // Without an offer there is nothing to choose.
        (&[X509], &[RAW], &raw, Some(AlertDescription::UNSUPPORTED_EXTENSION)),
        (&[RAW], &[X509], &raw, Some(AlertDescription::UNSUPPORTED_EXTENSION)),
        (&[], &[X509], &[(CLIENT_TYPE, X509)], Some(AlertDescription::UNSUPPORTED_EXTENSION)),
    ] {
        assert_eq!(answered(own, taken, None, say(said)), expected, "{own:?} {taken:?} {said:?}");
    }
}

/// A server that resumes need not state a type, but must not state a wrong one.
#[test]
fn a_resumption_with_another_certificate_type_is_refused() {
    let (scene, _) = server_authenticates(&[RAW], &[RAW]);
    for (said, expected) in [
        (&[][..], TAKEN),
        (&[(SERVER_TYPE, RAW)], None),
        (&[(SERVER_TYPE, X509)], UNSUPPORTED),
        (&[(CLIENT_TYPE, X509)], UNSUPPORTED),
    ] {
        assert_eq!(answered(&[RAW], &[RAW], Some(&scene), say(said)), expected, "{said:?}");
    }
}

/// A client whose only credential is of the other type has none (§4.4.2.3).
#[test]
fn a_client_without_a_credential_of_the_chosen_type_sends_none() {
    let (mut scene, verifier) = client_authenticates(&[RAW, X509], &[RAW]);
    scene.server.client_authentication = ClientAuthentication::Optional(verifier.clone());
    // Its raw key can't sign what the server can check.
    scene.client.credentials[0].key = tessera::auth::PrivateKey::Elsewhere(vec![]);
    let mut pair = scene.pair();
    pair.run();
    assert!(pair.to_server.complete);
    assert_eq!(types(&verifier), []);
    assert_eq!(pair.server.facts().peer, None);
}

#[test]
fn a_raw_public_key_that_is_empty_or_not_alone_is_refused() {
    let certificate = |entries: &'static [u8]| {
        move |piece: &mut Vec<u8>| {
            if piece[0] == HandshakeType::CERTIFICATE.0 {
                let len = (entries.len() as u32).to_be_bytes();
                let body = [&[0], &len[1..], entries].concat();
                *piece = message(HandshakeType::CERTIFICATE, &body);
            }
        }
    };
    for (entries, expected) in [
        (&[0, 0, 1, 7, 0, 0, 0, 0, 1, 7, 0, 0][..], AlertDescription::ILLEGAL_PARAMETER),
        (&[0, 0, 0, 0, 0], AlertDescription::DECODE_ERROR),
        (&[], AlertDescription::DECODE_ERROR),
    ] {
        let edit = certificate(entries);
        assert_eq!(answered(&[RAW], &[RAW], None, edit), Some(expected), "{entries:?}");
    }
}

#[test]
fn configurations_with_impossible_certificate_types_are_refused() {
    let client = |scene: &Scene| scene.client.clone().checked().err();
    let server = |scene: &Scene| scene.server.clone().checked().err();
    let refused = |error: Option<Error>| matches!(error, Some(Error::Configuration(_)));
    for types in [&[][..], &[UNKNOWN], &[RAW, X509, RAW]] {
        assert!(refused(client(&server_authenticates(&[X509], types).0)), "{types:?}");
        assert!(refused(server(&client_authenticates(&[X509], types).0)), "{types:?}");
    }
    let mut two_keys = of(RAW);
    two_keys.chain.push(b"another".to_vec());
    let unknown = Credential { certificate_type: UNKNOWN, ..of(RAW) };
    for credential in [two_keys, unknown] {
        let mut scene = Scene::new(tessera_null_provider::provider(), Mode::Full);
        scene.client.credentials = vec![credential.clone()];
        scene.server.credentials = vec![credential];
        assert!(refused(client(&scene)));
        assert!(refused(server(&scene)));
    }
}

/// A server for PSKs alone has no certificate; for a client without a PSK the types are not the reason.
#[test]
fn a_server_without_certificates_fails_with_handshake_failure() {
    let mut scene = Scene::new(tessera_null_provider::provider(), Mode::Full);
    scene.server.credentials = Vec::new();
    let mut pair = scene.pair();
    pair.run();
    let expected = Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE);
    assert_eq!(pair.to_client.error, Some(expected));
}
