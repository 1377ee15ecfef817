//! The key exchange modes belong to the kind of PSK, and both ends enforce them; external PSKs.

use tessera::handshake::EarlyDataStatus;
use tessera::resume::{Continuation, ExternalPsk, PskKind, SessionState, Vault, Verdict};
use tessera::wire::{AlertDescription, CipherSuite, ContentType, ExtensionType, HandshakeType};
use tessera::{Destination, Error};
use tessera_harness::{
    Hello, Mode, Pair, SERVER_NAME, Scene, at, message, plain, records, to, vec16,
};

fn scene(mode: Mode) -> Scene {
    Scene::new(tessera_null_provider::provider(), mode)
}

const X25519_MLKEM768: u16 = 0x11ec;
const X25519: u16 = 0x1d;

/// A ServerHello to this ClientHello.
fn server_hello(
    hello: &Hello,
    suite: CipherSuite,
    selected: Option<u16>,
    share: Option<(u16, usize)>,
) -> Vec<u8> {
    let mut extensions = vec![0, 43, 0, 2, 3, 4];
    if let Some(selected) = selected {
        extensions.extend_from_slice(&[0, 41, 0, 2]);
        extensions.extend_from_slice(&selected.to_be_bytes());
    }
    if let Some((group, len)) = share {
        extensions.extend_from_slice(&[0, 51]);
        let entry = [&group.to_be_bytes()[..], &vec16(&vec![9; len])].concat();
        extensions.extend_from_slice(&vec16(&entry));
    }
    let session_id = &hello.head[34..34 + 33];
    let body =
        [&[3, 3][..], &[5; 32], session_id, &suite.0.to_be_bytes(), &[0], &vec16(&extensions)]
            .concat();
    plain(ContentType::HANDSHAKE, &message(HandshakeType::SERVER_HELLO, &body))
}

/// What a client says to a ServerHello.
fn client_says(
    scene: &Scene,
    suite: CipherSuite,
    selected: Option<u16>,
    share: Option<(u16, usize)>,
) -> Option<AlertDescription> {
    let mut pair = scene.pair();
    let flight = pair.intercept_client();
    let hello = Hello::read(&records(&flight)[0][5..]);
    pair.deliver_to_client(&server_hello(&hello, suite, selected, share));
    pair.to_client.error.as_ref().and_then(Error::alert)
}

#[test]
fn a_client_uses_no_psk_in_a_mode_of_another_kind() {
    tessera_harness::about_records!();
    let aes128 = CipherSuite::TLS_AES_128_GCM_SHA256;
    let illegal = Some(AlertDescription::ILLEGAL_PARAMETER);
    let share = Some((X25519_MLKEM768, 1120));
    let missing = Some(AlertDescription::MISSING_EXTENSION);
    let cases = [
        // fs-fast is for the forward-secret identity alone.
        (Mode::FsKe, Some(0), None, None),
        (Mode::FsKe, Some(0), share, None),
        (Mode::FsKe, Some(1), None, illegal),
        (Mode::FsKe, Some(1), share, None),
        (Mode::FsDhe, Some(0), None, illegal),
        (Mode::FsDhe, Some(1), None, illegal),
        (Mode::FsDhe, Some(0), share, None),
        (Mode::PskDhe, Some(0), None, illegal),
        (Mode::PskDhe, Some(0), share, None),
        (Mode::Replayable, Some(0), None, illegal),
        (Mode::PskOnly, Some(0), None, None),
        (Mode::PskOnly, Some(0), share, illegal),
        // An identity that was not offered.
        (Mode::PskDhe, Some(1), share, illegal),
        (Mode::PskDhe, Some(u16::MAX), share, illegal),
        (Mode::FsKe, Some(2), None, illegal),
        (Mode::FsDhe, Some(2), share, illegal),
        // No PSK and no share; no PSK was offered.
        (Mode::FsKe, None, None, missing),
        (Mode::PskDhe, None, None, missing),
        (Mode::Full, None, None, missing),
        (Mode::Full, Some(0), share, Some(AlertDescription::UNSUPPORTED_EXTENSION)),
        // A share that wasn't asked for, or is none.
        (Mode::PskDhe, Some(0), Some((X25519, 32)), illegal),
        (Mode::PskDhe, Some(0), Some((X25519_MLKEM768, 1119)), illegal),
        (Mode::PskOnly, None, share, illegal),
    ];
    for (mode, selected, share, expected) in cases {
        let said = client_says(&scene(mode), aes128, selected, share);
        assert_eq!(said, expected, "{mode:?}, {selected:?}, {share:?}");
    }
}

#[test]
fn a_client_uses_no_psk_with_another_hash() {
    tessera_harness::about_records!();
    let share = Some((X25519_MLKEM768, 1120));
    for (suite, expected) in [
        (CipherSuite::TLS_AES_256_GCM_SHA384, Some(AlertDescription::ILLEGAL_PARAMETER)),
        (CipherSuite::TLS_CHACHA20_POLY1305_SHA256, None),
        (CipherSuite(0x1304), Some(AlertDescription::ILLEGAL_PARAMETER)),
    ] {
        assert_eq!(client_says(&scene(Mode::PskDhe), suite, Some(0), share), expected);
        assert_eq!(client_says(&scene(Mode::FsDhe), suite, Some(0), share), expected);
    }
}

/// The first flight of a scene with other modes in it, its binders made anew, at a server.
fn with_modes(scene: &Scene, modes: &[u8], keep_share: bool) -> Pair {
    let session = scene.session().expect("a session");
    let psk = session.state.psk.expose().to_vec();
    let mut pair = scene.start(Some(session), at(0));
    let flight = pair.intercept_client();
    let mut hello = Hello::read(&records(&flight)[0][5..]);
    hello.set(ExtensionType::PSK_KEY_EXCHANGE_MODES, &[&[modes.len() as u8], modes].concat());
    if !keep_share {
        hello.set(ExtensionType::KEY_SHARE, &[0, 0]);
    }
    let last = hello.identities().len() - 1;
    hello.bind(last, scene.suite(), &psk, "res binder");
    pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
    pair
}

#[test]
fn a_server_uses_no_psk_in_a_mode_that_was_not_offered() {
    tessera_harness::about_records!();
    // psk_ke alone, to a server that doesn't allow it: a full handshake.
    for mode in [Mode::PskDhe, Mode::Replayable, Mode::FsDhe, Mode::FsKe, Mode::FsPsk] {
        let scene = scene(mode);
        let pair = with_modes(&scene, &[0], true);
        assert_eq!(pair.to_server.error, None, "{mode:?}");
        assert_eq!(pair.server.facts().psk, None, "{mode:?}");
        let keys = if matches!(mode, Mode::FsDhe | Mode::FsKe | Mode::FsPsk) { 2 } else { 0 };
        assert_eq!(scene.vault.len(), keys, "nothing is taken");
        let pair = with_modes(&scene, &[0], false);
        assert!(pair.server.facts().hello_retry && pair.server.facts().psk.is_none());
    }
    // psk_dhe_ke alone, to a server that would like psk_ke.
    let pair = with_modes(&scene(Mode::PskOnly), &[1], false);
    assert!(pair.server.facts().hello_retry);
    // Modes that nobody knows.
    for mode in [Mode::PskDhe, Mode::PskOnly] {
        let pair = with_modes(&scene(mode), &[2, 7], true);
        assert_eq!(pair.server.facts().psk, None);
    }
    // Both offered: the better one.
    let pair = with_modes(&scene(Mode::PskDhe), &[0, 1], true);
    assert_eq!(pair.server.facts().psk, Some(PskKind::Resumption));
    assert!(pair.server.facts().group.is_some());
}

#[test]
fn a_forward_secret_psk_goes_on_in_an_offered_mode() {
    tessera_harness::about_records!();
    // The server takes sealed tickets alone, but wants a share with forward-secret ones, and the
    // client offers psk_ke alone: the forward-secret ticket can't be used, and is burned.
    for keep_share in [true, false] {
        let mut scene = scene(Mode::FsDhe);
        scene.server.policy.psk_only_without_forward_secrecy = true;
        let session = scene.session().expect("a session");
        let ticket = session.forward_secret.as_ref().expect("a forward-secret ticket");
        let id = ticket.id;
        let keys = scene.vault.len();
        let psk = session.state.psk.expose().to_vec();
        let mut pair = scene.start(Some(session), at(0));
        let flight = pair.intercept_client();
        let mut hello = Hello::read(&records(&flight)[0][5..]);
        hello.set(ExtensionType::PSK_KEY_EXCHANGE_MODES, &[1, 0]);
        if !keep_share {
            hello.remove(ExtensionType::KEY_SHARE);
            hello.remove(ExtensionType::SUPPORTED_GROUPS);
        }
        hello.bind(1, scene.suite(), &psk, "res binder");
        pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
        let facts = pair.server.facts();
        assert_eq!(pair.to_server.error, None);
        assert_eq!((facts.psk, facts.group), (Some(PskKind::Resumption), None));
        assert_eq!(facts.early_data, EarlyDataStatus::Rejected(Verdict::Burned));
        assert_eq!(scene.vault.len(), keys - 1, "{id:?}");
    }
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
        // A client that wants the PSK alone sends no share: another server asks for one, and makes
        // a full handshake, for the modes may not change (RFC 8446 §4.1.2).
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

    // The PSK's hash decides on the suite.
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

    // The two ends think of different hashes: the binder has another length, and doesn't fit.
    scene.server.suites = vec![sha256, sha384];
    scene.server.groups = scene.client.groups.clone();
    let pair = connect(&scene, vec![external("known", sha256)]);
    assert_eq!(pair.to_server.error.as_ref().and_then(Error::alert), Some(expected));
}

#[test]
fn external_psks_are_offered_beside_a_session() {
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
        let started = Pair::start(&scene.client, &scene.server, destination, at(0));
        assert!(matches!(started, Err(Error::Configuration(_))));
    }
    assert!(SessionState::decode(SERVER_NAME.as_bytes()).is_none());
}

/// Policies that look compatible: what may go out under the sealed ticket alone may not under the
/// forward-secret one, and the modes hold for both.
#[test]
fn psk_ke_for_the_fallback_is_not_psk_ke_for_the_flight() {
    let mut scene = scene(Mode::FsDhe);
    if let Some(guard) = &mut scene.server.policy.early_data.forward_secret {
        guard.continuation = Continuation::PskKe;
    }
    let session = scene.session();
    scene.client.policy.psk_only_without_forward_secrecy = true;
    let mut pair = Pair::start(&scene.client, &scene.server, to(session), at(0)).expect("starts");
    pair.client.write_early_data(b"early", &mut pair.client_output).expect("early data");
    pair.run();
    assert_eq!(pair.to_client.error, None);
    assert_eq!(pair.to_server.early_data, b"early");
    assert_eq!(pair.client.facts().early_data, EarlyDataStatus::Accepted);
    assert_eq!(pair.client.facts().psk, Some(PskKind::ForwardSecret));
}
