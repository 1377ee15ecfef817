//! A ring driven with the test's own times and instants.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tessera::crypto::{Random, RandomFailed, Secret};
use tessera::resume::{Ancestry, Carrier};
use tessera::wire::CipherSuite;

use super::*;

const NOW: Duration = Duration::from_secs(1_800_000_000);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

fn session() -> SessionState {
    SessionState {
        suite: CipherSuite::TLS_AES_128_GCM_SHA256,
        psk: Secret::from_slice(&[7; 32]).unwrap(),
        protocol: None,
        server_name: None,
        peer: None,
        accepted_by: None,
        external_psk: None,
        authenticated_at: NOW.as_secs(),
        policy_epoch: 0,
        scope: Vec::new(),
        ancestry: Ancestry::Classical,
        issued_at: 0,
        lifetime: 3600,
        age_add: 0,
        max_early_data_size: 0,
        companion: None,
        carrier: Carrier::STREAM,
    }
}

/// A ring, and the instant at which its wall clock showed [`NOW`].
struct ClockedRing {
    ring: RotatingRing,
    start: Instant,
}

impl ClockedRing {
    fn new(provider: &Provider) -> Self {
        Self { ring: RotatingRing::new(provider), start: Instant::now() }
    }

    /// Checks the ring after this much time has passed, while the clock shows that time.
    fn look(&self, passed: Duration, shown: Duration) {
        self.ring.look(&mut self.ring.held(), shown, self.start + passed);
    }

    /// Seals while the clock is right.
    fn seal(&self, passed: Duration) -> Option<Vec<u8>> {
        self.look(passed, NOW + passed);
        self.ring.ring.seal(&session(), NOW + passed)
    }

    fn opens(&self, ticket: &[u8], shown: Duration) -> bool {
        let question = OpenTicket::new(ticket.to_vec(), Some(shown));
        matches!(self.ring.ring.open(&question), Reply::Now(Some(_)))
    }

    fn ids(&self) -> Vec<[u8; 16]> {
        self.ring.held().keys.iter().map(|key| key.id).collect()
    }
}

#[test]
fn a_ring_seals_for_ever_and_every_ticket_opens_as_long_as_it_lives() {
    let watched = ClockedRing::new(&tessera_aws_lc::provider());
    let mut tickets = Vec::new();
    for step in 0..10 * 24 * 4 {
        let passed = MINUTE * 15 * step;
        tickets.push((passed, watched.seal(passed).expect("there is always a key")));
        tickets.retain(|(at, ticket)| {
            let lives = passed - *at < 24 * HOUR;
            assert!(!lives || watched.opens(ticket, NOW + passed), "{at:?} at {passed:?}");
            lives
        });
        assert!(watched.ring.len() <= 7, "{}", watched.ring.len());
        assert_eq!(watched.ids().len(), watched.ring.len());
    }
    // Checked only once a day.
    for day in 11..20 {
        assert!(watched.seal(24 * HOUR * day).is_some());
    }
}

#[test]
fn a_next_key_is_known_before_it_seals_and_an_ended_one_is_destroyed() {
    let watched = ClockedRing::new(&tessera_aws_lc::provider());
    let first = watched.seal(Duration::ZERO).unwrap();
    let half = 6 * HOUR + MINUTE;
    watched.look(half, NOW + half);
    assert_eq!(watched.ring.len(), 2);
    let by = |passed| watched.seal(passed).unwrap()[1..17].to_vec();
    assert_eq!(by(half), first[1..17], "the next one is not used yet");
    assert_ne!(by(half + KNOWN_BEFORE), first[1..17]);
    let end = 36 * HOUR;
    watched.look(end - MINUTE, NOW + end - MINUTE);
    assert!(watched.opens(&first, NOW + end - MINUTE));
    let id: [u8; 16] = first[1..17].try_into().unwrap();
    assert!(watched.ids().contains(&id));
    watched.look(end, NOW + end);
    assert!(!watched.ids().contains(&id));
    assert!(!watched.ring.ring.retire(&id), "it is in the ring no more");
}

#[test]
fn a_clock_that_jumps_ahead_for_a_moment_changes_nothing() {
    let watched = ClockedRing::new(&tessera_aws_lc::provider());
    let ticket = watched.seal(Duration::ZERO).unwrap();
    let before = watched.ids();
    let year = 365 * 24 * HOUR;
    for second in 1..59 {
        let passed = Duration::from_secs(second);
        watched.look(passed, NOW + year + passed);
    }
    assert_eq!(watched.ids(), before);
    watched.look(MINUTE, NOW + MINUTE);
    assert!(watched.opens(&ticket, NOW + MINUTE));
    assert_eq!(watched.ids(), before);
}

#[test]
fn a_clock_that_stays_ahead_is_believed_after_a_minute() {
    let watched = ClockedRing::new(&tessera_aws_lc::provider());
    let ticket = watched.seal(Duration::ZERO).unwrap();
    let year = 365 * 24 * HOUR;
    let shown = NOW + year;
    watched.look(MINUTE, shown);
    assert!(watched.ring.ring.seal(&session(), shown).is_none());
    watched.look(2 * MINUTE, shown + MINUTE);
    assert!(watched.ring.ring.seal(&session(), shown + MINUTE).is_some());
    assert!(!watched.opens(&ticket, shown + MINUTE));
    // The clock was wrong: keys it made don't count, and are gone after the life of a key.
    let ahead = watched.ids();
    assert!(watched.seal(3 * MINUTE).is_some());
    assert_eq!(watched.ring.len(), 2);
    let lifetime = watched.ring.longest_life() + 3 * MINUTE;
    for step in 0..=lifetime.as_secs() / 3600 + 1 {
        assert!(watched.seal(HOUR * step as u32 + 4 * MINUTE).is_some());
    }
    assert!(!watched.ids().contains(&ahead[0]));
}

#[test]
fn a_clock_that_jumps_back_gets_a_key_at_once_and_finds_the_others_when_it_returns() {
    let watched = ClockedRing::new(&tessera_aws_lc::provider());
    let ticket = watched.seal(Duration::ZERO).unwrap();
    // Within the allowed clock difference nothing happens.
    watched.look(MINUTE, NOW - 10 * MINUTE);
    assert!(watched.ring.ring.seal(&session(), NOW - 10 * MINUTE).is_some());
    assert!(watched.opens(&ticket, NOW - 10 * MINUTE));
    assert_eq!(watched.ring.len(), 1);
    for back in [20 * MINUTE, 1000 * HOUR, NOW] {
        watched.look(2 * MINUTE, NOW - back);
        assert!(watched.ring.ring.seal(&session(), NOW - back).is_some(), "{back:?}");
    }
    watched.look(3 * MINUTE, NOW + 3 * MINUTE);
    // From 1970 it is a leap, believed after a minute; existing keys seal and open meanwhile.
    assert!(watched.ring.ring.seal(&session(), NOW + 3 * MINUTE).is_some());
    assert!(watched.opens(&ticket, NOW + 3 * MINUTE));
}

#[test]
fn a_clock_that_knows_no_time_makes_a_bounded_number_of_keys() {
    let watched = ClockedRing::new(&tessera_aws_lc::provider());
    for step in 0..500_u32 {
        // Backwards, so that no leap is doubted.
        let shown = NOW - 100 * HOUR * step;
        watched.look(MINUTE * step, shown);
        assert!(watched.ring.ring.seal(&session(), shown).is_some());
        assert!(watched.ring.len() <= MOST_KEYS);
        assert_eq!(watched.ids().len(), watched.ring.len());
    }
}

/// Random only while enabled.
struct SwitchedRandom(AtomicBool);

static SOMETIMES: SwitchedRandom = SwitchedRandom(AtomicBool::new(false));

impl Random for SwitchedRandom {
    fn fill(&self, out: &mut [u8]) -> Result<(), RandomFailed> {
        let works = self.0.load(Ordering::Relaxed);
        if works { tessera_aws_lc::provider().random.fill(out) } else { Err(RandomFailed) }
    }
}

#[test]
fn without_randomness_a_ring_gives_no_ticket_and_tries_again() {
    let watched = ClockedRing::new(&Provider { random: &SOMETIMES, ..tessera_aws_lc::provider() });
    assert!(watched.seal(Duration::ZERO).is_none());
    assert!(watched.ring.is_empty());
    SOMETIMES.0.store(true, Ordering::Relaxed);
    let ticket = watched.seal(Duration::from_millis(1)).unwrap();
    // When the next key is due, half a key's time is left to wait for it.
    SOMETIMES.0.store(false, Ordering::Relaxed);
    watched.look(7 * HOUR, NOW + 7 * HOUR);
    assert!(watched.opens(&ticket, NOW + 7 * HOUR));
    assert_eq!(watched.ring.len(), 1);
    SOMETIMES.0.store(true, Ordering::Relaxed);
    assert!(watched.seal(7 * HOUR + MINUTE).is_some());
    assert_eq!(watched.ring.len(), 2);
}

/// Uses the system's clock, from many threads, as servers do.
#[test]
fn a_ring_needs_no_look_of_its_owner() {
    let ring = RotatingRing::new(&tessera_aws_lc::provider());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let ticket = TicketKeys::seal(&ring, &session(), NOW).unwrap();
                    let question = OpenTicket::new(ticket, Some(NOW));
                    assert!(matches!(TicketKeys::open(&ring, &question), Reply::Now(Some(_))));
                }
            });
        }
    });
    assert_eq!(ring.len(), 1);
}

#[test]
fn a_ring_makes_its_first_key_for_whatever_is_sealed_first() {
    let ring = RotatingRing::new(&tessera_aws_lc::provider());
    assert_eq!(ring.open_for(b"purpose", &[0; 80], NOW), None);
    let sealed = ring.seal_for(b"purpose", b"contents", NOW).expect("a key");
    assert_eq!(ring.open_for(b"purpose", &sealed, NOW).as_deref(), Some(&b"contents"[..]));
    let until = Rotation::default().lifetime() + Rotation::SKEW;
    assert_eq!(ring.open_for(b"purpose", &sealed, NOW + until), None);
}

#[test]
fn keys_are_written_whenever_they_change_and_again_where_that_failed() {
    let written = Arc::new(Mutex::new(Vec::new()));
    let full = Arc::new(AtomicBool::new(false));
    let (to, fails) = (written.clone(), full.clone());
    let write = Box::new(move |keys: &[&[u8]]| {
        if fails.load(Ordering::Relaxed) {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        to.lock().unwrap().push(keys.len());
        Ok(())
    });
    let provider = tessera_aws_lc::provider();
    let ring = RotatingRing::written(&provider, Rotation::default(), Vec::new(), write, NOW);
    let watched = ClockedRing { ring, start: Instant::now() };
    assert!(watched.seal(Duration::ZERO).is_some() && watched.seal(MINUTE).is_some());
    assert_eq!(*written.lock().unwrap(), [1]);
    full.store(true, Ordering::Relaxed);
    assert!(watched.seal(7 * HOUR).is_some(), "the disk is nothing to clients");
    assert_eq!(watched.ring.unwritten().unwrap().kind(), io::ErrorKind::StorageFull);
    full.store(false, Ordering::Relaxed);
    watched.look(7 * HOUR + MINUTE, NOW + 7 * HOUR + MINUTE);
    assert!(watched.ring.unwritten().is_none());
    assert_eq!(*written.lock().unwrap(), [1, 2]);
}

/// Every minute, or more often where keys are short-lived.
#[test]
fn a_ring_is_quiet_between_two_checks() {
    let second = Duration::from_secs(1);
    let quiet = QuietPeriod::default();
    assert!(!quiet.has(NOW));
    quiet.set(NOW, MINUTE);
    assert!(quiet.has(NOW) && quiet.has(NOW + MINUTE - second));
    assert!(!quiet.has(NOW + MINUTE) && !quiet.has(NOW - 2 * second));
    let rotation = Rotation { issue_for: 80 * second, open_for: HOUR, ..Rotation::default() };
    let ring = RotatingRing::with_rotation(&tessera_aws_lc::provider(), rotation);
    ring.look(&mut ring.held(), NOW, Instant::now());
    assert!(ring.calm.has(NOW + 9 * second) && !ring.calm.has(NOW + 10 * second));
}

#[test]
fn the_next_of_short_lived_keys_seals_soon() {
    let second = Duration::from_secs(1);
    let rotation = Rotation { issue_for: 80 * second, open_for: HOUR, ..Rotation::default() };
    let ring = RotatingRing::with_rotation(&tessera_aws_lc::provider(), rotation);
    let start = Instant::now();
    let sealed = |passed: Duration| {
        ring.look(&mut ring.held(), NOW + passed, start + passed);
        ring.ring.seal(&session(), NOW + passed).unwrap()[1..17].to_vec()
    };
    let first = sealed(Duration::ZERO);
    assert_eq!(sealed(41 * second), first);
    assert_ne!(sealed(51 * second), first);
}

/// It may wait for a disk, and there is a key to use meanwhile.
#[test]
fn no_ticket_waits_for_a_check_of_another_thread() {
    let ring = RotatingRing::new(&tessera_aws_lc::provider());
    ring.look(&mut ring.held(), NOW, Instant::now());
    let _checking = ring.held();
    // It would wait for ever.
    ring.look_if_due(NOW + HOUR);
    assert!(!ring.is_empty());
}
