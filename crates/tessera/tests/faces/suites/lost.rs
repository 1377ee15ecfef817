//! The verdict on a flight whose key was in the memory of a server that ended: the client's judgement of
//! it over a whole connection (docs/0rtt-fs.md, section 10).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tessera::handshake::{EarlyDataStatus, Reply};
use tessera::resume::{
    Absence, ClientSession, FlightHandle, Incarnation, PutRefused, PutSecret, TakeAnswer,
    TakePurpose, TakeSecret, Vault, Verdict,
};
use tessera::wire::NamedGroup;
use tessera::{Destination, Time};
use tessera_harness::{EARLY_DATA, Mode, OneVault, Pair, Scene, TestClock, at, to};

use super::FACE;

/// A vault whose process has restarted since it issued tickets.
pub(crate) struct RestartedVault {
    before: Arc<OneVault>,
    ended_before: Duration,
    asked: Mutex<Vec<TakeSecret>>,
}

const FIRST_LIFE: Incarnation = Incarnation { vault: [7; 16], number: 3 };

impl Vault for RestartedVault {
    fn put(&self, put: PutSecret<'_>) -> Result<(), PutRefused> {
        self.before.put(put)
    }

    fn take(&self, question: &TakeSecret) -> Reply<TakeAnswer> {
        self.asked.lock().expect("no panic").push(*question);
        Reply::Now(TakeAnswer::Absent(Absence::Lost { ended_before: self.ended_before }))
    }

    fn burn(&self, handle: &FlightHandle) {
        self.before.burn(handle);
    }

    fn incarnation(&self) -> Option<Incarnation> {
        Some(FIRST_LIFE)
    }

    fn len(&self) -> usize {
        self.before.len()
    }
}

/// A session of the first life, and the scene of the second, which began `ended_before` before its answers.
pub(crate) fn scene(
    mode: Mode,
    ended_before: Duration,
) -> (Scene, ClientSession, Arc<RestartedVault>) {
    let mut scene = Scene::over(FACE, tessera_null_provider::provider(), mode);
    let vault = Arc::new(RestartedVault {
        before: scene.vault.clone(),
        ended_before,
        asked: Mutex::default(),
    });
    if let Some(guard) = &mut scene.server.policy.early_data.forward_secret {
        guard.vault = vault.clone();
    }
    let session = scene.session().expect("a session");
    (scene, session, vault)
}

fn after(moment: Time, millis: u64) -> Time {
    let later = |time: Duration| time + Duration::from_millis(millis);
    Time { monotonic: later(moment.monotonic), unix: moment.unix.map(later) }
}

fn verdict(pair: &Pair) -> Option<Verdict> {
    assert_eq!(pair.to_client.error, None);
    assert_eq!(pair.to_server.early_data, b"");
    pair.to_client.verdict
}

#[test]
fn a_lost_key_is_burned_only_for_connections_begun_after_the_end_of_its_life() {
    for mode in [Mode::FsDhe, Mode::FsKe, Mode::FsPsk] {
        for (took, expected) in [(2_000, Verdict::Burned), (2_700, Verdict::Unknown)] {
            let (scene, session, vault) = scene(mode, Duration::from_secs(3));
            let mut pair = scene.start(Some(session), at(10));
            pair.now = after(at(10), took);
            pair.run();
            assert_eq!(verdict(&pair), Some(expected), "{mode:?}");
            // The server itself can't judge the flight.
            let rejected = EarlyDataStatus::Rejected(Verdict::Unknown);
            assert_eq!(pair.server.facts().early_data, rejected);
            assert!(pair.server.facts().early_data_key_lost);
            let asked = vault.asked.lock().expect("no panic");
            assert_eq!(asked[0].purpose, TakePurpose::Accept);
            assert_eq!(asked[0].incarnation, Some(FIRST_LIFE), "as in the ticket");
        }
    }
}

/// The rest of the flight may be written much later: its beginning counts, which the earlier life may have
/// accepted.
#[test]
fn the_beginning_of_a_flight_counts_though_its_early_data_is_written_late() {
    let (scene, session, _) = scene(Mode::FsDhe, Duration::from_secs(3));
    let mut pair = scene.start(Some(session), at(10));
    pair.now = after(at(10), 5_000);
    let written = pair.client.write_early_data(EARLY_DATA, &mut pair.client_output);
    assert_eq!(written, Ok(EARLY_DATA.len()));
    pair.run();
    assert_eq!(verdict(&pair), Some(Verdict::Unknown));
}

/// A HelloRetryRequest doesn't restart the measurement either.
#[test]
fn a_hello_retry_request_does_not_change_when_a_flight_began() {
    for (took, expected) in [(2_000, Verdict::Burned), (2_700, Verdict::Unknown)] {
        let (mut scene, session, vault) = scene(Mode::FsDhe, Duration::from_secs(3));
        scene.server.groups = vec![NamedGroup::X25519];
        let mut pair = scene.start(Some(session), at(10));
        pair.client_to_server();
        pair.server_to_client();
        pair.now = after(at(10), took);
        pair.run();
        assert!(pair.client.facts().hello_retry);
        assert_eq!(verdict(&pair), Some(expected));
        assert_eq!(vault.asked.lock().expect("no panic")[0].purpose, TakePurpose::Burn);
    }
}

/// A machine that slept: one of its clocks stopped.
#[test]
fn a_lost_key_is_judged_by_the_clock_that_went_on() {
    let (scene, session, _) = scene(Mode::FsDhe, Duration::from_secs(3));
    let mut pair = scene.start(Some(session), at(10));
    pair.now = Time { monotonic: at(10).monotonic, unix: after(at(10), 5_000).unix };
    pair.run();
    assert_eq!(verdict(&pair), Some(Verdict::Unknown));
}

/// An event loop reads the time, waits for input, and passes the time that it read. The flight was sent before
/// the earlier life ended, which may have executed it: the caller's time, as old as the
/// flight, must not lead to `burned`.
#[test]
fn a_time_that_was_read_before_the_input_came_judges_nothing() {
    for (clock_at, expected) in [(3_000, Verdict::Unknown), (2_000, Verdict::Burned)] {
        let (scene, session, _) = scene(Mode::FsDhe, Duration::from_secs(3));
        let clock = TestClock::new(at(10));
        let destination = Destination { clock: Some(clock.clone()), ..to(Some(session)) };
        let mut pair = scene.start_to(destination, at(10));
        pair.client_to_server();
        clock.set(after(at(10), clock_at));
        // `pair.now` doesn't advance.
        pair.run();
        assert_eq!(verdict(&pair), Some(expected));
    }
}

/// A caller's time that is ahead has no effect either.
#[test]
fn the_time_that_a_caller_passes_has_no_part_in_the_judgement() {
    let (scene, session, _) = scene(Mode::FsDhe, Duration::from_secs(3));
    let clock = TestClock::new(at(10));
    let mut pair = scene.start_to(Destination { clock: Some(clock), ..to(Some(session)) }, at(20));
    pair.now = after(at(20), 5_000);
    pair.run();
    assert_eq!(verdict(&pair), Some(Verdict::Burned));
}

#[test]
fn a_clock_that_went_back_judges_nothing() {
    for went_back in [
        Time { monotonic: at(9).monotonic, ..at(10) },
        Time { unix: at(9).unix, ..at(10) },
        Time { unix: None, ..at(10) },
    ] {
        let (scene, session, _) = scene(Mode::FsDhe, Duration::from_secs(3));
        let clock = TestClock::new(at(10));
        let destination = Destination { clock: Some(clock.clone()), ..to(Some(session)) };
        let mut pair = scene.start_to(destination, at(10));
        clock.set(went_back);
        pair.run();
        assert_eq!(verdict(&pair), Some(Verdict::Unknown), "{went_back:?}");
    }
}
