//! Which of several certificates is sent: signature_algorithms, signature_algorithms_cert and
//! certificate_authorities (RFC 8446 §4.2.3, §4.2.4), of either side.

use std::sync::Arc;

use tessera::Error;
use tessera::auth::{
    Credential, PeerAcceptance, PeerIdentity, PeerRejected, PeerVerifier, VerifierPolicy,
    VerifyPeer,
};
use tessera::handshake::{ClientAuthentication, Reply};
use tessera::wire::{AlertDescription, ContentType, ExtensionType, HandshakeType, SignatureScheme};
use tessera_harness::{
    Hello, Mode, Pair, Received, Scene, credential, message, plain, records, rewrite, vec16,
};
use tessera_null_provider::NullVerifier;

const OLD: SignatureScheme = SignatureScheme::RSA_PKCS1_SHA256;
const NEW: SignatureScheme = SignatureScheme::ECDSA_SECP256R1_SHA256;

/// Tells the first byte of the end entity's certificate as the identity.
#[derive(Default)]
struct Choosy {
    chain_schemes: Vec<SignatureScheme>,
    authorities: Vec<Vec<u8>>,
}

impl PeerVerifier for Choosy {
    fn schemes(&self) -> &[SignatureScheme] {
        NullVerifier.schemes()
    }

    fn chain_schemes(&self) -> &[SignatureScheme] {
        &self.chain_schemes
    }

    fn authorities(&self) -> &[Vec<u8>] {
        &self.authorities
    }

    fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new("tests: everybody by the first byte")
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        let identity = PeerIdentity { blob: vec![question.chain[0][0]], expires_at: None };
        Reply::Now(Ok(identity.into()))
    }
}

/// A certificate that `name` tells apart.
fn named(name: u8, issuers: &[&[u8]], chain_schemes: &[SignatureScheme]) -> Credential {
    Credential {
        chain: vec![vec![name]],
        issuers: issuers.iter().map(|issuer| issuer.to_vec()).collect(),
        chain_schemes: chain_schemes.to_vec(),
        ..credential()
    }
}

/// The name of the certificate that a server, then a client, chooses; 0 if none.
fn chosen(credentials: &[Credential], choosy: Choosy) -> [u8; 2] {
    let verifier: Arc<dyn PeerVerifier> = Arc::new(choosy);
    let peer = |connection_facts: &tessera::Facts| {
        connection_facts.peer.as_ref().map_or(0, |identity| identity.blob[0])
    };

    let mut scene = Scene::new(tessera_null_provider::provider(), Mode::Full);
    scene.client.verifier = verifier.clone();
    scene.server.credentials = credentials.to_vec();
    let mut server_chooses = scene.pair();
    server_chooses.run();
    assert_eq!(server_chooses.to_client.error, None);

    let mut scene = Scene::new(tessera_null_provider::provider(), Mode::Full);
    scene.client.credentials = credentials.to_vec();
    scene.server.client_authentication = ClientAuthentication::Optional(verifier);
    let mut client_chooses = scene.pair();
    client_chooses.run();
    assert_eq!(client_chooses.to_server.error, None);
    assert!(client_chooses.to_server.complete);

    [peer(server_chooses.client.facts()), peer(client_chooses.server.facts())]
}

#[test]
fn the_first_credential_is_chosen_if_the_peer_asks_for_none_in_particular() {
    let credentials = [named(1, &[b"one"], &[OLD]), named(2, &[b"two"], &[NEW])];
    let both = Choosy { chain_schemes: vec![OLD, NEW], ..Choosy::default() };
    assert_eq!(chosen(&credentials, both), [1, 1]);
    assert_eq!(chosen(&[named(1, &[], &[]), named(2, &[], &[])], Choosy::default()), [1, 1]);
}

#[test]
fn a_credential_of_an_authority_that_the_peer_names_is_chosen() {
    let credentials =
        [named(1, &[], &[]), named(2, &[b"two"], &[]), named(3, &[b"intermediate", b"three"], &[])];
    let naming = |names: &[&[u8]]| Choosy {
        authorities: names.iter().map(|name| name.to_vec()).collect(),
        ..Choosy::default()
    };
    assert_eq!(chosen(&credentials, naming(&[b"two"])), [2, 2]);
    assert_eq!(chosen(&credentials, naming(&[b"three"])), [3, 3]);
    assert_eq!(chosen(&credentials, naming(&[b"three", b"two"])), [2, 2]);
    // Nothing that fits better: the peer may know more than it says.
    assert_eq!(chosen(&credentials, naming(&[b"tw"])), [1, 1]);
    // Issuers that aren't known may be named; those that are known aren't.
    let credentials = [named(2, &[b"two"], &[]), named(1, &[], &[])];
    assert_eq!(chosen(&credentials, naming(&[b"three"])), [1, 1]);
    assert_eq!(chosen(&credentials[..1], naming(&[b"three"])), [2, 2]);
}

/// A server sends what it has, a client nothing that the server can't check (§4.4.2.2, §4.4.2.3).
#[test]
fn a_credential_whose_chain_the_peer_can_check_is_chosen() {
    let checking = |schemes: &[SignatureScheme]| Choosy {
        chain_schemes: schemes.to_vec(),
        ..Choosy::default()
    };
    let credentials = [named(1, &[], &[NEW, OLD]), named(2, &[], &[NEW])];
    assert_eq!(chosen(&credentials, checking(&[NEW])), [2, 2]);
    assert_eq!(chosen(&credentials, checking(&[OLD, NEW])), [1, 1]);
    assert_eq!(chosen(&credentials[..1], checking(&[NEW])), [1, 0]);
    // Of chains whose schemes aren't known nothing is held against them.
    assert_eq!(chosen(&[named(3, &[], &[])], checking(&[NEW])), [3, 3]);
}

/// Without signature_algorithms_cert signature_algorithms speaks for the chain.
#[test]
fn signature_algorithms_speaks_for_chains_without_signature_algorithms_cert() {
    let credentials = [named(1, &[], &[OLD]), named(2, &[], NullVerifier.schemes())];
    assert_eq!(chosen(&credentials, Choosy::default()), [2, 2]);
}

/// What can be checked comes before who issued it.
#[test]
fn a_chain_that_can_be_checked_is_chosen_before_one_of_a_named_authority() {
    let credentials =
        [named(1, &[], &[OLD]), named(2, &[b"right"], &[OLD]), named(3, &[b"wrong"], &[NEW])];
    let choosy = Choosy { chain_schemes: vec![NEW], authorities: vec![b"right".to_vec()] };
    assert_eq!(chosen(&credentials, choosy), [3, 3]);
}

/// The scene's first flight with what its verifier says.
fn hello(choosy: Choosy) -> Hello {
    let mut scene = Scene::new(tessera_null_provider::provider(), Mode::Full);
    scene.client.verifier = Arc::new(choosy);
    Hello::read(&records(&scene.pair().intercept_client())[0][5..])
}

#[test]
fn a_client_sends_chain_schemes_and_authorities_only_where_they_say_more() {
    tessera_harness::about_records!();
    let silent = hello(Choosy::default());
    assert_eq!(silent.extension(ExtensionType::SIGNATURE_ALGORITHMS_CERT), None);
    assert_eq!(silent.extension(ExtensionType::CERTIFICATE_AUTHORITIES), None);
    // The same policy is said once.
    let same = Choosy { chain_schemes: NullVerifier.schemes().to_vec(), ..Choosy::default() };
    assert_eq!(hello(same).extension(ExtensionType::SIGNATURE_ALGORITHMS_CERT), None);

    let all = hello(Choosy {
        chain_schemes: vec![NEW, OLD],
        authorities: vec![b"one".to_vec(), b"three".to_vec()],
    });
    let schemes = all.extension(ExtensionType::SIGNATURE_ALGORITHMS_CERT);
    assert_eq!(schemes, Some(&vec![0, 4, 4, 3, 4, 1]));
    let names = vec16(&[vec16(b"one"), vec16(b"three")].concat());
    assert_eq!(all.extension(ExtensionType::CERTIFICATE_AUTHORITIES), Some(&names));
}

fn alert(received: &Received) -> Option<AlertDescription> {
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
    tessera_harness::about_records!();
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

/// A client that is asked with this extension besides the others.
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
    tessera_harness::about_records!();
    for (typ, body) in MALFORMED {
        let pair = asked_with(typ, body);
        assert_eq!(
            alert(&pair.to_client),
            Some(AlertDescription::DECODE_ERROR),
            "{typ:?} {body:?}"
        );
    }
}

#[test]
fn a_configuration_with_too_many_or_empty_authorities_is_refused() {
    let start = |authorities: Vec<Vec<u8>>| {
        let mut scene = Scene::new(tessera_null_provider::provider(), Mode::Full);
        let verifier = Arc::new(Choosy { authorities, ..Choosy::default() });
        scene.client.verifier = verifier.clone();
        scene.server.client_authentication = ClientAuthentication::Required(verifier);
        (scene.client.checked().err(), scene.server.checked().err())
    };
    assert_eq!(start(vec![vec![1; 1022]; 16]), (None, None));
    for too_much in [vec![vec![1; 1022]; 17], vec![vec![]]] {
        let (client, server) = start(too_much);
        assert!(matches!(client, Some(Error::Configuration(_))), "{client:?}");
        assert!(matches!(server, Some(Error::Configuration(_))), "{server:?}");
    }
}

/// RFC 8446 §4.1.1: a server that has nothing for a client says so in place of a ServerHello.
#[test]
fn a_server_without_a_fitting_certificate_sends_an_alert_and_no_server_hello() {
    tessera_harness::about_records!();
    let scene = Scene::new(tessera_null_provider::provider(), Mode::Full);
    let mut pair = scene.pair();
    let mut hello = Hello::read(&records(&pair.intercept_client())[0][5..]);
    hello.set(ExtensionType::SIGNATURE_ALGORITHMS, &vec16(&OLD.0.to_be_bytes()));
    pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
    let fatal = [2, AlertDescription::HANDSHAKE_FAILURE.0];
    assert_eq!(pair.intercept_server(), plain(ContentType::ALERT, &fatal));
}
