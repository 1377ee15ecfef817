//! Sessions as bytes, and the carriers for which they are valid.

use tessera::auth::{PeerIdentity, VerifierDigest};
use tessera::crypto::Secret;
use tessera::resume::{
    Ancestry, Carrier, ClientSession, PskKind, SessionClock, SessionImportError, SessionState,
};
use tessera::wire::{CipherSuite, ExtensionType, NamedGroup};
use tessera_harness::{Hello, Mode, Pair, SERVER_NAME, Scene, at, records};
use tessera_null_provider::provider;

use super::FACE;

/// A session of a stream, and its fields.
fn stream_session() -> (SessionState, Vec<u8>) {
    let session = SessionState {
        suite: CipherSuite::TLS_AES_128_GCM_SHA256,
        psk: Secret::from_slice(&[7; 32]).expect("short"),
        protocol: Some(b"h2".to_vec()),
        server_name: Some(SERVER_NAME.into()),
        peer: Some(PeerIdentity { blob: b"p".to_vec(), expires_at: None }),
        accepted_by: Some(VerifierDigest([6; 32])),
        external_psk: None,
        authenticated_at: 0x0102_0304,
        policy_epoch: 0,
        scope: vec![9, 8],
        ancestry: Ancestry::PostQuantum,
        issued_at: 0x0a0b_0c0d,
        lifetime: 3600,
        age_add: 0xffee_ddcc,
        max_early_data_size: 1024,
        companion: None,
        carrier: Carrier::STREAM,
    };
    let fields: [(u8, &[u8]); 11] = [
        (1, &[0x13, 0x01]),
        (2, &[7; 32]),
        (3, b"h2"),
        (4, SERVER_NAME.as_bytes()),
        (5, b"p"),
        (8, &[0, 0, 0, 0, 1, 2, 3, 4]),
        (9, &[9, 8]),
        (10, &[2]),
        (11, &[0, 0, 0, 0, 0x0a, 0x0b, 0x0c, 0x0d]),
        (12, &[0, 0, 0x0e, 0x10]),
        (13, &[0xff, 0xee, 0xdd, 0xcc]),
    ];
    let mut bytes = Vec::new();
    for (tag, value) in fields {
        bytes.extend_from_slice(&[tag, 0, value.len() as u8]);
        bytes.extend_from_slice(value);
    }
    bytes.extend_from_slice(&[14, 0, 4, 0, 0, 4, 0]);
    (session, [bytes, VERIFIER.to_vec()].concat())
}

/// The last field of that session.
const VERIFIER: [u8; 35] = {
    let mut field = [6; 35];
    [field[0], field[1], field[2]] = [17, 0, 32];
    field
};

/// Version 2, as in tickets.
fn sealed(fields: &[u8]) -> Vec<u8> {
    [&[2], fields].concat()
}

#[test]
fn a_session_of_a_stream_is_encoded_without_a_carrier() {
    let (session, fields) = stream_session();
    assert_eq!(*session.encode(), sealed(&fields));
    let decoded = SessionState::decode(&sealed(&fields)).expect("decodes");
    assert_eq!(decoded.carrier, Carrier::STREAM);
    assert_eq!(*decoded.encode(), sealed(&fields));

    let session = ClientSession {
        state: session,
        ticket: b"ticket".to_vec(),
        group: Some(NamedGroup::X25519),
        forward_secret: None,
        clock: SessionClock::Unix,
    };
    let file = [b"tessera session 2\n", &fields[..], &[64, 0, 6], b"ticket", &[65, 0, 2, 0, 0x1d]]
        .concat();
    assert_eq!(*session.export(), file);
    let imported = ClientSession::import(&file).expect("imports");
    assert_eq!(imported.state.carrier, Carrier::STREAM);
    assert_eq!(*imported.export(), file);
}

/// All but the last field.
fn before(fields: &[u8]) -> &[u8] {
    fields.strip_suffix(&VERIFIER).expect("it is the last")
}

/// Including unknown ones.
#[test]
fn a_session_of_another_carrier_is_encoded_with_it() {
    for number in 1..=u8::MAX {
        let (session, fields) = stream_session();
        let session = SessionState { carrier: Carrier(number), ..session };
        let named = sealed(&[before(&fields), &[16, 0, 1, number], &VERIFIER].concat());
        assert_eq!(*session.encode(), named);
        let decoded = SessionState::decode(&named).expect("decodes");
        assert_eq!(decoded.carrier, Carrier(number));
    }
    let (_, fields) = stream_session();
    for wrong in [&[16, 0, 1, 0][..], &[16, 0, 0], &[16, 0, 2, 1, 1]] {
        let fields = [before(&fields), wrong, &VERIFIER].concat();
        assert!(SessionState::decode(&sealed(&fields)).is_none());
    }
}

#[test]
fn a_session_of_another_policy_epoch_is_encoded_with_it() {
    let (session, fields) = stream_session();
    let named = sealed(&[&fields[..], &[18, 0, 8, 0, 0, 0, 0, 0, 0, 1, 2]].concat());
    assert_eq!(*SessionState { policy_epoch: 258, ..session }.encode(), named);
    let decoded = SessionState::decode(&named).expect("decodes");
    assert_eq!(decoded.policy_epoch, 258);
    // Epoch 0 has one encoding.
    let zero = [&fields[..], &[18, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
    assert!(SessionState::decode(&sealed(&zero)).is_none());
}

/// It is unknown where such a session is valid.
#[test]
fn a_session_with_a_peer_and_without_its_verifier_is_no_session() {
    let (session, _) = stream_session();
    let nobody = SessionState { peer: None, ..session };
    assert!(SessionState::decode(&nobody.encode()).is_none(), "a verifier without a peer");
    let (session, _) = stream_session();
    let unverified = SessionState { accepted_by: None, ..session };
    assert!(SessionState::decode(&unverified.encode()).is_none(), "a peer without a verifier");
    let (session, _) = stream_session();
    let neither = SessionState { peer: None, accepted_by: None, ..session };
    assert!(SessionState::decode(&neither.encode()).is_some());
}

/// Version 1 had no verifier: it must not be read as a session without one.
#[test]
fn sessions_of_version_1_are_refused() {
    let (session, _) = stream_session();
    let session = SessionState { peer: None, accepted_by: None, ..session };
    let mut ticket = session.encode();
    assert!(SessionState::decode(&ticket).is_some());
    ticket[0] = 1;
    assert!(SessionState::decode(&ticket).is_none());
    let fields = &ticket[1..];
    let file = |magic: &[u8]| [magic, fields, &[64, 0, 1, 7]].concat();
    let import = |magic| ClientSession::import(&file(magic)).map(drop);
    assert_eq!(import(b"tessera session 2\n"), Ok(()));
    assert_eq!(import(b"tessera session 1\n"), Err(SessionImportError::EarlierVersion));
    assert_eq!(import(b"tessera session 3\n"), Err(SessionImportError::OtherVersion));
}

pub(crate) const MODES: [Mode; 6] =
    [Mode::PskDhe, Mode::PskOnly, Mode::Replayable, Mode::FsDhe, Mode::FsKe, Mode::FsPsk];

/// Connects, and returns the PSK's kind and the ClientHello.
pub(crate) fn connect(scene: &Scene, session: ClientSession) -> (Option<PskKind>, Hello, Pair) {
    let mut pair = scene.start(Some(session), at(0));
    pair.run();
    assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None));
    assert!(pair.to_client.complete && pair.to_server.complete);
    assert_eq!(pair.client.facts().psk, pair.server.facts().psk);
    let hello = Hello::read(&records(&pair.client_sent)[0][5..]);
    (pair.server.facts().psk, hello, pair)
}

#[test]
fn a_client_offers_no_session_of_another_carrier() {
    for mode in MODES {
        let scene = Scene::over(FACE, provider(), mode);
        for carrier in [Carrier(1), Carrier(200)] {
            let mut session = scene.session().expect("a session");
            session.state.carrier = carrier;
            let (psk, hello, _) = connect(&scene, session);
            assert_eq!(psk, None, "{mode:?}");
            for typ in [ExtensionType::PRE_SHARED_KEY, ExtensionType::EARLY_DATA] {
                assert_eq!(hello.extension(typ), None, "{mode:?}");
            }
        }
    }
}
