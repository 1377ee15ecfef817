//! Sessions as bytes, and what carries the connections that they are good for.

use tessera::crypto::Secret;
use tessera::resume::{Ancestry, Carrier, ClientSession, PskKind, SessionState};
use tessera::wire::{CipherSuite, ExtensionType, NamedGroup};
use tessera_harness::{Hello, Mode, Pair, SERVER_NAME, Scene, at, records};
use tessera_null_provider::provider;

/// A session of a stream, and all that any version of its encoding ever wrote.
fn stream_session() -> (SessionState, Vec<u8>) {
    let session = SessionState {
        suite: CipherSuite::TLS_AES_128_GCM_SHA256,
        psk: Secret::from_slice(&[7; 32]).expect("short"),
        protocol: Some(b"h2".to_vec()),
        server_name: Some(SERVER_NAME.into()),
        peer: None,
        external_psk: None,
        authenticated_at: 0x0102_0304,
        scope: vec![9, 8],
        ancestry: Ancestry::PostQuantum,
        issued_at: 0x0a0b_0c0d,
        lifetime: 3600,
        age_add: 0xffee_ddcc,
        max_early_data_size: 1024,
        companion: None,
        carrier: Carrier::STREAM,
    };
    let fields: [(u8, &[u8]); 10] = [
        (1, &[0x13, 0x01]),
        (2, &[7; 32]),
        (3, b"h2"),
        (4, SERVER_NAME.as_bytes()),
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
    (session, bytes)
}

/// Version 1, as in tickets.
fn sealed(fields: &[u8]) -> Vec<u8> {
    [&[1], fields].concat()
}

#[test]
fn a_stream_goes_without_saying() {
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
    };
    let file = [b"tessera session 1\n", &fields[..], &[64, 0, 6], b"ticket", &[65, 0, 2, 0, 0x1d]]
        .concat();
    assert_eq!(*session.export(), file);
    let imported = ClientSession::import(&file).expect("imports");
    assert_eq!(imported.state.carrier, Carrier::STREAM);
    assert_eq!(*imported.export(), file);
}

/// Also those that this version doesn't know.
#[test]
fn other_carriers_are_named() {
    for number in 1..=u8::MAX {
        let (session, fields) = stream_session();
        let session = SessionState { carrier: Carrier(number), ..session };
        let named = sealed(&[&fields[..], &[16, 0, 1, number]].concat());
        assert_eq!(*session.encode(), named);
        let decoded = SessionState::decode(&named).expect("decodes");
        assert_eq!(decoded.carrier, Carrier(number));
    }
    let (_, fields) = stream_session();
    for wrong in [&[16, 0, 1, 0][..], &[16, 0, 0], &[16, 0, 2, 1, 1]] {
        assert!(SessionState::decode(&sealed(&[&fields[..], wrong].concat())).is_none());
    }
}

const MODES: [Mode; 6] =
    [Mode::PskDhe, Mode::PskOnly, Mode::Replayable, Mode::FsDhe, Mode::FsKe, Mode::FsPsk];

/// Connects, and gives the PSK's kind and the ClientHello.
fn connect(scene: &Scene, session: ClientSession) -> (Option<PskKind>, Hello, Pair) {
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
        let scene = Scene::new(provider(), mode);
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

/// The client says that it is a stream's, and the ticket knows better.
#[test]
fn a_server_resumes_no_session_of_another_carrier() {
    tessera_harness::about_records!();
    for mode in MODES {
        let scene = Scene::new(provider(), mode);
        for (carrier, resumes) in [(Carrier::STREAM, true), (Carrier(1), false)] {
            let mut session = scene.session().expect("a session");
            let ticket = SessionState::decode(&session.ticket).expect("is not sealed");
            session.ticket = SessionState { carrier, ..ticket }.encode().to_vec();
            let (psk, hello, pair) = connect(&scene, session);
            assert_eq!(psk.is_some(), resumes, "{mode:?}");
            assert!(hello.extension(ExtensionType::PRE_SHARED_KEY).is_some(), "{mode:?}");
            let early = hello.extension(ExtensionType::EARLY_DATA).is_some() && resumes;
            assert_eq!(!pair.to_server.early_data.is_empty(), early, "{mode:?}");
        }
    }
}
