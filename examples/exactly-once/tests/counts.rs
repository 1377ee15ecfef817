//! Every increment is counted once; slips must show in the count, or the test proves nothing.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use tessera_exactly_once::{Slip, Tally, run};

fn store(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("exactly-once-{name}-{}.db", std::process::id()))
}

/// Returns how many of the runs counted too few and too many.
fn wrong(seeds: Range<u64>, slip: Option<Slip>, tally: &Arc<Tally>) -> (u64, u64) {
    let store = store(&format!("{slip:?}-{}", seeds.start));
    let (mut few, mut many) = (0, 0);
    for seed in seeds {
        let outcome = run(seed, &store, slip, tally).expect("comes to an end");
        few += u64::from(outcome.counted < outcome.wanted);
        many += u64::from(outcome.counted > outcome.wanted);
    }
    let _ = std::fs::remove_file(store);
    (few, many)
}

#[test]
fn every_increment_is_counted_once() {
    assert_eq!(wrong(0..500, None, &Arc::default()), (0, 0));
}

/// And everything happens, in both directions and between any two steps: what doesn't is not tested.
#[test]
fn every_increment_is_counted_once_whatever_happens() {
    let tally = Arc::default();
    assert_eq!(wrong(500..1000, None, &tally), (0, 0));
    for (what, count) in tally.counts() {
        println!("{count:>9} {what}");
        assert!(count >= 15, "{count} {what}");
    }
}

const STEP: usize = 20;

/// Runs until the count is wrong, and returns how.
fn shows(slip: Slip) -> &'static str {
    for first in (0..2000).step_by(STEP) {
        let (few, many) = wrong(first..first + STEP as u64, Some(slip), &Arc::default());
        assert!(few == 0 || many == 0, "{slip:?}: {few} too few, {many} too many");
        if few + many > 0 {
            println!("{slip:?}: {few} of {STEP} too few, {many} too many, from seed {first}");
            return if few > 0 { "too few" } else { "too many" };
        }
    }
    "nothing"
}

#[test]
fn a_server_that_slips_is_seen() {
    assert_eq!(shows(Slip::ServerForgets), "too many");
    assert_eq!(shows(Slip::ServerMarksFirst), "too few");
    assert_eq!(shows(Slip::ServerMarksLast), "too many");
    assert_eq!(shows(Slip::ServerAnswersFirst), "too few");
    assert_eq!(shows(Slip::ReceiptsDoNotBurn), "too many");
}

#[test]
fn a_client_that_slips_is_seen() {
    assert_eq!(shows(Slip::ClientSavesLate), "too many");
    assert_eq!(shows(Slip::ClientTakesUnknownForBurned), "too many");
    assert_eq!(shows(Slip::ClientTakesUsedForBurned), "too many");
    assert_eq!(shows(Slip::ClientTakesTakenForBurned), "too many");
    assert_eq!(shows(Slip::ClientTakesNoReceiptForBurned), "too many");
    assert_eq!(shows(Slip::ClientForgetsCopies), "too many");
    assert_eq!(shows(Slip::ClientMixesFlightsUp), "too many");
}
