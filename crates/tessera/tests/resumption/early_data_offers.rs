//! Which early data a server accepts: it was offered, fits its session, and is fresh.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tessera::Time;
use tessera::handshake::{EarlyDataStatus, Reply};
use tessera::resume::{
    AcceptResumption, AlreadyUsed, ClientSession, PskKind, ReplayGuard, ResumptionJudge,
    ResumptionVerdict, SingleUseRegister, TicketId, Vault, Verdict,
};
use tessera::wire::{CipherSuite, ContentType, ExtensionType};
use tessera_harness::{Hello, Mode, Pair, Scene, at, expand_label_to_hash, plain, records};

fn scene(mode: Mode) -> Scene {
    Scene::new(tessera_null_provider::provider(), mode)
}

/// Delivers only this hello to a new server.
fn answered(scene: &Scene, hello: &Hello) -> Pair {
    let mut pair = scene.start(None, at(0));
    pair.intercept_client();
    pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
    assert_eq!(pair.to_server.error, None);
    pair
}

/// The hello of a forward-secret flight without the extension early_data, with recomputed binders.
fn without_early_data(scene: &Scene) -> Hello {
    let session = scene.session().expect("a session");
    let ticket = session.forward_secret.as_ref().expect("a ticket");
    let fs_secret = ticket.secret.expose().to_vec();
    let psk = session.state.psk.expose().to_vec();
    let flight = scene.start(Some(session), at(0)).intercept_client();

    let mut hello = Hello::read(&records(&flight)[0][5..]);
    let suite = scene.suite();
    // A one-time PSK adds nothing to agree on.
    let extracted = suite.hash.extract(&fs_secret, &[]);
    let context = suite.hash.hash(&hello.identities()[0].0);
    let fs_psk = expand_label_to_hash(suite.hash, extracted.expose(), "0rttfs", context.as_ref());
    hello.remove(ExtensionType::EARLY_DATA);
    hello.bind(0, suite, &fs_psk, "ext binder");
    hello.bind(1, suite, &psk, "res binder");
    hello
}

/// RFC 8446 §4.2: no extension answers one that the client didn't send.
#[test]
fn a_key_without_early_data_opens_the_connection_and_accepts_none() {
    let scene = scene(Mode::FsPsk);
    let hello = without_early_data(&scene);
    let keys = scene.vault.len();
    let pair = answered(&scene, &hello);
    assert_eq!(pair.server.facts().psk, Some(PskKind::ForwardSecret));
    assert_eq!(pair.server.facts().early_data, EarlyDataStatus::NotOffered);
    assert_eq!(scene.vault.len(), keys - 1);

    // Once more: its key is gone, and there was nothing to reject.
    let pair = answered(&scene, &hello);
    assert_eq!(pair.server.facts().psk, Some(PskKind::Resumption));
    assert_eq!(pair.server.facts().early_data, EarlyDataStatus::NotOffered);
}

#[test]
fn a_server_reports_early_data_only_where_it_was_offered() {
    for mode in Mode::ALL {
        let mut pair = scene(mode).pair();
        pair.run();
        let offers = matches!(mode, Mode::Replayable | Mode::FsDhe | Mode::FsKe | Mode::FsPsk);
        let expected = if offers { EarlyDataStatus::Accepted } else { EarlyDataStatus::NotOffered };
        assert_eq!(pair.server.facts().early_data, expected, "{mode:?}");
    }
}

/// The fate of early data under a session, after a change of the server's configuration.
fn resumed(scene: &Scene, session: ClientSession) -> EarlyDataStatus {
    let mut pair = scene.start(Some(session), at(0));
    pair.run();
    assert_eq!((pair.to_client.error, pair.to_server.error), (None, None), "{:?}", scene.mode);
    assert!(pair.client.facts().psk.is_some(), "{:?}", scene.mode);
    pair.server.facts().early_data
}

/// RFC 8446 §4.2.10: both suite and protocol must be those of the session.
#[test]
fn early_data_in_another_suite_or_protocol_than_its_session_is_rejected() {
    let protocols = [b"a".to_vec(), b"b".to_vec()];
    let [a, b] = [CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite::TLS_CHACHA20_POLY1305_SHA256];
    for (mode, verdict) in [(Mode::Replayable, Verdict::Unknown), (Mode::FsDhe, Verdict::Burned)] {
        let mut scene = scene(mode);
        scene.client.protocols = protocols.to_vec();
        scene.client.suites = vec![a, b];
        scene.server.protocols = vec![protocols[0].clone()];
        scene.server.suites = vec![a];
        let mut sessions = scene.sessions();
        let session = |sessions: &mut Vec<ClientSession>| sessions.pop().expect("a session");

        let mut other = scene.clone();
        other.server.suites = vec![b];
        let status = resumed(&other, session(&mut sessions));
        assert_eq!(status, EarlyDataStatus::Rejected(verdict), "{mode:?}: suite");
        let mut other = scene.clone();
        other.server.protocols = vec![protocols[1].clone()];
        let status = resumed(&other, session(&mut sessions));
        assert_eq!(status, EarlyDataStatus::Rejected(verdict), "{mode:?}: protocol");
        let mut same = scene.clone();
        same.server.protocols.push(protocols[1].clone());
        assert_eq!(resumed(&same, session(&mut scene.sessions())), EarlyDataStatus::Accepted);
    }
}

/// RFC 8446 §8.3: ten seconds of tolerance for clocks and networks, in either direction.
#[test]
fn the_age_of_a_ticket_may_differ_by_ten_seconds_and_no_more() {
    for (millis, expected) in
        [(10_000, EarlyDataStatus::Accepted), (10_001, EarlyDataStatus::Rejected(Verdict::Unknown))]
    {
        let scene = scene(Mode::Replayable);
        let session = scene.session();
        let flight = scene.start(session, at(0)).intercept_client();
        let since = Duration::from_millis(millis);
        let late = Time { monotonic: since, unix: at(0).unix.map(|unix| unix + since) };
        let mut pair = scene.start(None, late);
        pair.intercept_client();
        pair.deliver_to_server(&flight);
        assert_eq!(pair.server.facts().early_data, expected, "{millis} ms");
    }
}

/// Records how long each ticket must be remembered.
#[derive(Default)]
struct Lifetimes(Mutex<Vec<(Duration, Duration)>>);

impl SingleUseRegister for Lifetimes {
    fn claim(
        &self,
        _: &TicketId,
        issued_at: Duration,
        expires_at: Duration,
        _: Duration,
    ) -> Result<(), AlreadyUsed> {
        self.0.lock().expect("no test has panicked").push((issued_at, expires_at));
        Ok(())
    }
}

#[test]
fn a_register_remembers_a_ticket_until_it_expires() {
    let mut scene = scene(Mode::Replayable);
    let register = Arc::new(Lifetimes::default());
    let guard = ReplayGuard { register: register.clone(), max_early_data_size: 100 };
    scene.server.policy.early_data.replayable_without_forward_secrecy = Some(guard);
    scene.server.ticket_lifetime = Duration::from_secs(700);
    scene.pair().run();
    let begin = at(0).unix.expect("a clock");
    assert_eq!(
        *register.0.lock().expect("no test has panicked"),
        [(begin, begin + Duration::from_secs(700))]
    );
}

/// Allows every resumption, and no early data.
struct EarlyDataRefuser;

impl ResumptionJudge for EarlyDataRefuser {
    fn judge(&self, _: &AcceptResumption) -> Reply<ResumptionVerdict> {
        Reply::Now(ResumptionVerdict::AcceptWithoutEarlyData)
    }
}

#[test]
fn an_owner_that_allows_no_early_data_gets_none() {
    for (mode, verdict) in [(Mode::Replayable, Verdict::Unknown), (Mode::FsDhe, Verdict::Burned)] {
        let mut scene = scene(mode);
        scene.server.judge = Some(Arc::new(EarlyDataRefuser));
        let session = scene.session().expect("a session");
        assert_eq!(resumed(&scene, session), EarlyDataStatus::Rejected(verdict), "{mode:?}");
    }
}
