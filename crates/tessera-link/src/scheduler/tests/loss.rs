//! The share of losses, and the lengths of bursts. The seeds are fixed, so no test can be flaky; the bounds are
//! nevertheless statistical.

use super::*;

const PACKETS: u32 = 400_000;

/// Returns which of many packets are lost, for this share and mean length of a burst.
fn lost(loss: f64, loss_burst: f64, packets: u32) -> Vec<bool> {
    let parameters = LinkParameters { loss, loss_burst, seed: 3, ..LinkParameters::default() };
    parameters.validate().unwrap();
    losses(&fates_one_by_one(&parameters, packets))
}

/// As `fates`, with no packet in flight when the next one arrives.
fn fates_one_by_one(parameters: &LinkParameters, packets: u32) -> Vec<Fate> {
    let mut scheduler = Scheduler::new(parameters, End::Server);
    let mut fates = Vec::new();
    for i in 0..packets {
        fates.push(scheduler.offer(MS * i, 1000, ()));
        scheduler.take_due(MS * i);
    }
    fates
}

fn share_of(lost: &[bool]) -> f64 {
    lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64
}

/// Returns the lengths of all runs of lost packets.
fn bursts(lost: &[bool]) -> Vec<usize> {
    lost.split(|lost| !lost).map(<[bool]>::len).filter(|length| *length > 0).collect()
}

fn mean(lengths: &[usize]) -> f64 {
    lengths.iter().sum::<usize>() as f64 / lengths.len() as f64
}

#[test]
fn loss_is_about_as_frequent_as_configured() {
    let count = |loss| {
        let parameters = LinkParameters { loss, seed: 3, ..LinkParameters::default() };
        losses(&fates(&parameters, End::Server, 10_000)).iter().filter(|l| **l).count()
    };
    assert_eq!(count(0.0), 0);
    assert_eq!(count(1.0), 10_000);
    // Six standard deviations; with a fixed seed this cannot be flaky.
    assert!((1820..2180).contains(&count(0.2)), "{}", count(0.2));
}

#[test]
fn bursts_are_as_long_as_configured_and_lose_the_same_share() {
    for (loss, burst) in [(0.01, 3.0), (0.1, 3.0), (0.1, 20.0), (0.5, 2.5)] {
        let lost = lost(loss, burst, PACKETS);
        // The variance of a mean of correlated packets is (1 + r) / (1 - r) times that of independent ones,
        // where r is the correlation of neighbours.
        let r = 1.0 - 1.0 / burst - loss / (burst * (1.0 - loss));
        let deviation = (loss * (1.0 - loss) / f64::from(PACKETS) * (1.0 + r) / (1.0 - r)).sqrt();
        let share = share_of(&lost);
        assert!((share - loss).abs() < 5.0 * deviation, "{share} of {loss} in bursts of {burst}");

        // Lengths are geometric: their standard deviation is sqrt(b (b - 1)).
        let lengths = bursts(&lost);
        let deviation = (burst * (burst - 1.0) / lengths.len() as f64).sqrt();
        let length = mean(&lengths);
        assert!((length - burst).abs() < 5.0 * deviation, "{length} of {burst} at {loss}");
    }
}

#[test]
fn the_lengths_of_bursts_are_geometric() {
    let lengths = bursts(&lost(0.1, 3.0, PACKETS));
    // Of the bursts that reach a length, two of three continue.
    for length in 1..6 {
        let reach = lengths.iter().filter(|l| **l >= length).count() as f64;
        let go_on = lengths.iter().filter(|l| **l > length).count() as f64;
        let deviation = (2.0 / 9.0 / reach).sqrt();
        assert!(
            (go_on / reach - 2.0 / 3.0).abs() < 5.0 * deviation,
            "{length}: {go_on} of {reach}"
        );
    }
}

/// The mean length of independent losses is 1 / (1 - p): asking for it changes nothing.
#[test]
fn bursts_of_chance_are_independent_losses() {
    let independent = lost(0.2, 1.0, 10_000);
    assert_eq!(independent, lost(0.2, 1.25, 10_000));
    let length = mean(&bursts(&independent));
    assert!((1.2..1.3).contains(&length), "{length}");
}

#[test]
fn the_bursts_of_a_seed_are_pinned() {
    let parameters =
        LinkParameters { loss: 0.3, loss_burst: 3.0, seed: 1, ..LinkParameters::default() };
    let pattern = |towards| -> String {
        let lost = losses(&fates(&parameters, towards, 40));
        lost.iter().map(|lost| if *lost { 'x' } else { '.' }).collect()
    };
    assert_eq!(pattern(End::Server), ".xx.x.xxx.........x.....x...............");
    assert_eq!(pattern(End::Client), "............xxxx.......xx.......xxxxx...");
}

#[test]
fn setting_the_link_again_begins_outside_of_a_burst() {
    let parameters =
        LinkParameters { loss: 0.3, loss_burst: 50.0, seed: 9, ..LinkParameters::default() };
    let mut scheduler = Scheduler::new(&parameters, End::Server);
    let mut run = |start: u32| -> Vec<bool> {
        scheduler.set(Duration::ZERO, &parameters);
        losses(&(start..start + 200).map(|i| scheduler.offer(MS * i, 40, ())).collect::<Vec<_>>())
    };
    let first = run(0);
    assert!(first.contains(&true) && first.contains(&false));
    for start in 1..10 {
        assert_eq!(run(start * 1000), first);
    }
}
