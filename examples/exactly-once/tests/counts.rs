//! Every increment once; and slips that the count must show, or it shows nothing.

use std::path::PathBuf;

use tessera_exactly_once::{Slip, run};

fn store(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("exactly-once-{name}-{}.db", std::process::id()))
}

/// How many of the runs counted too few and too many.
fn wrong(name: &str, seeds: std::ops::Range<u64>, slip: Option<Slip>) -> (u64, u64) {
    let store = store(name);
    let (mut few, mut many) = (0, 0);
    for seed in seeds {
        let outcome = run(seed, &store, slip).expect("comes to an end");
        few += u64::from(outcome.counted < outcome.wanted);
        many += u64::from(outcome.counted > outcome.wanted);
    }
    let _ = std::fs::remove_file(store);
    (few, many)
}

#[test]
fn every_increment_is_counted_once() {
    assert_eq!(wrong("first", 0..500, None), (0, 0));
}

#[test]
fn every_increment_is_counted_once_again() {
    assert_eq!(wrong("second", 500..1000, None), (0, 0));
}

#[test]
fn a_server_that_forgets_counts_twice() {
    let (few, many) = wrong("server", 0..100, Some(Slip::ServerForgets));
    assert_eq!(few, 0);
    assert!(many > 50, "{many} of 100");
}

#[test]
fn a_client_that_takes_unknown_for_burned_counts_twice() {
    let (few, many) = wrong("unknown", 0..300, Some(Slip::ClientTakesUnknownForBurned));
    assert_eq!(few, 0);
    assert!(many > 0, "none of 300");
}

#[test]
fn a_client_that_forgets_its_copies_counts_twice() {
    let (few, many) = wrong("copies", 0..300, Some(Slip::ClientForgetsCopies));
    assert_eq!(few, 0);
    assert!(many > 0, "none of 300");
}
