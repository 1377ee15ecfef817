//! Connections whose ends have keys of KEMs, with AWS-LC.

use std::sync::Arc;

use rcgen::{KeyUsagePurpose, SignatureAlgorithm};
use tessera::Destination;
use tessera::auth::{PeerIdentity, PeerPublicKey, PeerVerifier};
use tessera::handshake::ClientAuthentication;
use tessera::resume::{KnownServerKey, PskKind};
use tessera::wire::{AlertDescription, NamedGroup, SignatureScheme};
use tessera_harness::{Mode, Pair, SERVER_NAME, Scene, at, to};
use tessera_pki::{Authority, KemLeaf};
use tessera_webpki::{PinnedKey, PinnedKeyVerifier, WebPkiVerifier};

use super::ALL;

fn authority(algorithm: &'static SignatureAlgorithm) -> Authority {
    Authority::with("root", algorithm, |_| ())
}

fn server_leaf(root: &Authority, scheme: SignatureScheme) -> KemLeaf {
    root.issue_kem(scheme, &[SERVER_NAME], |_| ())
}

fn verifier(root: &Authority) -> Arc<dyn PeerVerifier> {
    Arc::new(WebPkiVerifier::new(&[root.der()]).unwrap().accepting_kems(&ALL).unwrap())
}

/// A server with such a key, and a client that accepts it.
fn scene(root: &Authority, scheme: SignatureScheme) -> Scene {
    let mut scene = Scene::new(tessera_aws_lc::provider(), Mode::Full);
    scene.client.verifier = verifier(root);
    scene.server.credentials = vec![server_leaf(root, scheme).credential()];
    scene
}

/// The same with a client that has such a key as well.
fn mutual(root: &Authority, [server, client]: [SignatureScheme; 2]) -> Scene {
    let mut scene = scene(root, server);
    let leaf = root.issue_kem(client, &["client.example"], |_| ());
    scene.client.credentials = vec![leaf.credential()];
    scene.server.client_authentication = ClientAuthentication::Required(verifier(root));
    scene
}

#[track_caller]
fn assert_data_flows(pair: &mut Pair) {
    let error = (&pair.to_client.error, &pair.to_server.error);
    assert_eq!(error, (&None, &None));
    assert!(pair.to_client.complete && pair.to_server.complete);
    pair.client_write(b"ping");
    pair.server_write(b"pong");
    pair.run();
    assert_eq!((&pair.to_server.data[..], &pair.to_client.data[..]), (&b"ping"[..], &b"pong"[..]));
}

/// Connects, and again with a ticket: the peers stay the same.
#[track_caller]
fn assert_connects(scene: &Scene, scheme: SignatureScheme, client: Option<&[u8]>) {
    let mut pair = scene.start(None, at(0));
    pair.run();
    assert_data_flows(&mut pair);
    assert_eq!(pair.client.facts().signature_scheme, Some(scheme));
    let session = pair.to_client.sessions.pop();
    let mut again = scene.start(session, at(60));
    again.run();
    assert_data_flows(&mut again);
    let psk = (again.client.facts().psk, again.server.facts().psk);
    assert_eq!(psk, (Some(PskKind::Resumption), Some(PskKind::Resumption)));
    for pair in [pair, again] {
        let of_server = pair.client.facts().peer.as_ref().map(|peer| &peer.blob[..]);
        assert_eq!(of_server, Some(SERVER_NAME.as_bytes()));
        let of_client = pair.server.facts().peer.as_ref().map(|peer| &peer.blob[..]);
        assert_eq!(of_client, client);
    }
}

#[test]
fn a_client_and_a_server_with_a_key_of_a_kem_connect_and_resume() {
    for root in [authority(&rcgen::PKCS_ECDSA_P256_SHA256), authority(&rcgen::PKCS_ML_DSA_65)] {
        for scheme in ALL {
            assert_connects(&scene(&root, scheme), scheme, None);
        }
    }
}

#[test]
fn two_ends_with_keys_of_kems_connect_and_resume() {
    let root = authority(&rcgen::PKCS_ML_DSA_65);
    for (server, client) in ALL.into_iter().zip([ALL[1], ALL[1], ALL[3], ALL[0]]) {
        let scene = mutual(&root, [server, client]);
        assert_connects(&scene, server, Some(b"dns:client.example"));
    }
}

/// No end has an algorithm for signatures of handshakes.
#[test]
fn two_ends_that_accept_kems_alone_connect_and_resume() {
    let root = authority(&rcgen::PKCS_ML_DSA_65);
    let mut scene = mutual(&root, [SignatureScheme::KEM_MLKEM768; 2]);
    let alone = || -> Arc<dyn PeerVerifier> {
        let verifier = WebPkiVerifier::new(&[root.der()]).unwrap();
        Arc::new(verifier.accepting_kems_alone(&[SignatureScheme::KEM_MLKEM768]).unwrap())
    };
    scene.client.verifier = alone();
    scene.server.client_authentication = ClientAuthentication::Required(alone());
    let client = Some(&b"dns:client.example"[..]);
    assert_connects(&scene, SignatureScheme::KEM_MLKEM768, client);
}

/// A server with a raw key, and a client that knows it.
fn raw_scene(scheme: SignatureScheme) -> (Scene, KemLeaf) {
    let mut scene = Scene::new(tessera_aws_lc::provider(), Mode::Full);
    let leaf = server_leaf(&Authority::new("root"), scheme);
    let info = leaf.key().public_key_info().to_vec();
    let pin = PinnedKey { public_key: info.clone(), name: SERVER_NAME.into() };
    let verifier = PinnedKeyVerifier::new(vec![pin]).unwrap();
    scene.client.verifier = Arc::new(verifier.accepting_kems_alone(&[scheme]).unwrap());
    let mut credential = leaf.credential();
    credential.chain = vec![info];
    credential.certificate_type = tessera::wire::CertificateType::RAW_PUBLIC_KEY;
    scene.server.credentials = vec![credential];
    (scene, leaf)
}

#[test]
fn raw_keys_of_kems_connect_and_resume() {
    for scheme in ALL {
        assert_connects(&raw_scene(scheme).0, scheme, None);
    }
}

/// Returns the bytes of a whole handshake both ways, without tickets.
fn handshake_bytes(mut scene: Scene, destination: Destination, psk: Option<PskKind>) -> usize {
    scene.client.groups = vec![NamedGroup::X25519MLKEM768];
    scene.client.policy.tickets.new_session_count = 0;
    let mut pair = scene.start_to(destination, at(0));
    pair.run();
    assert!(pair.to_client.complete && pair.to_server.complete);
    assert!(pair.to_client.sessions.is_empty());
    assert_eq!([pair.client.facts().psk, pair.server.facts().psk], [psk; 2]);
    pair.client_sent.len() + pair.server_sent.len()
}

#[test]
fn a_handshake_with_a_raw_or_known_key_of_ml_kem_768_is_small() {
    let (scene, leaf) = raw_scene(SignatureScheme::KEM_MLKEM768);
    let bytes = handshake_bytes(scene.clone(), to(None), None);
    assert!(bytes <= 5400, "raw: {bytes}");
    let public_key =
        PeerPublicKey::new(SignatureScheme::KEM_MLKEM768, leaf.key().public_key().to_vec());
    let identity = PeerIdentity { blob: SERVER_NAME.into(), expires_at: None };
    let known_server_key = Some(Box::new(KnownServerKey { public_key, identity }));
    let destination = Destination { known_server_key, ..to(None) };
    let bytes = handshake_bytes(scene, destination, Some(PskKind::KnownKey));
    assert!(bytes <= 4200, "known: {bytes}");
}

/// The server's order decides, not that of the client's list.
#[test]
fn a_server_with_both_kinds_of_keys_uses_its_first_that_fits() {
    let root = Authority::new("root");
    let signing = root.issue(SERVER_NAME).credential();
    let mut scene = scene(&root, SignatureScheme::KEM_MLKEM768);
    scene.server.credentials.push(signing);
    assert_connects(&scene, SignatureScheme::KEM_MLKEM768, None);
    scene.client.verifier = Arc::new(WebPkiVerifier::new(&[root.der()]).unwrap());
    assert_connects(&scene, SignatureScheme::ECDSA_SECP256R1_SHA256, None);
    scene.server.credentials.truncate(1);
    assert_refused(&scene, AlertDescription::HANDSHAKE_FAILURE);
}

#[track_caller]
fn assert_refused(scene: &Scene, alert: AlertDescription) {
    let mut pair = scene.start(None, at(0));
    pair.run();
    let error = pair.to_client.error.as_ref().unwrap();
    let errors = [error, pair.to_server.error.as_ref().unwrap()];
    assert!(errors.iter().any(|it| it.alert() == Some(alert)), "{errors:?}");
    assert!(pair.client.facts().peer.is_none() && pair.server.facts().peer.is_none());
}

#[test]
fn a_peer_whose_certificate_is_refused_gets_nothing_encapsulated() {
    let root = Authority::new("root");
    let mut scene = scene(&root, SignatureScheme::KEM_MLKEM768);
    let wrong = |change: &dyn Fn(&mut rcgen::CertificateParams)| {
        vec![root.issue_kem(ALL[1], &[SERVER_NAME], |it| change(it)).credential()]
    };
    scene.server.credentials = wrong(&|it| it.key_usages = vec![KeyUsagePurpose::DigitalSignature]);
    assert_refused(&scene, AlertDescription::UNSUPPORTED_CERTIFICATE);
    scene.server.credentials = wrong(&|it| it.not_after = rcgen::date_time_ymd(2021, 1, 1));
    assert_refused(&scene, AlertDescription::CERTIFICATE_EXPIRED);
    // The certificate has another key than the server.
    let [mut one, other] = [0; 2].map(|_| server_leaf(&root, ALL[1]));
    one.key_der = other.key_der;
    scene.server.credentials = vec![one.credential()];
    assert_refused(&scene, AlertDescription::BAD_RECORD_MAC);
}
