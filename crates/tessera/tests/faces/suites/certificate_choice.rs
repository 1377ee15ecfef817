//! Which of several certificates is sent: signature_algorithms, signature_algorithms_cert and
//! certificate_authorities (RFC 8446 §4.2.3, §4.2.4), of either side.

use std::sync::Arc;

use tessera::Error;
use tessera::auth::{
    Credential, PeerAcceptance, PeerIdentity, PeerRejected, PeerVerifier, VerifierPolicy,
    VerifyPeer,
};
use tessera::handshake::{ClientAuthentication, Reply};
use tessera::wire::SignatureScheme;
use tessera_harness::{Mode, Scene, credential};
use tessera_null_provider::NullVerifier;

use super::FACE;

pub(crate) const OLD: SignatureScheme = SignatureScheme::RSA_PKCS1_SHA256;
pub(crate) const NEW: SignatureScheme = SignatureScheme::ECDSA_SECP256R1_SHA256;

/// Uses the first byte of the end entity's certificate as the identity.
#[derive(Default)]
pub(crate) struct ChoosyVerifier {
    pub(crate) chain_schemes: Vec<SignatureScheme>,
    pub(crate) authorities: Vec<Vec<u8>>,
}

impl PeerVerifier for ChoosyVerifier {
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

/// A certificate identified by `name`.
fn named(name: u8, issuers: &[&[u8]], chain_schemes: &[SignatureScheme]) -> Credential {
    Credential {
        chain: vec![vec![name]],
        issuers: issuers.iter().map(|issuer| issuer.to_vec()).collect(),
        chain_schemes: chain_schemes.to_vec(),
        ..credential()
    }
}

/// The name of the certificate that a server, then a client, chooses; 0 if none.
fn chosen(credentials: &[Credential], choosy: ChoosyVerifier) -> [u8; 2] {
    let verifier: Arc<dyn PeerVerifier> = Arc::new(choosy);
    let peer = |connection_facts: &tessera::Facts| {
        connection_facts.peer.as_ref().map_or(0, |identity| identity.blob[0])
    };

    let mut scene = Scene::over(FACE, tessera_null_provider::provider(), Mode::Full);
    scene.client.verifier = verifier.clone();
    scene.server.credentials = credentials.to_vec();
    let mut server_chooses = scene.pair();
    server_chooses.run();
    assert_eq!(server_chooses.to_client.error, None);

    let mut scene = Scene::over(FACE, tessera_null_provider::provider(), Mode::Full);
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
    let both = ChoosyVerifier { chain_schemes: vec![OLD, NEW], ..ChoosyVerifier::default() };
    assert_eq!(chosen(&credentials, both), [1, 1]);
    assert_eq!(
        chosen(&[named(1, &[], &[]), named(2, &[], &[])], ChoosyVerifier::default()),
        [1, 1]
    );
}

#[test]
fn a_credential_of_an_authority_that_the_peer_names_is_chosen() {
    let credentials =
        [named(1, &[], &[]), named(2, &[b"two"], &[]), named(3, &[b"intermediate", b"three"], &[])];
    let naming = |names: &[&[u8]]| ChoosyVerifier {
        authorities: names.iter().map(|name| name.to_vec()).collect(),
        ..ChoosyVerifier::default()
    };
    assert_eq!(chosen(&credentials, naming(&[b"two"])), [2, 2]);
    assert_eq!(chosen(&credentials, naming(&[b"three"])), [3, 3]);
    assert_eq!(chosen(&credentials, naming(&[b"three", b"two"])), [2, 2]);
    // None fits better: the peer may accept more than it lists.
    assert_eq!(chosen(&credentials, naming(&[b"tw"])), [1, 1]);
    // Unknown issuers may be among the listed ones; the known ones aren't.
    let credentials = [named(2, &[b"two"], &[]), named(1, &[], &[])];
    assert_eq!(chosen(&credentials, naming(&[b"three"])), [1, 1]);
    assert_eq!(chosen(&credentials[..1], naming(&[b"three"])), [2, 2]);
}

/// A server sends what it has; a client sends nothing that the server can't check (§4.4.2.2, §4.4.2.3).
#[test]
fn a_credential_whose_chain_the_peer_can_check_is_chosen() {
    let checking = |schemes: &[SignatureScheme]| ChoosyVerifier {
        chain_schemes: schemes.to_vec(),
        ..ChoosyVerifier::default()
    };
    let credentials = [named(1, &[], &[NEW, OLD]), named(2, &[], &[NEW])];
    assert_eq!(chosen(&credentials, checking(&[NEW])), [2, 2]);
    assert_eq!(chosen(&credentials, checking(&[OLD, NEW])), [1, 1]);
    assert_eq!(chosen(&credentials[..1], checking(&[NEW])), [1, 0]);
    // Chains of unknown schemes get the benefit of the doubt.
    assert_eq!(chosen(&[named(3, &[], &[])], checking(&[NEW])), [3, 3]);
}

/// Without signature_algorithms_cert, signature_algorithms covers the chain.
#[test]
fn signature_algorithms_speaks_for_chains_without_signature_algorithms_cert() {
    let credentials = [named(1, &[], &[OLD]), named(2, &[], NullVerifier.schemes())];
    assert_eq!(chosen(&credentials, ChoosyVerifier::default()), [2, 2]);
}

/// Whether the peer can check a chain matters more than its issuer.
#[test]
fn a_chain_that_can_be_checked_is_chosen_before_one_of_a_named_authority() {
    let credentials =
        [named(1, &[], &[OLD]), named(2, &[b"right"], &[OLD]), named(3, &[b"wrong"], &[NEW])];
    let choosy = ChoosyVerifier { chain_schemes: vec![NEW], authorities: vec![b"right".to_vec()] };
    assert_eq!(chosen(&credentials, choosy), [3, 3]);
}

#[test]
fn a_configuration_with_too_many_or_empty_authorities_is_refused() {
    let start = |authorities: Vec<Vec<u8>>| {
        let mut scene = Scene::over(FACE, tessera_null_provider::provider(), Mode::Full);
        let verifier = Arc::new(ChoosyVerifier { authorities, ..ChoosyVerifier::default() });
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
