//! A ticket that can't be used costs a round trip, and is never an error.

use std::sync::Arc;
use std::time::Duration;

use tessera::Time;
use tessera::auth::{
    PeerAcceptance, PeerIdentity, PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer,
};
use tessera::handshake::{ClientAuthentication, Reply};
use tessera::resume::{
    ClientSession, PskKind, TakeAnswer, TakePurpose, TakeSecret, Vault, Verdict,
};
use tessera::wire::SignatureScheme;
use tessera_harness::{Mode, Pair, Ring, Scene, at, to};
use tessera_null_provider::NullVerifier;

use super::FACE;

/// A scene whose tickets detect changes.
fn scene(mode: Mode) -> Scene {
    let provider = tessera_null_provider::provider();
    let mut scene = Scene::over(FACE, provider, mode);
    scene.server.tickets = Some(Arc::new(Ring::new(provider, 1)));
    scene
}

/// Connects, and returns the PSK's kind.
fn connect(scene: &Scene, session: ClientSession, now: Time) -> (Option<PskKind>, Pair) {
    let mut pair = scene.start(Some(session), now);
    pair.run();
    assert_eq!(pair.to_client.error, None);
    assert_eq!(pair.to_server.error, None);
    assert!(pair.to_client.complete && pair.to_server.complete);
    pair.client_write(b"ping");
    pair.run();
    assert_eq!(pair.to_server.data, b"ping");
    let psk = pair.server.facts().psk;
    assert_eq!(pair.client.facts().psk, psk);
    (psk, pair)
}

/// Makes the client's copy claim that the ticket is young; the sealed contents stay as they are.
fn pretend_fresh(session: &mut ClientSession, now: Time) {
    let unix = now.unix.expect("a clock");
    session.state.issued_at = unix.as_millis() as u64;
    session.state.authenticated_at = unix.as_secs();
    session.state.lifetime = 3600;
    if let Some(peer) = &mut session.state.peer {
        peer.expires_at = None;
    }
}

const MODES: [Mode; 6] =
    [Mode::PskDhe, Mode::PskOnly, Mode::Replayable, Mode::FsDhe, Mode::FsKe, Mode::FsPsk];

/// Asserts a full handshake without early data. The one-time key of a ticket that was opened is burned.
fn assert_full(scene: &Scene, session: ClientSession, now: Time) -> Pair {
    let (psk, pair) = connect(scene, session, now);
    assert_eq!(psk, None, "{:?}", scene.mode);
    assert_eq!(pair.to_server.early_data, b"");
    assert_ne!(pair.to_client.verdict, Some(Verdict::Used));
    pair
}

/// RFC 8446 §4.2.11.1: the age is "since the receipt". Servers that count finer than milliseconds refuse a
/// higher one.
#[test]
fn a_client_claims_no_time_that_has_not_passed() {
    let after = |micros| {
        let since = Duration::from_micros(micros);
        Time { monotonic: since, unix: at(0).unix.map(|unix| unix + since) }
    };
    let scene = scene(Mode::Replayable);
    let (_, mut pair) = connect(&scene, scene.session().expect("a session"), after(999));
    let session = pair.to_client.sessions.remove(0);
    for (micros, millis) in [(1001, 0), (1998, 0), (2000, 1), (11_999, 10)] {
        let unix = after(micros).unix.expect("a clock");
        assert_eq!(session.state.age_millis(unix), millis, "{micros}");
    }
}

#[test]
fn a_ticket_of_another_ring_is_not_resumed() {
    for mode in MODES {
        let mut scene = scene(mode);
        let session = scene.session().expect("a session");
        scene.server.tickets = Some(Arc::new(Ring::new(scene.server.provider, 2)));
        assert_full(&scene, session, at(0));
        let session = scene.session().expect("a session");
        scene.server.tickets = None;
        assert_full(&scene, session, at(0));
    }
}

#[test]
fn an_expired_ticket_is_not_resumed() {
    for mode in MODES {
        let mut scene = scene(mode);
        scene.server.ticket_lifetime = Duration::from_secs(100);
        let session = scene.session().expect("a session");
        assert!(connect(&scene, session, at(99)).0.is_some());
        // The client knows, and does not offer it.
        let session = scene.session().expect("a session");
        let pair = assert_full(&scene, session, at(100));
        assert_eq!(pair.to_client.verdict, None);
        let mut session = scene.session().expect("a session");
        pretend_fresh(&mut session, at(100));
        assert_full(&scene, session, at(100));
    }
}

#[test]
fn a_ticket_of_too_old_an_authentication_is_not_resumed() {
    let hours = |hours: u64| at(hours * 3600);
    let mut scene = scene(Mode::PskDhe);
    scene.server.policy.max_authentication_age = Duration::from_secs(24 * 3600);
    // A chain of resumptions does not make the authentication younger.
    let session = scene.session().expect("a session");
    let (psk, mut pair) = connect(&scene, session, hours(10));
    assert_eq!(psk, Some(PskKind::Resumption));
    let (psk, mut pair) = connect(&scene, pair.to_client.sessions.remove(0), hours(20));
    assert_eq!(psk, Some(PskKind::Resumption));
    assert_eq!(pair.client.facts().authenticated_at, at(0).unix.map(|unix| unix.as_secs()));
    let mut session = pair.to_client.sessions.remove(0);
    assert_eq!(session.state.lifetime, 4 * 3600, "no ticket outlives its authentication");
    pretend_fresh(&mut session, hours(24));
    assert_full(&scene, session, hours(24));
    // The policy became stricter after the ticket was issued.
    let session = scene.session().expect("a session");
    scene.server.policy.max_authentication_age = Duration::from_secs(100);
    assert_full(&scene, session, at(100));
}

/// Accepts every peer until some moment.
struct TemporaryVerifier(Option<u64>);

impl PeerVerifier for TemporaryVerifier {
    fn schemes(&self) -> &[SignatureScheme] {
        NullVerifier.schemes()
    }

    fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new("tests: everybody as someone")
    }

    fn verify(&self, _: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        let identity = PeerIdentity { blob: b"someone".to_vec(), expires_at: self.0 };
        Reply::Now(Ok(identity.into()))
    }
}

#[test]
fn a_ticket_of_an_expired_certificate_is_not_resumed() {
    let secs = |now: Time| now.unix.map(|unix| unix.as_secs());
    // The client's certificate.
    let mut scene = scene(Mode::Mutual);
    scene.server.client_authentication =
        ClientAuthentication::Required(Arc::new(TemporaryVerifier(secs(at(50)))));
    let mut sessions = scene.sessions();
    let (psk, pair) = connect(&scene, sessions.remove(0), at(49));
    assert_eq!(psk, Some(PskKind::Resumption));
    assert_eq!(pair.server.facts().peer.as_ref().map(|peer| &*peer.blob), Some(&b"someone"[..]));
    let mut session = sessions.remove(0);
    pretend_fresh(&mut session, at(50));
    let pair = assert_full(&scene, session, at(50));
    assert!(pair.to_client.sessions.is_empty(), "no ticket for an identity that is over");
    // The server's certificate: the client offers nothing.
    let mut scene = self::scene(Mode::FsDhe);
    scene.client.verifier = Arc::new(TemporaryVerifier(secs(at(50))));
    let session = scene.session().expect("a session");
    assert!(connect(&scene, session, at(49)).0.is_some());
    let session = scene.session().expect("a session");
    let pair = assert_full(&scene, session, at(50));
    assert_eq!(pair.to_client.verdict, None);
}

#[test]
fn a_ticket_without_the_certificate_that_is_now_required_is_not_resumed() {
    let mut scene = scene(Mode::PskDhe);
    scene.client.credentials = vec![tessera_harness::credential()];
    let session = scene.session().expect("a session");
    scene.server.client_authentication = ClientAuthentication::Required(Arc::new(NullVerifier));
    let pair = assert_full(&scene, session, at(0));
    assert!(pair.server.facts().peer.is_some());
}

#[test]
fn a_ticket_of_another_scope_is_not_resumed() {
    for mode in MODES {
        let mut scene = scene(mode);
        scene.server.scope = b"listener 1".to_vec();
        let session = scene.session().expect("a session");
        assert!(connect(&scene, session, at(0)).0.is_some());
        for other in [&b""[..], b"listener", b"listener 2", b"listener 11"] {
            scene.server.scope = b"listener 1".to_vec();
            let session = scene.session().expect("a session");
            scene.server.scope = other.to_vec();
            assert_full(&scene, session, at(0));
        }
    }
}

#[test]
fn a_ticket_of_another_server_name_is_not_resumed() {
    for mode in MODES {
        let scene = scene(mode);
        for other in ["other.example", "", "192.0.2.1"] {
            for pretend in [false, true] {
                let mut session = scene.session().expect("a session");
                if pretend {
                    session.state.server_name = Some(other.into());
                }
                let mut destination = to(Some(session));
                destination.server_name = other.into();
                let mut pair = scene.start_to(destination, at(0));
                pair.run();
                assert_eq!(pair.to_client.error, None);
                assert!(pair.to_server.complete);
                assert_eq!(pair.server.facts().psk, None);
                assert_eq!(pair.to_server.early_data, b"");
            }
        }
    }
}

#[test]
fn a_ticket_of_another_protocol_is_resumed_without_early_data() {
    for mode in MODES {
        let mut scene = scene(mode);
        scene.client.protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        scene.server.protocols = vec![b"h2".to_vec()];
        let session = scene.session().expect("a session");
        scene.server.protocols = vec![b"http/1.1".to_vec()];
        let (psk, pair) = connect(&scene, session, at(0));
        assert_eq!(psk, Some(PskKind::Resumption), "the protocol is not the session's");
        assert_eq!(pair.to_server.early_data, b"");
        let expected = match mode {
            Mode::PskDhe | Mode::PskOnly => None,
            Mode::Replayable => Some(Verdict::Unknown),
            _ => Some(Verdict::Burned),
        };
        assert_eq!(pair.to_client.verdict, expected);
        assert_eq!(pair.client.facts().protocol.as_deref(), Some(&b"http/1.1"[..]));
    }
}

#[test]
fn a_truncated_or_changed_ticket_is_not_resumed() {
    for mode in MODES {
        let scene = scene(mode);
        let exported = scene.session().expect("a session").export();
        let session = || ClientSession::import(&exported).expect("as exported");
        let len = session().ticket.len();
        for shorter in 1..len {
            let mut session = session();
            session.ticket.truncate(shorter);
            assert_full(&scene, session, at(0));
        }
        for index in 0..len {
            let mut session = session();
            session.ticket[index] ^= 1 << (index % 8);
            assert_full(&scene, session, at(0));
        }
        // Meanwhile no connection took the forward-secret key of the true ticket.
        let (psk, pair) = connect(&scene, session(), at(0));
        assert!(psk.is_some());
        let early = !matches!(mode, Mode::PskDhe | Mode::PskOnly);
        assert_eq!(pair.to_client.early_data_accepted, early.then_some(true), "{mode:?}");
    }
}

#[test]
fn no_ticket_is_resumed_without_a_clock() {
    let no_clock = Time { unix: None, ..at(0) };
    for mode in MODES {
        let scene = scene(mode);
        let session = scene.session().expect("a session");
        let pair = assert_full(&scene, session, no_clock);
        assert!(pair.to_client.sessions.is_empty());
    }
}

#[test]
fn a_session_resumes_after_it_was_exported_and_imported() {
    for mode in MODES {
        let mut scene = scene(mode);
        scene.client.protocols = vec![b"h2".to_vec()];
        scene.server.protocols = scene.client.protocols.clone();
        scene.client.verifier = Arc::new(TemporaryVerifier(Some(4_000_000_000)));
        let exported = scene.session().expect("a session").export();
        let imported = ClientSession::import(&exported).expect("as exported");
        assert_eq!(imported.export(), exported);
        let (psk, pair) = connect(&scene, imported, at(1));
        assert!(psk.is_some());
        assert_eq!(
            pair.client.facts().peer.as_ref().map(|peer| &*peer.blob),
            Some(&b"someone"[..])
        );
    }
}

#[test]
fn damaged_exports_of_a_session_are_refused_or_harmless() {
    let scene = scene(Mode::FsDhe);
    let exported = scene.session().expect("a session").export();
    for len in 0..exported.len() {
        // Optional fields come last; without one the rest is still a session.
        if let Ok(session) = ClientSession::import(&exported[..len]) {
            assert!(session.forward_secret.is_none());
        }
    }
    let mut longer = exported.to_vec();
    longer.push(0);
    assert!(ClientSession::import(&longer).is_err());
    for index in 0..exported.len() {
        for bit in 0..8 {
            let mut damaged = exported.to_vec();
            damaged[index] ^= 1 << bit;
            let Ok(session) = ClientSession::import(&damaged) else { continue };
            // Tries every bit once; connects for one bit of each byte.
            if bit == index % 8 {
                let config = scene.client.clone();
                let started =
                    Pair::start_over(FACE, &config, &scene.server, to(Some(session)), at(0));
                if let Ok(mut pair) = started {
                    pair.run();
                }
            }
        }
    }
}

/// A pair offered without early data is used up like any other: its key is gone afterwards.
#[test]
fn a_pair_offered_without_early_data_is_used_up() {
    for mode in [Mode::FsDhe, Mode::FsKe, Mode::FsPsk] {
        for offered in [&b"a"[..], b"b"] {
            let mut scene = Scene::over(FACE, tessera_null_provider::provider(), mode);
            scene.client.protocols = vec![b"a".to_vec()];
            scene.server.protocols = vec![b"a".to_vec(), b"b".to_vec()];
            let mut session = scene.session().expect("a session");
            let ticket = session.forward_secret.as_mut().expect("a ticket");
            let handle = ticket.handle;
            if offered == b"a" {
                ticket.max_early_data_size = 0;
            }
            scene.client.protocols = vec![offered.to_vec()];
            let mut pair = scene.start(Some(session), at(0));
            pair.run();
            assert_eq!(pair.to_client.error, None);
            assert_eq!(pair.to_server.early_data, b"");
            assert_eq!(pair.client.facts().one_time_key.is_some(), offered == b"a", "{mode:?}");
            let question = TakeSecret::new(handle, TakePurpose::Burn, None);
            let taken = scene.vault.take(&question);
            assert!(matches!(taken, Reply::Now(TakeAnswer::Absent(_))), "{mode:?}: {taken:?}");
        }
    }
}
