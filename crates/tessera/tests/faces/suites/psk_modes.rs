//! The key exchange modes belong to the kind of PSK, and both ends enforce them; external PSKs.

use tessera::handshake::EarlyDataStatus;
use tessera::resume::{Continuation, ExternalPsk, PskKind, SessionState, Verdict};
use tessera::wire::{AlertDescription, CipherSuite};
use tessera::{Destination, Error};
use tessera_harness::{Mode, Pair, SERVER_NAME, Scene, at, to};

use super::FACE;

pub(crate) fn scene(mode: Mode) -> Scene {
    Scene::over(FACE, tessera_null_provider::provider(), mode)
}

#[test]
fn every_pair_of_continuations_agrees_on_a_mode() {
    let continuations = [Continuation::PskDheKe, Continuation::PskKe];
    for (client, server) in continuations.iter().flat_map(|a| continuations.map(|b| (*a, b))) {
        let mut scene = scene(Mode::FsDhe);
        scene.client.policy.early_data.forward_secret = Some(client);
        let guard = scene.server.policy.early_data.forward_secret.as_mut();
        guard.expect("a guard").continuation = server;
        let mut pair = scene.pair();
        pair.run();
        assert_eq!(pair.to_client.early_data_accepted, Some(true));
        let alone = client == Continuation::PskKe && server == Continuation::PskKe;
        let expected = if alone { Continuation::PskKe } else { Continuation::PskDheKe };
        assert_eq!(pair.client.facts().continuation, Some(expected));
        assert_eq!(pair.server.facts().continuation, Some(expected));
    }
}

fn external(name: &str, suite: CipherSuite) -> ExternalPsk {
    let secret = name.bytes().cycle().take(32).collect::<Vec<u8>>().into();
    ExternalPsk::new(name.into(), secret, suite)
}

fn connect(scene: &Scene, external_psks: Vec<ExternalPsk>) -> Pair {
    let destination = Destination { external_psks, ..to(None) };
    let mut pair = scene.start_to(destination, at(0));
    pair.run();
    pair
}

#[test]
fn external_psks_connect_in_the_mode_that_both_sides_allow() {
    let sha256 = CipherSuite::TLS_AES_128_GCM_SHA256;
    for (client, server) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut scene = scene(Mode::Full);
        scene.client.policy.psk_only_without_forward_secrecy = client;
        scene.server.policy.psk_only_without_forward_secrecy = server;
        scene.server.external_psks = vec![external("other", sha256), external("known", sha256)];
        // Unknown ones first; the secrets of the others don't matter.
        let offered = vec![external("unknown", sha256), external("known", sha256)];
        let pair = connect(&scene, offered);
        assert_eq!(pair.to_client.error, None);
        let (facts, at_server) = (pair.client.facts(), pair.server.facts());
        // A client that wants the PSK alone sends no share: such a server asks for one, and makes
        // a full handshake, since the modes may not change (RFC 8446 §4.1.2).
        let refused = client && !server;
        let expected = (!refused).then_some(PskKind::External);
        assert_eq!(facts.psk, expected);
        assert_eq!(at_server.psk, expected);
        assert_eq!(facts.group.is_none(), client && server);
        assert_eq!(facts.hello_retry, refused);
        assert_eq!(facts.peer.is_some(), refused);
    }
}

#[test]
fn external_psks_of_another_secret_or_hash_are_refused_or_passed_over() {
    let (sha256, sha384) =
        (CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite::TLS_AES_256_GCM_SHA384);
    // A wrong secret is forged.
    let mut scene = scene(Mode::Full);
    scene.server.external_psks = vec![external("known", sha256)];
    let mut wrong = external("known", sha256);
    wrong.secret[0] ^= 1;
    let pair = connect(&scene, vec![wrong]);
    let expected = AlertDescription::DECRYPT_ERROR;
    assert_eq!(pair.to_server.error.as_ref().and_then(Error::alert), Some(expected));
    assert_eq!(pair.to_client.error, Some(Error::AlertReceived(expected)));

    // The PSK's hash determines the suite.
    scene.server.external_psks = vec![external("known", sha384)];
    let pair = connect(&scene, vec![external("unknown", sha256), external("known", sha384)]);
    assert_eq!(pair.to_client.error, None);
    assert_eq!(pair.client.facts().psk, Some(PskKind::External));
    assert_eq!(pair.client.facts().suite, Some(sha384));

    // No suite of that hash in common: a full handshake, after a retry as well.
    scene.server.suites = vec![sha256];
    for groups in [scene.server.groups.clone(), vec![tessera::wire::NamedGroup::X25519]] {
        scene.server.groups = groups;
        let pair = connect(&scene, vec![external("known", sha384), external("a", sha256)]);
        assert_eq!(pair.to_client.error, None);
        assert_eq!(pair.client.facts().psk, None);
        assert_eq!(pair.client.facts().suite, Some(sha256));
    }

    // The two ends assume different hashes: the binder has another length, and doesn't fit.
    scene.server.suites = vec![sha256, sha384];
    scene.server.groups = scene.client.groups.clone();
    let pair = connect(&scene, vec![external("known", sha256)]);
    assert_eq!(pair.to_server.error.as_ref().and_then(Error::alert), Some(expected));
}

#[test]
fn external_psks_are_offered_along_with_a_session() {
    let sha256 = CipherSuite::TLS_AES_128_GCM_SHA256;
    let mut scene = scene(Mode::FsDhe);
    scene.server.external_psks = vec![external("known", sha256)];
    let session = scene.session();
    let external_psks = vec![external("known", sha256)];
    let destination = Destination { external_psks: external_psks.clone(), ..to(session) };
    let mut pair = scene.start_to(destination, at(0));
    pair.run();
    assert_eq!(pair.to_client.early_data_accepted, Some(true));
    // A server that lost its ring and its vault.
    let session = scene.session();
    scene.server.tickets = None;
    scene.server.policy.early_data.forward_secret = None;
    let destination = Destination { external_psks, ..to(session) };
    let mut pair = scene.start_to(destination, at(0));
    pair.run();
    assert_eq!(pair.to_client.error, None);
    assert_eq!(pair.client.facts().psk, Some(PskKind::External));
    assert_eq!(pair.to_client.verdict, Some(Verdict::Unknown));
    assert_eq!(pair.to_server.early_data, b"");
}

#[test]
fn psks_that_no_client_may_offer_are_refused_before_a_hello() {
    let sha256 = CipherSuite::TLS_AES_128_GCM_SHA256;
    let mut scene = scene(Mode::Full);
    scene.client.suites = vec![sha256];
    let mut empty = external("known", sha256);
    empty.secret.clear();
    for psk in [
        external("known", CipherSuite::TLS_AES_256_GCM_SHA384),
        external("", sha256),
        external(&"x".repeat(8193), sha256),
        empty,
    ] {
        let destination = Destination { external_psks: vec![psk], ..to(None) };
        let started = Pair::start_over(FACE, &scene.client, &scene.server, destination, at(0));
        assert!(matches!(started, Err(Error::Configuration(_))));
    }
    assert!(SessionState::decode(SERVER_NAME.as_bytes()).is_none());
}

/// Policies that look compatible: what may be sent under the sealed ticket alone may not under the
/// forward-secret one, and the modes hold for both.
#[test]
fn psk_ke_for_the_fallback_is_not_psk_ke_for_the_flight() {
    let mut scene = scene(Mode::FsDhe);
    if let Some(guard) = &mut scene.server.policy.early_data.forward_secret {
        guard.continuation = Continuation::PskKe;
    }
    let session = scene.session();
    scene.client.policy.psk_only_without_forward_secrecy = true;
    let mut pair =
        Pair::start_over(FACE, &scene.client, &scene.server, to(session), at(0)).expect("starts");
    pair.client.write_early_data(b"early", &mut pair.client_output).expect("early data");
    pair.run();
    assert_eq!(pair.to_client.error, None);
    assert_eq!(pair.to_server.early_data, b"early");
    assert_eq!(pair.client.facts().early_data, EarlyDataStatus::Accepted);
    assert_eq!(pair.client.facts().psk, Some(PskKind::ForwardSecret));
}
