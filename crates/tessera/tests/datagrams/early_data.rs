//! Early data: what the server reports as taken was executed, and nothing else ever is.

use std::time::Duration;

use tessera::AssociationOptions;
use tessera::Role;
use tessera_harness::{DatagramPair, Link, Mode, Numbers, lossless, to};

use crate::world::{DELAY, begin, scene, session};

const RECORDS: usize = 5;

/// A client with five datagrams of early data, `a` to `e`.
fn start(mode: Mode, link: Link) -> DatagramPair {
    let scene = scene(mode);
    let options = [AssociationOptions::default(), AssociationOptions::default()];
    let mut pair = begin(&scene, to(session(&scene)), options, link);
    for number in 0..RECORDS {
        let data = vec![b'a' + number as u8; 700];
        assert_eq!(pair.client.write_early_data(&data), Ok(true));
    }
    pair
}

fn executed(pair: &DatagramPair) -> String {
    let mut letters = String::from_utf8(pair.to_server.early_data.clone()).expect("letters");
    letters = letters.chars().step_by(700).collect();
    letters
}

fn taken(pair: &DatagramPair) -> usize {
    pair.client.facts().early_records_taken.map_or(0, |taken| taken as usize)
}

const MODES: [Mode; 4] = [Mode::Replayable, Mode::FsDhe, Mode::FsKe, Mode::FsPsk];

/// The hello's datagram has one, and those that follow it come too late.
#[test]
fn the_client_learns_which_records_were_taken_and_no_other_is_executed_later() {
    for mode in MODES {
        let mut pair = start(mode, lossless(DELAY));
        pair.run();
        assert!(pair.to_client.complete, "{mode:?}");
        let count = taken(&pair);
        assert_eq!(executed(&pair), "abcde"[..count], "{mode:?}");
        assert!(count < RECORDS, "the others came after the answer");
        assert_eq!(pair.client.facts().early_data_written, RECORDS * 700);
    }
}

/// Early records that overtake the hello wait for it.
#[test]
fn records_before_their_hello_are_taken_with_it() {
    for mode in MODES {
        let link: Link = Box::new(|sender, number, _| match (sender, number) {
            (Role::Client, 0) => vec![DELAY * 2],
            _ => vec![DELAY],
        });
        let mut pair = start(mode, link);
        pair.run();
        // A server's association exists before its first datagram here; an endpoint's doesn't.
        assert_eq!((taken(&pair), executed(&pair).as_str()), (RECORDS, "abcde"), "{mode:?}");
    }
}

#[test]
fn a_gap_ends_what_is_taken() {
    // The hello comes last, and the third record never.
    let link: Link = Box::new(|sender, number, _| match (sender, number) {
        (Role::Client, 0) => vec![DELAY * 2],
        (Role::Client, 2) => Vec::new(),
        _ => vec![DELAY],
    });
    let mut pair = start(Mode::FsDhe, link);
    pair.run();
    let count = taken(&pair);
    assert!(count < RECORDS);
    assert_eq!(executed(&pair), "abcde"[..count]);
}

#[test]
fn under_loss_and_reordering_exactly_what_was_taken_is_executed() {
    let mut numbers = Numbers(7);
    let mut all = [0; RECORDS + 1];
    for round in 0..300 {
        let mode = MODES[round % MODES.len()];
        let mut of_link = Numbers(numbers.next());
        let link: Link = Box::new(move |_, _, _| {
            let mut arrivals = Vec::new();
            if !of_link.happens(25) {
                arrivals.push(DELAY + Duration::from_millis(of_link.next() % 60));
            }
            if of_link.happens(20) {
                arrivals.push(DELAY + Duration::from_millis(of_link.next() % 2000));
            }
            arrivals
        });
        let mut pair = start(mode, link);
        pair.run();
        if pair.to_client.complete {
            let accepted = pair.to_client.early_data_accepted == Some(true);
            let count = if accepted { taken(&pair) } else { 0 };
            assert_eq!(executed(&pair), "abcde"[..count], "round {round}, {mode:?}");
            all[count] += 1;
        }
    }
    assert!(all.iter().filter(|rounds| **rounds > 0).count() > 2, "{all:?}");
}
