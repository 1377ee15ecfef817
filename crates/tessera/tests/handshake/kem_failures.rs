//! What goes wrong in authentication with a KEM (docs/kem-auth.md §6): secrets that differ, decapsulations that fail, and
//! data that comes too early.

use std::sync::Arc;

use tessera::Error;
use tessera::auth::{
    AskedKey, Credential, PeerAcceptance, PeerRejected, PeerVerifier, PrivateKey, VerifierPolicy,
    VerifyPeer,
};
use tessera::crypto::{AgreementError, Decapsulator, Ephemeral, KeyAgreement, SharedSecret};
use tessera::handshake::Reply;
use tessera::wire::{AlertDescription, ContentType, HandshakeType, NamedGroup, SignatureScheme};
use tessera_harness::{
    Mode, Pair, ReceivedData, Scene, at, credential, kem_credential, message, records, rewrite,
    vec16,
};
use tessera_null_provider::{NULL_KEM_KEY, NullDecapsulator, NullVerifier, provider};

const BAD_MAC: Option<AlertDescription> = Some(AlertDescription::BAD_RECORD_MAC);
const DECRYPT: Option<AlertDescription> = Some(AlertDescription::DECRYPT_ERROR);
const UNEXPECTED: Option<AlertDescription> = Some(AlertDescription::UNEXPECTED_MESSAGE);

fn scene(mode: Mode) -> Scene {
    Scene::new(provider(), mode)
}

fn alert(received: &ReceivedData) -> Option<AlertDescription> {
    received.error.as_ref().and_then(Error::alert)
}

/// Decapsulates in one way, whatever arrives.
struct Always(Result<[u8; 32], AgreementError>);

impl Decapsulator for Always {
    fn scheme(&self) -> &SignatureScheme {
        NullDecapsulator.scheme()
    }

    fn public_key(&self) -> Option<&[u8]> {
        NullDecapsulator.public_key()
    }

    fn decapsulate(&self, _: &[u8]) -> Result<SharedSecret, AgreementError> {
        self.0.map(|secret| SharedSecret::new(secret.to_vec()))
    }
}

fn always(result: Result<[u8; 32], AgreementError>) -> Credential {
    Credential { key: PrivateKey::Decapsulates(Arc::new(Always(result))), ..kem_credential() }
}

/// Runs a connection that must not complete, and in which no end learns who the other is.
fn fails(scene: &Scene) -> Pair {
    let mut pair = scene.pair();
    pair.run();
    assert!(!pair.to_client.complete && !pair.to_server.complete);
    assert!(pair.client.facts().peer.is_none() && pair.server.facts().peer.is_none());
    pair
}

/// As of an end with another key: a wrong secret and a reported failure look the same.
#[test]
fn a_failed_decapsulation_looks_like_one_with_another_key() {
    let (mut seen, results) = (Vec::new(), [Ok([9; 32]), Err(AgreementError::InvalidShare)]);
    for result in results {
        let mut at_server = scene(Mode::KemMutual);
        at_server.server.credentials = vec![always(result)];
        let pair = fails(&at_server);
        assert_eq!((alert(&pair.to_server), alert(&pair.to_client)), (BAD_MAC, BAD_MAC));
        let mut at_client = scene(Mode::KemMutual);
        at_client.client.credentials = vec![always(result)];
        let other = fails(&at_client);
        assert_eq!(alert(&other.to_server), DECRYPT);
        let lens = [&pair, &other].map(|it| [it.client_sent.len(), it.server_sent.len()]);
        seen.push((lens, other.to_client.error));
    }
    assert_eq!(seen[0], seen[1]);
}

#[test]
fn a_private_key_that_cannot_be_used_ends_the_connection_with_internal_error() {
    let broken = || vec![always(Err(AgreementError::Provider))];
    let mut at_server = scene(Mode::Kem);
    at_server.server.credentials = broken();
    let pair = fails(&at_server);
    assert_eq!(pair.to_server.error, Some(Error::Provider("decapsulation")));
    assert_eq!(alert(&pair.to_server), Some(AlertDescription::INTERNAL_ERROR));
    let mut at_client = scene(Mode::KemMutual);
    at_client.client.credentials = broken();
    assert_eq!(fails(&at_client).to_client.error, Some(Error::Provider("decapsulation")));
}

/// A KEM whose sender knows the secret: zeros.
struct Zeros;

static ZEROS: [&dyn KeyAgreement; 1] = [&Zeros];

impl KeyAgreement for Zeros {
    fn group(&self) -> NamedGroup {
        NamedGroup::MLKEM768
    }

    fn share_len(&self) -> usize {
        NULL_KEM_KEY.len()
    }

    fn reply_len(&self) -> usize {
        1088
    }

    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError> {
        Err(AgreementError::Provider)
    }

    fn encapsulate(&self, _: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        Ok((vec![0; 1088], SharedSecret::new(vec![0; 32])))
    }
}

/// X25519's encapsulations of small order all have the secret zero, and are reported.
#[test]
fn what_replaces_a_failed_decapsulation_is_not_what_its_sender_expects() {
    let mut scene = scene(Mode::Kem);
    scene.client.provider.kems = &ZEROS;
    scene.server.credentials = vec![always(Ok([0; 32]))];
    let mut pair = scene.pair();
    pair.run();
    assert!(pair.to_client.complete, "the same secret");
    scene.server.credentials = vec![always(Err(AgreementError::InvalidShare))];
    assert_eq!(alert(&fails(&scene).to_server), BAD_MAC);
}

#[test]
fn data_before_its_senders_finished_is_refused() {
    let scene = scene(Mode::Kem);
    let mut pair = scene.pair();
    pair.client_to_server();
    pair.server_to_client();
    let flight = pair.intercept_client();
    let all = records(&flight);
    let (_, before) = all.split_last().expect("Finished is the last");
    pair.deliver_to_server(&before.concat());
    let sealer = |label: &str| scene.secrets.sealer(scene.suite(), label).expect("logged");
    let data = |label: &str| sealer(label).seal(ContentType::APPLICATION_DATA, b"data");
    pair.deliver_to_server(&data("CLIENT_AUTHENTICATED_HANDSHAKE_TRAFFIC_SECRET"));
    assert_eq!(alert(&pair.to_server), UNEXPECTED);
    assert!(pair.to_server.data.is_empty() && pair.server.facts().peer.is_none());
    pair.deliver_to_client(&data("SERVER_AUTHENTICATED_HANDSHAKE_TRAFFIC_SECRET"));
    assert_eq!(alert(&pair.to_client), UNEXPECTED);
    assert!(pair.to_client.data.is_empty() && pair.client.facts().peer.is_none());
}

#[test]
fn a_kem_in_the_signature_algorithms_cert_of_a_request_is_refused() {
    let scene = scene(Mode::KemMutual);
    let mut pair = scene.pair();
    pair.client_to_server();
    let flight = pair.intercept_server();
    let request = |bytes: &mut Vec<u8>| {
        if bytes[0] == HandshakeType::CERTIFICATE_REQUEST.0 {
            let list = |typ: u8, scheme: [u8; 2]| [&[0, typ][..], &vec16(&vec16(&scheme))].concat();
            let extensions = [list(13, [8, 7]), list(50, [0xfe, 0x42])].concat();
            let body = [&[0][..], &vec16(&extensions)].concat();
            *bytes = message(HandshakeType::CERTIFICATE_REQUEST, &body);
        }
    };
    pair.deliver_to_client(&rewrite(&flight, || scene.server_sealers(), request));
    assert_eq!(alert(&pair.to_client), Some(AlertDescription::ILLEGAL_PARAMETER));
}

/// Changes the server's first flight; returns the client's alert.
fn changed_by_server(scene: &Scene, edit: impl Fn(&mut Vec<u8>)) -> Option<AlertDescription> {
    let mut pair = scene.pair();
    pair.client_to_server();
    let flight = pair.intercept_server();
    pair.deliver_to_client(&rewrite(&flight, || scene.server_sealers(), edit));
    assert!(!pair.to_client.complete && pair.client.facts().peer.is_none());
    alert(&pair.to_client)
}

#[test]
fn a_signature_with_the_scheme_of_a_kem_is_refused() {
    let mut scene = scene(Mode::Kem);
    scene.server.credentials = vec![credential()];
    let illegal = Some(AlertDescription::ILLEGAL_PARAMETER);
    let with_kem = |bytes: &mut Vec<u8>| {
        if bytes[0] == HandshakeType::CERTIFICATE_VERIFY.0 {
            bytes[4..6].copy_from_slice(&[0xfe, 0x42]);
        }
    };
    assert_eq!(changed_by_server(&scene, with_kem), illegal);
}

#[test]
fn a_server_without_a_certificate_is_refused() {
    let empty = |bytes: &mut Vec<u8>| {
        if bytes[0] == HandshakeType::CERTIFICATE.0 {
            *bytes = message(HandshakeType::CERTIFICATE, &[0; 4]);
        }
    };
    let decode = Some(AlertDescription::DECODE_ERROR);
    assert_eq!(changed_by_server(&scene(Mode::Kem), empty), decode);
}

#[test]
fn a_finished_of_another_length_is_refused_by_both_ends() {
    let scene = scene(Mode::Kem);
    let decode = Some(AlertDescription::DECODE_ERROR);
    let longer = |body: &[u8]| [body, &[0]].concat();
    let shorter = |body: &[u8]| body[1..].to_vec();
    for change in [&longer as &dyn Fn(&[u8]) -> Vec<u8>, &shorter] {
        let edit = |bytes: &mut Vec<u8>| {
            if bytes[0] == HandshakeType::FINISHED.0 {
                *bytes = message(HandshakeType::FINISHED, &change(&bytes[4..]));
            }
        };
        let mut pair = scene.pair();
        pair.client_to_server();
        pair.server_to_client();
        let flight = pair.intercept_client();
        pair.deliver_to_server(&rewrite(&flight, || scene.client_sealers(), edit));
        assert_eq!(alert(&pair.to_server), decode);

        let mut pair = scene.pair();
        pair.client_to_server();
        pair.server_to_client();
        pair.client_to_server();
        let flight = pair.intercept_server();
        // The numbers of the first flight's records are spent.
        let sealers = || scene.server_sealers().split_off(1);
        pair.deliver_to_client(&rewrite(&flight, sealers, edit));
        assert_eq!(alert(&pair.to_client), decode);
    }
}

/// Offers no KEM, and names one for any certificate.
struct OffersNone;

impl PeerVerifier for OffersNone {
    fn schemes(&self) -> &[SignatureScheme] {
        NullVerifier.schemes()
    }

    fn kem_scheme(&self, _: &AskedKey<'_>) -> Option<SignatureScheme> {
        Some(SignatureScheme::KEM_MLKEM768)
    }

    fn policy(&self) -> VerifierPolicy {
        NullVerifier.policy()
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        NullVerifier.verify(question)
    }
}

#[test]
fn a_client_that_offered_no_kem_awaits_a_signature_after_any_certificate() {
    let mut scene = scene(Mode::Full);
    scene.client.verifier = Arc::new(OffersNone);
    let mut pair = scene.pair();
    pair.run();
    assert!(pair.to_client.complete && pair.client.facts().peer.is_some());
}

/// As always, with the server's Finished.
#[test]
fn a_client_believes_that_its_early_data_was_rejected_with_the_servers_finished() {
    let resuming = Scene::new(provider(), Mode::FsDhe);
    let mut scene = scene(Mode::Kem);
    scene.client.policy = resuming.client.policy.clone();
    scene.server.policy = resuming.server.policy.clone();
    let session = scene.start(None, at(0)).run().to_client.sessions.pop();
    scene.server.policy.resumption = false;
    let mut pair = scene.start(session, at(1));
    pair.client_to_server();
    pair.server_to_client();
    assert!(pair.client.facts().server_is_implicit);
    assert_eq!(pair.to_client.early_data_accepted, None);
    pair.run();
    assert_eq!(pair.to_client.early_data_accepted, Some(false));
    assert!(pair.to_client.complete && pair.to_server.early_data.is_empty());
}

/// Accepts KEMs as what signs certificates.
struct ChainsOfKems;

impl PeerVerifier for ChainsOfKems {
    fn schemes(&self) -> &[SignatureScheme] {
        NullVerifier.schemes()
    }

    fn chain_schemes(&self) -> &[SignatureScheme] {
        &[SignatureScheme::KEM_MLKEM768]
    }

    fn policy(&self) -> VerifierPolicy {
        NullVerifier.policy()
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        NullVerifier.verify(question)
    }
}

#[test]
fn a_verifier_whose_chains_are_signed_with_kems_is_refused_with_the_configuration() {
    let mut client = scene(Mode::Full).client;
    client.verifier = Arc::new(ChainsOfKems);
    assert!(matches!(client.checked().err(), Some(Error::Configuration(_))));
}
