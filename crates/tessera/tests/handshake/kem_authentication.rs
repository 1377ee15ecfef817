//! Authentication with a KEM (docs/kem-auth.md): who sends what, under which keys, and when a peer counts.

use std::sync::Arc;

use tessera::Error;
use tessera::auth::{
    AskedKey, PeerAcceptance, PeerIdentity, PeerPublicKey, PeerRejected, PeerVerifier,
    VerifierPolicy, VerifyPeer,
};
use tessera::handshake::{ClientAuthentication, Reply};
use tessera::wire::{AlertDescription, ContentType, ExtensionType, HandshakeType, SignatureScheme};
use tessera_harness::{
    Hello, Mode, Pair, ReceivedData, Scene, Sealer, at, credential, kem_credential, message,
    messages, open_all, plain, records, rewrite,
};
use tessera_null_provider::{NullKemVerifier, NullVerifier, provider};

fn scene(mode: Mode) -> Scene {
    Scene::new(provider(), mode)
}

fn run(scene: &Scene) -> Pair {
    let mut pair = scene.pair();
    pair.run();
    pair
}

fn alert(received: &ReceivedData) -> Option<AlertDescription> {
    received.error.as_ref().and_then(Error::alert)
}

/// The protected handshake messages of a flight, each with the position of its keys.
fn sent(bytes: &[u8], sealers: &mut [Sealer]) -> Vec<(usize, HandshakeType)> {
    let opened = open_all(bytes, sealers).into_iter();
    let handshake = opened.filter(|(epoch, typ, _)| *epoch > 0 && *typ == ContentType::HANDSHAKE);
    handshake
        .flat_map(|(epoch, _, content)| {
            let messages = messages(&content).into_iter();
            messages.map(move |message| (epoch, HandshakeType(message[0]))).collect::<Vec<_>>()
        })
        .collect()
}

const EE: HandshakeType = HandshakeType::ENCRYPTED_EXTENSIONS;
const REQUEST: HandshakeType = HandshakeType::CERTIFICATE_REQUEST;
const CERTIFICATE: HandshakeType = HandshakeType::CERTIFICATE;
const ENCAPSULATION: HandshakeType = HandshakeType::KEM_ENCAPSULATION;
const FINISHED: HandshakeType = HandshakeType::FINISHED;
const TICKET: HandshakeType = HandshakeType::NEW_SESSION_TICKET;

#[test]
fn a_server_with_a_kem_is_authenticated_and_gives_tickets_that_resume() {
    let scene = scene(Mode::Kem);
    let pair = run(&scene);
    assert!(pair.to_client.complete && pair.to_server.complete);
    let facts = pair.client.facts();
    assert!(facts.peer.is_some());
    assert_eq!(facts.signature_scheme, Some(SignatureScheme::KEM_MLKEM768));
    assert_eq!(facts.group, pair.server.facts().group);
    assert_eq!(
        sent(&pair.server_sent, &mut scene.server_sealers()),
        [(1, EE), (1, CERTIFICATE), (2, FINISHED), (3, TICKET), (3, TICKET)]
    );
    assert_eq!(
        sent(&pair.client_sent, &mut scene.client_sealers()),
        [(1, ENCAPSULATION), (2, FINISHED)]
    );
    let session = pair.to_client.sessions.into_iter().next();
    let mut resumed = scene.start(session, at(1));
    resumed.run();
    assert!(resumed.client.facts().psk.is_some());
}

#[test]
fn a_client_with_a_kem_is_authenticated_too() {
    let scene = scene(Mode::KemMutual);
    let pair = run(&scene);
    assert!(pair.to_client.complete && pair.to_server.complete);
    assert!(pair.server.facts().peer.is_some() && pair.client.facts().peer.is_some());
    assert_eq!(
        sent(&pair.server_sent, &mut scene.server_sealers())[..5],
        [(1, EE), (1, REQUEST), (1, CERTIFICATE), (2, ENCAPSULATION), (2, FINISHED)]
    );
    assert_eq!(
        sent(&pair.client_sent, &mut scene.client_sealers()),
        [(1, ENCAPSULATION), (2, CERTIFICATE), (2, FINISHED)]
    );
}

#[test]
fn both_ends_export_the_same() {
    let mut pair = run(&scene(Mode::KemMutual));
    let mut exported = [[0; 32]; 2];
    let [of_client, of_server] = &mut exported;
    pair.client.export_keying_material(b"test", b"", of_client).expect("connected");
    pair.server.export_keying_material(b"test", b"", of_server).expect("connected");
    assert_eq!(exported[0], exported[1]);
}

#[test]
fn a_client_without_a_kem_sends_no_certificate_to_a_server_with_one() {
    let mut scene = scene(Mode::KemMutual);
    scene.client.credentials = vec![credential()];
    scene.server.client_authentication = ClientAuthentication::Optional(Arc::new(NullKemVerifier));
    let pair = run(&scene);
    assert!(pair.to_server.complete && pair.server.facts().peer.is_none());

    scene.server.client_authentication = ClientAuthentication::Required(Arc::new(NullKemVerifier));
    let pair = run(&scene);
    assert_eq!(alert(&pair.to_server), Some(AlertDescription::CERTIFICATE_REQUIRED));
}

#[test]
fn a_client_that_offers_no_kem_is_served_by_a_signing_credential_or_not_at_all() {
    let mut scene = scene(Mode::Kem);
    scene.client.verifier = Arc::new(NullVerifier);
    let pair = run(&scene);
    assert_eq!(alert(&pair.to_server), Some(AlertDescription::HANDSHAKE_FAILURE));

    scene.server.credentials = vec![kem_credential(), credential()];
    let pair = run(&scene);
    assert_eq!(pair.client.facts().signature_scheme, Some(SignatureScheme::ED25519));
}

#[test]
fn data_waits_for_the_servers_finished_except_by_a_policy() {
    for early in [false, true] {
        let mut scene = scene(Mode::Kem);
        scene.client.data_to_implicitly_authenticated_servers = early;
        let mut pair = scene.pair();
        pair.client_to_server();
        pair.server_to_client();
        assert!(!pair.to_client.complete);
        assert!(pair.client.facts().server_is_implicit);
        assert!(pair.client.facts().peer.is_none(), "its Finished hasn't come");
        let written = pair.client.write(b"request", &mut pair.client_output);
        assert_eq!(written.is_ok(), early);
        pair.run();
        assert_eq!(pair.to_server.data, if early { b"request".to_vec() } else { Vec::new() });
        assert!(pair.client.facts().peer.is_some() && !pair.client.facts().server_is_implicit);
    }
}

/// What the server's and the client's ends report of a connection in which the client's flights are changed.
fn changed_by_client(scene: &Scene, edit: impl Fn(&mut Vec<u8>)) -> [Option<AlertDescription>; 2] {
    let mut pair = scene.pair();
    pair.client_to_server();
    pair.server_to_client();
    let flight = pair.intercept_client();
    pair.deliver_to_server(&rewrite(&flight, || scene.client_sealers(), edit));
    pair.run();
    assert!(!pair.to_server.complete && pair.server.facts().peer.is_none());
    [alert(&pair.to_server), alert(&pair.to_client)]
}

/// The same for the server's second flight.
fn changed_by_server(scene: &Scene, edit: impl Fn(&mut Vec<u8>)) -> Option<AlertDescription> {
    let mut pair = scene.pair();
    pair.client_to_server();
    pair.server_to_client();
    pair.client_to_server();
    let flight = pair.intercept_server();
    // The numbers of the first flight's records are spent.
    let sealers = || scene.server_sealers().split_off(1);
    pair.deliver_to_client(&rewrite(&flight, sealers, edit));
    assert!(!pair.to_client.complete && pair.client.facts().peer.is_none());
    alert(&pair.to_client)
}

/// Replaces the encapsulation of a KEMEncapsulation.
fn encapsulating(context: &'static [u8], encapsulation: Vec<u8>) -> impl Fn(&mut Vec<u8>) {
    move |bytes| {
        if bytes[0] == ENCAPSULATION.0 {
            let len = (encapsulation.len() as u16).to_be_bytes();
            let parts = [&[context.len() as u8], context, &len, &encapsulation];
            *bytes = message(ENCAPSULATION, &parts.concat());
        }
    }
}

#[test]
fn an_encapsulation_of_another_length_or_with_a_context_is_refused() {
    let illegal = Some(AlertDescription::ILLEGAL_PARAMETER);
    let scene = scene(Mode::KemMutual);
    for len in [0, 1, 1087, 1089, 2_000] {
        assert_eq!(changed_by_client(&scene, encapsulating(b"", vec![7; len]))[0], illegal);
        let of_server = changed_by_server(&scene, encapsulating(b"", vec![7; len]));
        assert_eq!(of_server, illegal, "{len}");
    }
    assert_eq!(changed_by_client(&scene, encapsulating(b"c", vec![7; 1088]))[0], illegal);
    assert_eq!(changed_by_server(&scene, encapsulating(b"c", vec![7; 1088])), illegal);
    let longer = |bytes: &mut Vec<u8>| {
        if bytes[0] == ENCAPSULATION.0 {
            *bytes = message(ENCAPSULATION, &[&bytes[4..], &[0]].concat());
        }
    };
    let decode = Some(AlertDescription::DECODE_ERROR);
    assert_eq!(changed_by_client(&scene, longer)[0], decode);
    assert_eq!(changed_by_server(&scene, longer), decode);
}

/// The secret is another one, so that nothing that follows opens.
#[test]
fn an_encapsulation_to_another_key_fails_like_a_wrong_finished() {
    let scene = scene(Mode::KemMutual);
    let wrong = || encapsulating(b"", vec![7; 1088]);
    let alert = Some(AlertDescription::BAD_RECORD_MAC);
    assert_eq!(changed_by_client(&scene, wrong())[0], alert);
}

#[test]
fn a_finished_that_is_wrong_is_refused_by_both_ends() {
    let scene = scene(Mode::Kem);
    let wrong = |bytes: &mut Vec<u8>| {
        if bytes[0] == FINISHED.0 {
            bytes[4] ^= 1;
        }
    };
    let alert = Some(AlertDescription::DECRYPT_ERROR);
    assert_eq!(changed_by_client(&scene, wrong)[0], alert);
    assert_eq!(changed_by_server(&scene, wrong), alert);
}

#[test]
fn an_encapsulation_that_is_missing_or_comes_twice_is_refused() {
    let unexpected = Some(AlertDescription::UNEXPECTED_MESSAGE);
    let scene = scene(Mode::KemMutual);
    let missing = |bytes: &mut Vec<u8>| {
        if bytes[0] == ENCAPSULATION.0 {
            bytes.clear();
        }
    };
    // The client's following messages are under keys that the server doesn't have yet.
    let [server, _] = changed_by_client(&scene, missing);
    assert_eq!(server, Some(AlertDescription::BAD_RECORD_MAC));
    let twice = |bytes: &mut Vec<u8>| {
        if bytes[0] == ENCAPSULATION.0 {
            bytes.extend_from_within(..);
        }
    };
    assert_eq!(changed_by_client(&scene, twice)[0], unexpected);
}

/// A verifier with one answer to everything about a KEM.
struct Answers {
    scheme: Option<SignatureScheme>,
    key: Option<PeerPublicKey>,
}

impl PeerVerifier for Answers {
    fn schemes(&self) -> &[SignatureScheme] {
        NullKemVerifier.schemes()
    }

    fn kem_scheme(&self, _: &AskedKey<'_>) -> Option<SignatureScheme> {
        self.scheme
    }

    fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new("tests: one answer")
    }

    fn verify(&self, _: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        let mut accepted = PeerAcceptance::from(PeerIdentity::default());
        accepted.public_key = self.key.clone();
        Reply::Now(Ok(accepted))
    }
}

fn key_of(scheme: SignatureScheme, len: usize) -> Option<PeerPublicKey> {
    Some(PeerPublicKey::new(scheme, vec![0x4b; len]))
}

#[test]
fn a_verifier_that_accepts_without_the_key_of_the_kem_ends_the_connection() {
    let kem = Some(SignatureScheme::KEM_MLKEM768);
    let cases = [
        (kem, None),
        (kem, key_of(SignatureScheme::KEM_MLKEM512, 800)),
        // Without a proof, a signing certificate isn't accepted either.
        (None, key_of(SignatureScheme::KEM_MLKEM768, 1184)),
    ];
    for (scheme, key) in cases {
        let mut scene = scene(Mode::KemMutual);
        scene.server.client_authentication =
            ClientAuthentication::Required(Arc::new(Answers { scheme, key: key.clone() }));
        let pair = run(&scene);
        match scheme {
            Some(_) => assert!(matches!(pair.to_server.error, Some(Error::Configuration(_)))),
            None => {
                let unsupported = Some(AlertDescription::UNSUPPORTED_CERTIFICATE);
                assert_eq!(alert(&pair.to_server), unsupported);
            }
        }
        assert!(!pair.to_server.complete && pair.server.facts().peer.is_none());

        scene.server.client_authentication = ClientAuthentication::None;
        scene.client.verifier = Arc::new(Answers { scheme, key });
        let pair = run(&scene);
        assert!(!pair.to_client.complete && pair.client.facts().peer.is_none());
        // For the client a certificate that signs is one: it awaits the signature.
        assert_eq!(pair.to_client.error.is_some(), scheme.is_some());
    }
}

#[test]
fn a_certificate_of_a_kem_that_was_not_offered_or_with_a_wrong_key_is_refused() {
    let unsupported = Some(AlertDescription::UNSUPPORTED_CERTIFICATE);
    let bad = Some(AlertDescription::BAD_CERTIFICATE);
    let kem = SignatureScheme::KEM_MLKEM768;
    let cases = [
        (SignatureScheme::KEM_MLKEM512, key_of(SignatureScheme::KEM_MLKEM512, 800), unsupported),
        (SignatureScheme::ED25519, key_of(SignatureScheme::ED25519, 32), unsupported),
        (kem, key_of(kem, 1183), bad),
        (kem, key_of(kem, 0), bad),
    ];
    for (scheme, key, expected) in cases {
        let verifier = || Arc::new(Answers { scheme: Some(scheme), key: key.clone() });
        let mut scene = scene(Mode::KemMutual);
        scene.client.verifier = verifier();
        assert_eq!(alert(&run(&scene).to_client), expected);
        let mut scene = self::scene(Mode::KemMutual);
        scene.server.client_authentication = ClientAuthentication::Required(verifier());
        assert_eq!(alert(&run(&scene).to_server), expected);
    }
}

#[test]
fn a_kem_in_signature_algorithms_cert_is_refused() {
    let scene = scene(Mode::Kem);
    let mut pair = scene.pair();
    let flight = pair.intercept_client();
    let mut hello = Hello::read(&records(&flight)[0][5..]);
    hello.set(ExtensionType::SIGNATURE_ALGORITHMS_CERT, &[0, 2, 0xfe, 0x42]);
    pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
    assert_eq!(alert(&pair.to_server), Some(AlertDescription::ILLEGAL_PARAMETER));
}

#[test]
fn a_kem_that_the_provider_lacks_is_refused_with_the_configuration() {
    let scene = scene(Mode::KemMutual);
    let mut client = scene.client.clone();
    client.provider.kems = &[];
    assert!(matches!(client.checked().err(), Some(Error::Configuration(_))));
    let mut server = scene.server.clone();
    server.provider.kems = &[];
    assert!(matches!(server.clone().checked().err(), Some(Error::Configuration(_))));
    server.client_authentication = ClientAuthentication::None;
    assert!(matches!(server.checked().err(), Some(Error::Configuration(_))));
}
