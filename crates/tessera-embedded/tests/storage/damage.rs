//! Flash that is damaged, foreign, or doesn't write.

use std::collections::BTreeSet;

use tessera::resume::SessionStore;
use tessera_embedded::SessionStorage;
use tessera_harness::{Numbers, each_seed};

use crate::flash::{Flash, SECTOR, SECTORS};
use crate::sessions::{LONGEST, RANGE, SESSIONS, open, pop, session};

/// A session can be kept and taken, once, also after a restart.
fn works(flash: &Flash, number: u16) {
    open(flash).put("works", session(number));
    assert_eq!(pop(&open(flash), "works"), Some(number), "it is kept");
    assert_eq!(pop(&open(flash), "works"), None, "it is taken once");
}

#[test]
fn what_is_no_log_of_sessions_is_overwritten() {
    let mut numbers = Numbers(1);
    let random = (0..SECTOR * SECTORS).map(|_| numbers.next() as u8).collect();
    let text = b"another program's data. ".iter().copied().cycle().take(SECTOR * SECTORS).collect();
    for bytes in [vec![0; SECTOR * SECTORS], vec![0x5a; SECTOR * SECTORS], random, text] {
        let flash = Flash::of(bytes);
        assert_eq!(pop(&open(&flash), "a"), None);
        works(&flash, 7);
    }
}

#[test]
fn fuzz_damaged_flash_is_no_obstacle() {
    each_seed(10, |numbers| {
        let flash = Flash::new();
        let store = open(&flash);
        let mut kept = BTreeSet::new();
        for number in 0..numbers.below(60) as u16 {
            store.put("a", session(number));
            kept.insert(number);
            if numbers.happens(30) {
                kept.remove(&pop(&store, "a").unwrap());
            }
        }
        flash.damage(|bytes| {
            for _ in 0..=numbers.below(20) {
                let at = numbers.below(bytes.len());
                match numbers.below(5) {
                    0 => bytes[at] ^= 1 << numbers.below(8),
                    1 => bytes[at] = numbers.next() as u8,
                    // The marks of sectors, and what follows.
                    2 => {
                        let sector = at / SECTOR * SECTOR;
                        let at = if numbers.happens(50) { 0 } else { SECTOR - 8 };
                        bytes[sector + at..][..8].fill(*numbers.pick(&[0, 0xff, 0x5a]));
                    }
                    3 => {
                        let len = numbers.below(SECTOR).min(bytes.len() - at);
                        bytes[at..at + len].fill(*numbers.pick(&[0, 0xff, 0x5a]));
                    }
                    _ => {
                        let (from, to) = (numbers.below(SECTORS), numbers.below(SECTORS));
                        bytes.copy_within(from * SECTOR..(from + 1) * SECTOR, to * SECTOR);
                    }
                }
            }
        });
        // What is taken was kept at some time, and is taken once.
        let store = open(&flash);
        let mut taken = BTreeSet::new();
        while let Some(number) = pop(&store, "a") {
            assert!(number < 60 && taken.insert(number), "{number} is taken twice");
            assert!(taken.len() <= usize::from(SESSIONS));
        }
        works(&flash, 1000);
    });
}

/// SPI NOR ignores writes to blocks that are protected, without an error.
#[test]
fn a_session_that_cant_be_taken_out_isnt_returned() {
    let flash = Flash::new();
    open(&flash).put("a", session(1));
    flash.protect(true);
    assert_eq!(pop(&open(&flash), "a"), None);
    flash.protect(false);
    assert_eq!(pop(&open(&flash), "a"), Some(1));
}

#[test]
fn a_buffer_of_any_length_keeps_what_fits() {
    for len in LONGEST - 8..LONGEST {
        let flash = Flash::new();
        for longer in (0..100).step_by(3) {
            let store = SessionStorage::new(flash.clone(), RANGE, SESSIONS, vec![0; len]).unwrap();
            store.put("a", session(1));
            let mut long = session(2);
            long.ticket.resize(long.ticket.len() + 100 + longer, 3);
            store.put("a", long);
            let taken = pop(&store, "a");
            assert!(matches!(taken, Some(1 | 2)), "{len} {longer}: {taken:?}");
            if taken == Some(2) {
                assert_eq!(pop(&store, "a"), Some(1));
            }
        }
    }
}

/// As after an update of the firmware.
#[test]
fn a_shorter_buffer_keeps_sessions_again() {
    let flash = Flash::new();
    let store = SessionStorage::new(flash.clone(), RANGE, SESSIONS, vec![0; 600]).unwrap();
    let mut long = session(1);
    long.ticket.resize(400, 3);
    store.put("a", long);
    let store = SessionStorage::new(flash.clone(), RANGE, SESSIONS, vec![0; 300]).unwrap();
    for number in 0..50 {
        store.put("b", session(number));
        assert_eq!(pop(&store, "b"), Some(number));
    }
}

/// Such a log is erased, the oldest sector first.
#[test]
fn power_lost_while_a_log_is_erased_brings_no_session_back() {
    let mut losses = 0;
    for kept in 0..90 {
        let flash = Flash::new();
        let store = SessionStorage::new(flash.clone(), RANGE, 3, vec![0; 600]).unwrap();
        for number in 0..kept {
            let mut session = session(number);
            session.ticket.resize(usize::from(100 + number * 37 % 200), 3);
            store.put("a", session);
            store.pop("a").unwrap();
        }
        let mut long = session(1000);
        long.ticket.resize(400, 3);
        store.put("b", long);
        for words in (1..).step_by(61) {
            let flash = flash.copy();
            let store = SessionStorage::new(flash.clone(), RANGE, 3, vec![0; 300]).unwrap();
            flash.lose_power_after(words, *[0, 0xff, 0x5a].get(words % 3).unwrap());
            store.put("b", session(2000));
            if !flash.restart() {
                assert_eq!(pop(&store, "b"), Some(2000));
                break;
            }
            losses += 1;
            let store = SessionStorage::new(flash.clone(), RANGE, 3, vec![0; 600]).unwrap();
            assert_eq!(pop(&store, "a"), None, "{kept} kept, {words} words");
        }
    }
    assert!(losses > 500, "{losses}");
}

/// An item without contents, with its checksums, which no log of sessions writes.
#[test]
fn an_item_without_contents_is_ignored() {
    for sector in 0..SECTORS {
        let mut bytes = vec![0xff; SECTOR * SECTORS];
        bytes[sector * SECTOR..][..8].fill(0);
        bytes[sector * SECTOR + 8..][..8]
            .copy_from_slice(&[0x11, 0x11, 0x11, 0x11, 0, 0, 0x03, 0xe2]);
        let flash = Flash::of(bytes);
        assert_eq!(pop(&open(&flash), "a"), None);
        works(&flash, 7);
    }
}
