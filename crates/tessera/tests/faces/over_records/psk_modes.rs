//! PSKs in modes that weren't offered, with other hashes, and without a share.

use tessera::Error;
use tessera::handshake::EarlyDataStatus;
use tessera::resume::{PskKind, Vault, Verdict};
use tessera::wire::{AlertDescription, CipherSuite, ContentType, ExtensionType, HandshakeType};
use tessera_harness::{Hello, Mode, Pair, Scene, at, message, plain, records, vec16};

use super::suites::psk_modes::scene;

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

/// The client's alert after a ServerHello.
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

/// Delivers a scene's first flight with other modes and recomputed binders to a server.
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
    // psk_dhe_ke alone, to a server that would prefer psk_ke.
    let pair = with_modes(&scene(Mode::PskOnly), &[1], false);
    assert!(pair.server.facts().hello_retry);
    // Unknown modes.
    for mode in [Mode::PskDhe, Mode::PskOnly] {
        let pair = with_modes(&scene(mode), &[2, 7], true);
        assert_eq!(pair.server.facts().psk, None);
    }
    // Both offered: the better one wins.
    let pair = with_modes(&scene(Mode::PskDhe), &[0, 1], true);
    assert_eq!(pair.server.facts().psk, Some(PskKind::Resumption));
    assert!(pair.server.facts().group.is_some());
}

#[test]
fn a_forward_secret_psk_goes_on_in_an_offered_mode() {
    // The server allows psk_ke with sealed tickets, but wants a share with forward-secret ones, and the
    // client offers only psk_ke: the forward-secret ticket can't be used, and is burned.
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
