//! A client with a monotonic clock alone resumes: by that clock until it starts again, and then only if its owner allows it.

use std::time::Duration;

use tessera::Time;
use tessera::auth::PeerIdentity;
use tessera::resume::{ClientSession, PskKind, SessionClock};
use tessera::wire::ExtensionType;
use tessera_harness::{EARLY_DATA, Hello, Mode, Pair, Scene, at, records};

/// The device was switched on 100 seconds before the tests' beginning of time.
fn undated(seconds: u64) -> Time {
    Time { monotonic: Duration::from_secs(100 + seconds), unix: None }
}

fn scene(mode: Mode) -> Scene {
    Scene::new(tessera_null_provider::provider(), mode)
}

/// Connects at `seconds`, by the client's clock and by the server's; returns the PSK's kind and the newest session.
fn connect(
    scene: &Scene,
    session: Option<ClientSession>,
    (client, server): (Time, Time),
) -> (Option<PskKind>, ClientSession, Pair) {
    let server = Time { monotonic: client.monotonic, ..server };
    let mut pair = scene.start(session, client);
    loop {
        pair.now = server;
        let sent = pair.client_to_server();
        pair.now = client;
        if !pair.server_to_client() && !sent {
            break;
        }
    }
    assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None), "{:?}", scene.mode);
    let session = pair.to_client.sessions.pop().expect("a session");
    (pair.server.facts().psk, session, pair)
}

fn at_both(seconds: u64) -> (Time, Time) {
    (undated(seconds), at(seconds))
}

const RESUMING: [Mode; 6] =
    [Mode::PskDhe, Mode::PskOnly, Mode::Replayable, Mode::FsDhe, Mode::FsKe, Mode::FsPsk];

#[test]
fn sessions_live_by_the_monotonic_clock() {
    for mode in RESUMING {
        let mut scene = scene(mode);
        scene.server.ticket_lifetime = Duration::from_secs(1_000);
        let (psk, session, _) = connect(&scene, None, at_both(0));
        assert_eq!((psk, session.clock), (None, SessionClock::Monotonic));
        let resumes = |psk: Option<PskKind>| psk.is_some();
        let (psk, next, pair) = connect(&scene, Some(session), at_both(998));
        assert!(resumes(psk), "{mode:?}");
        // The server accepts early data only if the age is right.
        let early = if mode == Mode::PskDhe || mode == Mode::PskOnly { &[] } else { EARLY_DATA };
        assert_eq!(pair.to_server.early_data, early, "{mode:?}");
        // Its lifetime ends by the device's clock, whatever the server's shows.
        let (psk, ..) = connect(&scene, Some(next), (undated(998 + 1_001), at(998)));
        assert!(!resumes(psk), "{mode:?}");
    }
}

#[test]
fn a_session_kept_a_moment_is_used_in_the_same_millisecond() {
    let scene = scene(Mode::PskDhe);
    let now = Time { monotonic: Duration::from_nanos(5_000_001), unix: None };
    let (_, session, _) = connect(&scene, None, (now, at(0)));
    let (psk, session, _) = connect(&scene, Some(session), (now, at(0)));
    assert!(psk.is_some());
    // A clock that went back started again.
    let (psk, ..) =
        connect(&scene, Some(session), (Time { monotonic: Duration::ZERO, ..now }, at(0)));
    assert!(psk.is_none());
}

/// By powered time, across restarts, and however often the session is renewed.
#[test]
fn a_chain_of_resumptions_ends_without_a_date() {
    let mut scene = scene(Mode::PskDhe);
    scene.client.policy.max_authentication_age = Duration::from_secs(1_000);
    scene.client.resume_sessions_of_unknown_age = true;
    let (_, session, _) = connect(&scene, None, at_both(0));
    let (psk, session, _) = connect(&scene, Some(session), at_both(600));
    assert!(psk.is_some());
    // The clock starts again; the chain is at least 600 seconds old.
    let session = restarted(&session);
    let (psk, session, _) = connect(&scene, Some(session), (undated(0), at(5_000)));
    assert!(psk.is_some());
    let copy = ClientSession { clock: SessionClock::Monotonic, ..restarted(&session) };
    let (psk, ..) = connect(&scene, Some(session), (undated(399), at(5_399)));
    assert!(psk.is_some());
    let (psk, ..) = connect(&scene, Some(copy), (undated(400), at(5_399)));
    assert!(psk.is_none());
}

fn restarted(session: &ClientSession) -> ClientSession {
    let session = ClientSession::import(&session.export()).expect("imports");
    assert_eq!(session.clock, SessionClock::Lost);
    session
}

#[test]
fn a_session_of_unknown_age_is_used_only_if_the_owner_allows_it() {
    for mode in RESUMING {
        let mut scene = scene(mode);
        let (_, session, _) = connect(&scene, None, at_both(0));
        let (psk, ..) = connect(&scene, Some(restarted(&session)), at_both(10));
        assert_eq!(psk, None, "{mode:?}");
        scene.client.resume_sessions_of_unknown_age = true;
        let (psk, next, pair) = connect(&scene, Some(restarted(&session)), at_both(10));
        assert_eq!(psk, Some(PskKind::Resumption), "{mode:?}");
        // With a key exchange and without early data.
        assert!(pair.client.facts().group.is_some(), "{mode:?}");
        assert_eq!(pair.to_server.early_data, b"", "{mode:?}");
        let hello = Hello::read(&records(&pair.client_sent)[0][5..]);
        assert_eq!(hello.extension(ExtensionType::EARLY_DATA), None, "{mode:?}");
        let [(_, age)] = &hello.identities()[..] else { panic!("one identity") };
        assert_eq!(*age, session.state.age_add, "{mode:?}");
        // The next one's age is known again.
        assert_eq!(next.clock, SessionClock::Monotonic);
    }
}

/// Only the server's ticket is authoritative then.
#[test]
fn a_server_refuses_a_session_of_unknown_age_that_is_too_old() {
    let mut scene = scene(Mode::PskDhe);
    scene.client.resume_sessions_of_unknown_age = true;
    let (_, session, _) = connect(&scene, None, at_both(0));
    let later = (undated(0), at(24 * 3600));
    assert_eq!(connect(&scene, Some(restarted(&session)), later).0, None);
}

/// The verifier of a device without a date decides whether dates matter, and then sets none.
#[test]
fn a_session_whose_servers_certificate_expires_needs_a_date() {
    let scene = scene(Mode::PskDhe);
    for (now, resumes) in [(undated(10), false), (at(10), true), (at(30), false)] {
        let (_, mut session, _) = connect(&scene, None, (at(0), at(0)));
        let end = at(20).unix.map(|unix| unix.as_secs());
        session.state.peer = Some(PeerIdentity { expires_at: end, ..PeerIdentity::default() });
        session.clock = SessionClock::Monotonic;
        session.state.issued_at = 0;
        session.state.authenticated_at = 0;
        assert_eq!(connect(&scene, Some(session), (now, at(10))).0.is_some(), resumes, "{now:?}");
    }
}

#[test]
fn a_date_that_becomes_known_or_unknown_loses_no_chain() {
    let mut scene = scene(Mode::PskDhe);
    scene.client.policy.max_authentication_age = Duration::from_secs(1_000);
    let (_, session, _) = connect(&scene, None, at_both(0));
    let dated = |seconds| Time { unix: at(seconds).unix, ..undated(seconds) };
    let (psk, session, _) = connect(&scene, Some(session), (dated(600), at(600)));
    assert!(psk.is_some());
    assert_eq!(session.clock, SessionClock::Unix);
    assert_eq!(Some(session.state.authenticated_at), at(0).unix.map(|unix| unix.as_secs()));
    // A session of a dated clock has no age without one.
    let (psk, ..) = connect(&scene, Some(session), at_both(700));
    assert!(psk.is_none());
}
