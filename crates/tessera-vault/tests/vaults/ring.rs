//! The ring: tickets of shared keys open everywhere, anything else is unknown, and rotation is live.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::{NOW, session};
use tessera::crypto::{Provider, Random, RandomFailed};
use tessera::handshake::Reply;
use tessera::resume::{OpenTicket, SessionState, TicketKeys};
use tessera_aws_lc::provider;
use tessera_vault::{KeyTime, RingError, TicketKey, TicketKeyRing};

const HOUR: Duration = Duration::from_secs(3600);

fn key(issues_from: Duration) -> TicketKey {
    TicketKey::generate(&provider(), issues_from, HOUR, HOUR).unwrap()
}

fn copy(key: &TicketKey) -> TicketKey {
    TicketKey::decode(&key.encode()).unwrap()
}

fn ring(keys: &[&TicketKey]) -> TicketKeyRing {
    let ring = TicketKeyRing::new(&provider());
    ring.install(keys.iter().map(|key| copy(key)).collect(), NOW).unwrap();
    ring
}

fn open(ring: &TicketKeyRing, ticket: &[u8], unix: Duration) -> Option<SessionState> {
    let question = OpenTicket::new(ticket.to_vec(), Some(unix));
    match ring.open(&question) {
        Reply::Now(session) => session,
        Reply::Later => panic!("the ring answers at once"),
    }
}

fn seal(ring: &TicketKeyRing) -> Vec<u8> {
    ring.seal(&session(), NOW).expect("a key issues")
}

/// Returns the id of the key that a ticket names.
fn key_id(ticket: &[u8]) -> [u8; 16] {
    ticket[1..17].try_into().unwrap()
}

#[test]
fn rings_with_the_same_keys_open_each_others_tickets() {
    let (first, second) = (key(NOW), key(NOW - HOUR / 2));
    let rings = [ring(&[&first, &second]), ring(&[&second, &first]), ring(&[&second])];
    for sealing in &rings {
        let ticket = seal(sealing);
        for opening in &rings {
            let opened = open(opening, &ticket, NOW);
            if opening.len() == 2 || key_id(&ticket) == second.id {
                assert_eq!(*opened.unwrap().encode(), *session().encode());
            } else {
                assert!(opened.is_none());
            }
        }
    }
}

/// Neither for another purpose, nor as a ticket; nor does a ticket open for a purpose.
#[test]
fn a_ring_opens_sealed_data_only_for_its_purpose() {
    let (shared, other) = (key(NOW), key(NOW));
    let (one, elsewhere) = (ring(&[&shared]), ring(&[&other, &shared]));
    let purposes: [&[u8]; 4] = [b"one", b"two", b"on", b"one "];
    let contents = session().encode();
    for purpose in purposes {
        let sealed = one.seal_for(purpose, &contents, NOW).expect("a key issues");
        for asked in purposes {
            let opened = elsewhere.open_for(asked, &sealed, NOW);
            assert_eq!(opened.is_some(), asked == purpose, "{asked:?}");
        }
        assert_eq!(one.open_for(purpose, &sealed, NOW).as_deref(), Some(&contents[..]));
        // Even if a session was sealed.
        assert!(open(&one, &sealed, NOW).is_none(), "{purpose:?}");
        assert_eq!(one.open_for(purpose, &seal(&one), NOW), None, "{purpose:?}");
        // It lives as long as its key.
        assert_eq!(one.open_for(purpose, &sealed, shared.opens_until), None);
        assert_eq!(ring(&[&other]).open_for(purpose, &sealed, NOW), None);
    }
    assert_eq!(one.seal_for(b"", &contents, NOW), None, "a ticket");
    assert_eq!(one.open_for(b"", &seal(&one), NOW), None, "a ticket");
    assert_eq!(ring(&[]).seal_for(b"one", &contents, NOW), None);
}

#[test]
fn a_ring_seals_no_two_tickets_alike() {
    let ring = ring(&[&key(NOW)]);
    let (first, second) = (seal(&ring), seal(&ring));
    // Version and key id are the same; salt, ciphertext and tag are not.
    assert_eq!(first[..17], second[..17]);
    let equal = first.iter().zip(&second).skip(17).filter(|(first, second)| first == second);
    assert!(equal.count() < first.len() / 8);
}

#[test]
fn the_newest_issuing_key_of_a_ring_seals() {
    let (old, new, next) = (key(NOW - HOUR / 2), key(NOW), key(NOW + HOUR / 4));
    let ring = ring(&[&old, &next, &new]);
    let at = |unix| ring.seal(&session(), unix).map(|ticket| key_id(&ticket));
    assert_eq!(at(NOW - HOUR), None, "none issues yet");
    assert_eq!(at(NOW - HOUR / 2), Some(old.id));
    assert_eq!(at(NOW - Duration::from_millis(1)), Some(old.id));
    assert_eq!(at(NOW), Some(new.id));
    assert_eq!(at(NOW + HOUR / 4), Some(next.id));
    assert_eq!(at(NOW + HOUR / 4 * 5 - Duration::from_millis(1)), Some(next.id));
    assert_eq!(at(NOW + HOUR / 4 * 5), None, "none issues any more");
}

#[test]
fn keys_of_equal_times_are_chosen_alike_in_every_ring() {
    let (first, second) = (key(NOW), key(NOW));
    let (one, other) = (ring(&[&first, &second]), ring(&[&second, &first]));
    assert_eq!(key_id(&seal(&one)), key_id(&seal(&other)));
}

#[test]
fn tickets_open_between_known_from_and_opens_until() {
    let key = key(NOW);
    let ring = ring(&[&key]);
    let ticket = seal(&ring);
    let tick = Duration::from_millis(1);
    for (unix, opens) in [
        (Duration::ZERO, false),
        (key.known_from - tick, false),
        (key.known_from, true),
        (NOW, true),
        (key.issues_until + tick, true),
        (key.opens_until - tick, true),
        (key.opens_until, false),
        (Duration::MAX, false),
        (NOW, true),
    ] {
        assert_eq!(open(&ring, &ticket, unix).is_some(), opens, "{unix:?}");
    }
    let question = OpenTicket::new(ticket, None);
    assert!(matches!(ring.open(&question), Reply::Now(None)), "no clock");
}

#[test]
fn a_ring_opens_no_changed_ticket() {
    let ring = ring(&[&key(NOW)]);
    let ticket = seal(&ring);
    for at in 0..ticket.len() {
        for bit in 0..8 {
            let mut changed = ticket.clone();
            changed[at] ^= 1 << bit;
            assert!(open(&ring, &changed, NOW).is_none(), "byte {at}, bit {bit}");
        }
        assert!(open(&ring, &ticket[..at], NOW).is_none(), "cut to {at} bytes");
        assert!(open(&ring, &ticket[at + 1..], NOW).is_none(), "cut after {at} bytes");
    }
    assert!(open(&ring, &[ticket.as_slice(), &[0]].concat(), NOW).is_none(), "longer");
    assert!(open(&ring, &[0; 100_000], NOW).is_none());
    assert!(open(&ring, &ticket, NOW).is_some());
}

#[test]
fn a_ring_opens_no_ticket_of_another_version() {
    let ring = ring(&[&key(NOW)]);
    for version in (0..=255).filter(|version| *version != 1) {
        let mut ticket = seal(&ring);
        ticket[0] = version;
        assert!(open(&ring, &ticket, NOW).is_none());
    }
}

#[test]
fn a_ring_opens_no_ticket_of_another_ring() {
    let shared = key(NOW);
    let ticket = seal(&ring(&[&shared]));
    assert!(open(&ring(&[&key(NOW)]), &ticket, NOW).is_none());
    assert!(open(&ring(&[]), &ticket, NOW).is_none());
    // The same id is not enough.
    let mut other = key(NOW);
    other.id = shared.id;
    assert!(open(&ring(&[&other]), &ticket, NOW).is_none());
}

#[test]
fn a_ring_refuses_unusable_keys_and_keeps_its_old_ones() {
    let old = key(NOW);
    let ring = ring(&[&old]);
    let refused = |keys: Vec<TicketKey>, error: RingError| {
        let good_first = std::iter::once(key(NOW)).chain(keys).collect();
        assert_eq!(ring.install(good_first, NOW), Err(error));
        assert_eq!(ring.len(), 1);
        assert_eq!(key_id(&seal(&ring)), old.id);
    };
    let changed = |change: &dyn Fn(&mut TicketKey)| {
        let mut key = key(NOW);
        key.id = [1; 16];
        change(&mut key);
        key
    };
    let id = [1; 16];
    refused(vec![changed(&|key| key.id = [0; 16])], RingError::ZeroId);
    refused(vec![changed(&|key| *key.secret = [0; 32])], RingError::ZeroSecret { id });
    assert!(RingError::ZeroSecret { id }.to_string().ends_with("; use 32 random bytes"));
    refused(vec![changed(&|_| {}), changed(&|_| {})], RingError::DuplicateId { id });
    let (one, mut other) = (changed(&|_| {}), changed(&|key| key.id = [2; 16]));
    other.secret = one.secret.clone();
    refused(vec![one, other], RingError::DuplicateSecret { first: id, second: [2; 16] });

    let order = |first, second| RingError::TimesOutOfOrder { id, first, second };
    use KeyTime::{IssuesFrom, IssuesUntil, KnownFrom, OpensUntil};
    let late = NOW + Duration::from_millis(1);
    refused(vec![changed(&|key| key.known_from = late)], order(KnownFrom, IssuesFrom));
    refused(
        vec![changed(&|key| key.issues_until = key.issues_from)],
        order(IssuesFrom, IssuesUntil),
    );
    refused(vec![changed(&|key| key.opens_until = late)], order(IssuesUntil, OpensUntil));

    assert_eq!(ring.add(copy(&old), NOW), Err(RingError::DuplicateId { id: old.id }));
    assert_eq!(ring.len(), 1);
}

#[test]
fn errors_of_a_ring_name_the_key_by_its_id() {
    let error = RingError::TimesOutOfOrder {
        id: [0xab; 16],
        first: KeyTime::KnownFrom,
        second: KeyTime::IssuesFrom,
    };
    let shown = format!("ticket key {}: known_from must come before issues_from", "ab".repeat(16));
    assert_eq!(error.to_string(), shown);
    assert_eq!(format!("{error:?}"), format!("RingError({shown})"));
}

#[test]
fn a_ring_installs_and_drops_keys() {
    let (old, new) = (key(NOW - HOUR / 2), key(NOW));
    let ring = TicketKeyRing::new(&provider());
    assert!(ring.is_empty());
    assert!(ring.seal(&session(), NOW).is_none(), "no key, no ticket, no failure");
    ring.add(copy(&old), NOW).unwrap();
    let ticket = seal(&ring);
    ring.add(copy(&new), NOW).unwrap();
    assert_eq!(key_id(&seal(&ring)), new.id);
    assert!(open(&ring, &ticket, NOW).is_some());
    assert!(!ring.is_empty());
    assert!(ring.retire(&old.id));
    assert!(!ring.retire(&old.id));
    assert!(open(&ring, &ticket, NOW).is_none());
    assert_eq!(ring.len(), 1);

    ring.add(copy(&old), NOW).unwrap();
    assert_eq!(ring.purge(old.opens_until - Duration::from_millis(1)), 0);
    assert_eq!(ring.purge(old.opens_until), 1);
    ring.add(copy(&old), old.opens_until).unwrap();
    assert_eq!(ring.len(), 1, "it has expired");
    ring.install(vec![copy(&old), copy(&new)], old.opens_until).unwrap();
    assert_eq!(ring.len(), 1);
    ring.install(vec![], NOW).unwrap();
    assert!(ring.is_empty());
}

#[test]
fn a_ring_rotates_while_threads_seal_and_open() {
    const ROTATIONS: usize = 500;
    const OPENED: usize = 1000;
    let mut last = key(NOW);
    let ring = &ring(&[&last]);
    let (stop, opened) = (&AtomicBool::new(false), &AtomicUsize::new(0));
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let ticket = seal(ring);
            // Its key may have been retired meanwhile.
            if let Some(session) = open(ring, &ticket, NOW) {
                assert_eq!(session.age_add, 99);
                opened.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        // Until enough of both has happened, however the threads are scheduled.
        for round in 0.. {
            let enough = round >= ROTATIONS && opened.load(Ordering::Relaxed) >= OPENED;
            if enough || workers.iter().any(|worker| worker.is_finished()) {
                break;
            }
            let next = key(NOW);
            if round % 2 == 0 {
                ring.add(copy(&next), NOW).unwrap();
                assert!(ring.retire(&last.id));
            } else {
                ring.install(vec![copy(&last), copy(&next)], NOW).unwrap();
                ring.install(vec![copy(&next)], NOW).unwrap();
            }
            last = next;
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(opened.load(Ordering::Relaxed) >= OPENED);
    assert_eq!(ring.len(), 1);
}

#[test]
fn a_ring_seals_no_session_that_fits_no_ticket() {
    let ring = ring(&[&key(NOW)]);
    let large = |len| SessionState { scope: vec![0; len], ..session() };
    let sealed = |len| ring.seal(&large(len), NOW).map(|ticket| ticket.len());
    // The longest that two bytes can announce.
    let other = sealed(60_000).unwrap() - 60_000;
    let longest = usize::from(u16::MAX) - other;
    assert_eq!(sealed(longest), Some(usize::from(u16::MAX)));
    assert_eq!(sealed(longest + 1), None);
}

#[test]
fn a_ring_without_randomness_seals_no_ticket() {
    struct BrokenRandom;
    impl Random for BrokenRandom {
        fn fill(&self, _: &mut [u8]) -> Result<(), RandomFailed> {
            Err(RandomFailed)
        }
    }
    let broken = Provider { random: &BrokenRandom, ..provider() };
    let ring = TicketKeyRing::new(&broken);
    ring.add(key(NOW), NOW).unwrap();
    assert!(ring.seal(&session(), NOW).is_none());
    assert!(TicketKey::generate(&broken, NOW, HOUR, HOUR).is_err());
}

#[test]
fn a_ring_opens_only_tickets_of_suites_that_its_provider_has() {
    let shared = key(NOW);
    let rings: Vec<_> = [&[0_usize, 1, 2] as &[_], &[0, 2], &[0], &[]]
        .into_iter()
        .map(|suites| {
            let suites: Vec<_> = suites.iter().map(|suite| provider().suites[*suite]).collect();
            let ring = TicketKeyRing::new(&Provider { suites: suites.leak(), ..provider() });
            ring.add(copy(&shared), NOW).unwrap();
            let again = ring.add(copy(&shared), NOW);
            assert_eq!(again, Err(RingError::DuplicateId { id: shared.id }));
            let renamed = TicketKey { id: [1; 16], ..copy(&shared) };
            let again = ring.add(renamed, NOW);
            let duplicate = RingError::DuplicateSecret { first: shared.id, second: [1; 16] };
            assert_eq!(again, Err(duplicate), "with algorithms and without");
            ring
        })
        .collect();
    let [aes, chacha, short, none] = &rings[..] else { panic!("four rings") };
    assert!(open(aes, &seal(aes), NOW).is_some());
    assert!(open(chacha, &seal(chacha), NOW).is_some());
    assert!(open(chacha, &seal(aes), NOW).is_none());
    assert!(open(aes, &seal(chacha), NOW).is_none());
    for ring in [short, none] {
        assert!(ring.seal(&session(), NOW).is_none());
        assert!(open(ring, &seal(aes), NOW).is_none());
    }
}
