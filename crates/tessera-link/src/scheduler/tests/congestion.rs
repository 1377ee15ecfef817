//! Exponential delays. The seeds are fixed, so no test can be flaky.

use super::*;
use crate::parameters::Congestion;

/// Returns the delays of many packets, none of which waits for the one before it.
fn delays(parameters: &LinkParameters, packets: u32) -> Vec<Duration> {
    // Longer than any delay.
    const APART: Duration = Duration::from_secs(100);
    let mut scheduler = Scheduler::new(parameters, End::Server);
    let mut delays = Vec::new();
    for i in 0..packets {
        let now = APART * i;
        let Fate::Held(due) = scheduler.offer(now, 40, ()) else { panic!("not held") };
        scheduler.take_due(due);
        delays.push(due - now);
    }
    delays
}

fn congested(rtt: Duration, congestion: Congestion) -> LinkParameters {
    LinkParameters { rtt, congestion, seed: 4, ..LinkParameters::default() }
}

#[test]
fn congestion_is_exponential_with_the_mean_that_was_asked_for() {
    const PACKETS: u32 = 50_000;
    for (rtt, congestion, mean) in [
        (Duration::ZERO, Congestion::Mean(10 * MS), 10 * MS),
        (134 * MS, Congestion::Share(0.05), Duration::from_micros(6700)),
        (371 * MS, Congestion::Share(0.2), Duration::from_micros(74_200)),
    ] {
        let waited: Vec<f64> = delays(&congested(rtt, congestion), PACKETS)
            .iter()
            .map(|delay| (*delay - rtt / 2).as_secs_f64() / mean.as_secs_f64())
            .collect();
        // In means: the standard deviation is 1, too.
        let count = f64::from(PACKETS);
        let average = waited.iter().sum::<f64>() / count;
        assert!((average - 1.0).abs() < 5.0 / count.sqrt(), "{average}");
        // The share that waits longer than t is e^-t.
        for t in [0.1, 0.5, 1.0, 2.0, 4.0, 6.0] {
            let expected = f64::exp(-t);
            let longer = waited.iter().filter(|waited| **waited > t).count() as f64 / count;
            let deviation = (expected * (1.0 - expected) / count).sqrt();
            assert!((longer - expected).abs() < 5.0 * deviation, "{longer} beyond {t}");
        }
    }
}

#[test]
fn congestion_keeps_the_order_unless_reordering_is_allowed() {
    for reordering in [false, true] {
        let parameters =
            LinkParameters { reordering, ..congested(20 * MS, Congestion::Mean(5 * MS)) };
        let mut scheduler = Scheduler::new(&parameters, End::Server);
        for i in 0..1000_u32 {
            let Fate::Held(due) = scheduler.offer(MS * i, 40, i) else { panic!("not held") };
            assert!(due >= MS * i + 10 * MS);
        }
        let left: Vec<_> = std::iter::from_fn(|| scheduler.take_due(100_000 * MS)).collect();
        assert_eq!(left.len(), 1000);
        assert_eq!(left.is_sorted(), !reordering);
    }
}

#[test]
fn the_longest_congestion_is_bounded() {
    assert_eq!(exponential(MS, 0), Duration::ZERO);
    let longest = exponential(MS, u64::MAX);
    assert!(longest > 36 * MS && longest < 37 * MS, "{longest:?}");
    assert_eq!(exponential(Duration::ZERO, u64::MAX), Duration::ZERO);
}

#[test]
fn congestion_repeats_with_its_seed_and_changes_no_other_decision() {
    let parameters =
        LinkParameters { loss: 0.1, jitter: MS, ..congested(33 * MS, Congestion::Share(0.2)) };
    let first = fates(&parameters, End::Server, 1000);
    assert_eq!(first, fates(&parameters, End::Server, 1000));
    assert_ne!(first, fates(&parameters, End::Client, 1000));
    let free = LinkParameters { congestion: Congestion::None, ..parameters };
    assert_eq!(losses(&first), losses(&fates(&free, End::Server, 1000)));
}
