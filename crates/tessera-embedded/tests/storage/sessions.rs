//! What is kept, what is taken, and what is left when the power is lost.

use std::collections::BTreeSet;

use tessera::crypto::Secret;
use tessera::resume::{Ancestry, Carrier, ClientSession, SessionClock, SessionState, SessionStore};
use tessera::wire::CipherSuite;
use tessera_embedded::{SessionStorage, StorageError};
use tessera_harness::each_seed;

use crate::flash::{Flash, SECTOR, SECTORS};

pub const RANGE: core::ops::Range<u32> = 0..(SECTOR * SECTORS) as u32;
pub const LONGEST: usize = 400;
pub const SESSIONS: u8 = 4;

pub fn open(flash: &Flash) -> SessionStorage<Flash, [u8; LONGEST]> {
    SessionStorage::new(flash.clone(), RANGE, SESSIONS, [0; LONGEST]).unwrap()
}

/// A session with a ticket of this number.
pub fn session(number: u16) -> ClientSession {
    let state = SessionState {
        suite: CipherSuite::TLS_AES_128_GCM_SHA256,
        psk: Secret::filled_by(32, |out| out.fill(7)),
        protocol: None,
        server_name: None,
        peer: None,
        accepted_by: None,
        external_psk: None,
        authenticated_at: 1,
        policy_epoch: 0,
        scope: Vec::new(),
        ancestry: Ancestry::Classical,
        issued_at: 1,
        lifetime: 1,
        age_add: 1,
        max_early_data_size: 0,
        companion: None,
        carrier: Carrier::STREAM,
    };
    let ticket = [&number.to_be_bytes()[..], &[3; 100]].concat();
    ClientSession { state, ticket, group: None, forward_secret: None, clock: SessionClock::Unix }
}

fn number(session: ClientSession) -> u16 {
    u16::from_be_bytes(*session.ticket.first_chunk().unwrap())
}

pub fn pop(store: &impl SessionStore, server_name: &str) -> Option<u16> {
    store.pop(server_name).map(number)
}

#[test]
fn the_newest_session_of_a_server_comes_first_and_once() {
    let flash = Flash::new();
    let store = open(&flash);
    assert_eq!(pop(&store, "a"), None);
    for (at, server_name) in ["a", "b", "a"].into_iter().enumerate() {
        store.put(server_name, session(at as u16));
    }
    // After a restart too.
    let store = open(&flash);
    assert_eq!([pop(&store, "a"), pop(&store, "c")], [Some(2), None]);
    let store = open(&flash);
    assert_eq!([pop(&store, "a"), pop(&store, "a"), pop(&store, "b")], [Some(0), None, Some(1)]);
    assert_eq!(pop(&open(&flash), "b"), None);
}

#[test]
fn the_oldest_session_makes_room() {
    let flash = Flash::new();
    let store = open(&flash);
    for number in 0..100 {
        store.put("a", session(number));
    }
    let kept: Vec<_> = core::iter::from_fn(|| pop(&store, "a")).collect();
    assert_eq!(kept, [99, 98, 97, 96]);
}

#[test]
fn retained_sessions_stay_and_others_go() {
    let store = open(&Flash::new());
    for number in 0..4 {
        store.put("a", session(number));
    }
    store.retain(&|session| session.ticket[1] % 2 == 0);
    assert_eq!([pop(&store, "a"), pop(&store, "a"), pop(&store, "a")], [Some(2), Some(0), None]);
}

/// Without a date: the monotonic clock goes on until the next start, and is another one then.
#[test]
fn a_session_loses_its_age_with_a_restart() {
    let flash = Flash::new();
    let pop = |store: &SessionStorage<Flash, _>| store.pop("a").map(|session| session.clock);
    let put = |store: &SessionStorage<Flash, _>, clock| {
        store.put("a", ClientSession { clock, ..session(1) });
    };
    let store = open(&flash);
    for clock in [SessionClock::Unix, SessionClock::Monotonic, SessionClock::Lost] {
        put(&store, clock);
        assert_eq!(pop(&store), Some(clock));
    }
    for clock in [SessionClock::Unix, SessionClock::Monotonic] {
        put(&store, clock);
    }
    store.retain(&|session| session.clock == SessionClock::Monotonic);
    let store = open(&flash);
    assert_eq!(pop(&store), Some(SessionClock::Lost));
    assert_eq!(pop(&store), None);
}

#[test]
fn sessions_that_dont_fit_are_not_kept() {
    let store = open(&Flash::new());
    store.put("a", session(1));
    let mut long = session(2);
    long.ticket = vec![3; LONGEST];
    store.put("a", long);
    store.put(&"a".repeat(256), session(3));
    assert_eq!([pop(&store, "a"), pop(&store, "a")], [Some(1), None]);
}

#[test]
fn what_doesnt_fit_the_range_is_refused() {
    let new = |range, sessions, len| {
        SessionStorage::new(Flash::new(), range, sessions, vec![0; len]).map(|_| ())
    };
    assert_eq!(new(0..SECTOR as u32, 1, 100), Err(StorageError::Range));
    assert_eq!(new(0..RANGE.end + SECTOR as u32, 1, 100), Err(StorageError::Range));
    assert_eq!(new(1..1 + 2 * SECTOR as u32, 1, 100), Err(StorageError::Range));
    let reversed = 2 * SECTOR as u32..0;
    assert_eq!(new(reversed, 1, 100), Err(StorageError::Range));
    // Four entries of 416 bytes in a sector, and one of three sectors is free; one entry more than there are sessions.
    assert_eq!(new(RANGE, 7, LONGEST), Ok(()));
    assert_eq!(new(RANGE, 8, LONGEST), Err(StorageError::TooManySessions { fit: 7 }));
    assert_eq!(new(RANGE, 1, SECTOR), Err(StorageError::TooManySessions { fit: 0 }));
}

/// As many as fit can be kept and replaced for ever.
#[test]
fn the_number_that_fits_does_fit() {
    let store = SessionStorage::new(Flash::new(), RANGE, 7, [0; LONGEST]).unwrap();
    let long = |number: u16| {
        let mut session = session(number);
        let room = LONGEST - 1 - 6 - session.export().len() - 1;
        session.ticket.resize(session.ticket.len() + room, 3);
        session
    };
    for number in 0..200 {
        store.put("a", long(number));
    }
    let kept: Vec<_> = core::iter::from_fn(|| pop(&store, "a")).collect();
    assert_eq!(kept, [199, 198, 197, 196, 195, 194, 193]);
}

#[test]
fn sectors_wear_alike() {
    let flash = Flash::new();
    let store = open(&flash);
    for number in 0..500 {
        store.put("a", session(number));
        assert_eq!(pop(&store, "a"), Some(number));
    }
    let erased = flash.erased();
    let (least, most) = (erased.iter().min().unwrap(), erased.iter().max().unwrap());
    assert!(*least > 10 && most - least <= 2, "{erased:?}");
}

/// What a step must leave: of the sessions before it, one is gone or one is there, or nothing has changed.
#[test]
fn power_lost_at_any_word_returns_no_session_twice() {
    let mut losses = 0;
    let flash = Flash::new();
    // Sectors fill, and are erased, on the way.
    for round in 0..45 {
        let base = flash.copy();
        let torn = [0, 0xff, 0x5a][usize::from(round) % 3];
        let before = all(&base.copy());
        for takes in [false, true] {
            let mut words = 1;
            while lose(&base, &before, takes, words, torn, round) {
                (words, losses) = (words + 1, losses + 1);
            }
        }
        let store = open(&flash);
        store.put("a", session(round));
        if round % 3 == 0 {
            pop(&store, "a").unwrap();
        }
    }
    assert!(flash.erased().iter().all(|erased| *erased > 0), "{:?}", flash.erased());
    assert!(losses > 1000, "{losses}");
}

/// Loses power in a step; returns false once the step needs fewer words.
fn lose(
    base: &Flash,
    before: &BTreeSet<u16>,
    takes: bool,
    words: usize,
    torn: u8,
    round: u16,
) -> bool {
    let flash = base.copy();
    let store = open(&flash);
    flash.lose_power_after(words, torn);
    let taken = if takes {
        pop(&store, "a")
    } else {
        store.put("a", session(1000 + round));
        None
    };
    let is_lost = flash.restart();
    let case = format!("round {round}, takes {takes}, {words} words, torn {torn:#x}");
    // It goes on with what is there.
    let after = all(&flash.copy());
    if let Some(taken) = taken {
        assert!(!after.contains(&taken), "{case}: {taken} is returned twice");
    }
    let (gone, come) = (before.difference(&after).count(), after.difference(before).count());
    let may_come = usize::from(!takes);
    assert!(gone <= 1 && come <= may_come, "{case}: {before:?}, then {after:?}");
    // A session that made room went together with the one that came.
    let is_full = before.len() == usize::from(SESSIONS);
    assert!(takes || gone == usize::from(is_full && come == 1), "{case}: {before:?} {after:?}");
    // And it still works.
    let store = open(&flash);
    store.put("a", session(2000));
    assert_eq!(pop(&store, "a"), Some(2000), "{case}");
    is_lost
}

/// Power is lost again and again, also while the log recovers.
#[test]
fn fuzz_power_lost_often_returns_no_session_twice() {
    let mut losses = 0;
    each_seed(6, |numbers| {
        let flash = Flash::new();
        let (mut taken, mut next) = (BTreeSet::new(), 0);
        for _ in 0..300 {
            let torn = *numbers.pick(&[0, 0xff, 0x5a, 0x0f]);
            let words =
                if numbers.happens(30) { 1 + numbers.below(8) } else { 1 + numbers.below(400) };
            flash.lose_power_after(words, torn);
            let store = open(&flash);
            for _ in 0..=numbers.below(3) {
                match numbers.below(3) {
                    0 => {
                        store.put("a", session(next));
                        next += 1;
                    }
                    1 => {
                        if let Some(number) = pop(&store, "a") {
                            assert!(taken.insert(number), "{number} is returned twice");
                        }
                    }
                    _ => store.retain(&|session| session.ticket[1] % 5 != 0),
                }
            }
            losses += usize::from(flash.restart());
        }
        let store = open(&flash);
        for _ in 0..20 {
            store.put("b", session(next));
            assert_eq!(pop(&store, "b"), Some(next));
            next += 1;
        }
    });
    assert!(losses > 500, "{losses}");
}

/// Takes everything.
fn all(flash: &Flash) -> BTreeSet<u16> {
    let store = open(flash);
    let taken: Vec<_> = core::iter::from_fn(|| pop(&store, "a")).collect();
    let different: BTreeSet<_> = taken.iter().copied().collect();
    assert_eq!(different.len(), taken.len(), "a session is there twice");
    different
}
