//! Outages.

use super::*;
use crate::parameters::Outages;

const OUTAGES: Option<Outages> = Some(Outages {
    first: Duration::from_millis(100),
    length: MS,
    period: Duration::from_millis(50),
});

/// A packet meets an outage where the client is: when it leaves there, or arrives there.
#[test]
fn a_packet_is_lost_if_the_clients_end_is_down_when_it_is_there() {
    let parameters = LinkParameters { rtt: 40 * MS, outages: OUTAGES, ..LinkParameters::default() };
    let fates = |towards| {
        let fates = fates(&parameters, towards, 160);
        (0..160).filter(|i| fates[*i] == Fate::Down).collect::<Vec<_>>()
    };
    assert_eq!(fates(End::Server), [100, 150]);
    assert_eq!(fates(End::Client), [80, 130]);
}

#[test]
fn an_outage_changes_no_other_packet() {
    let plain = LinkParameters { loss: 0.3, seed: 4, ..LinkParameters::default() };
    let interrupted = LinkParameters { outages: OUTAGES, ..plain.clone() };
    for towards in [End::Server, End::Client] {
        let (plain, interrupted) = (fates(&plain, towards, 500), fates(&interrupted, towards, 500));
        let is_down = |i: usize| i >= 100 && i.is_multiple_of(50);
        for (i, (before, after)) in plain.iter().zip(&interrupted).enumerate() {
            let expected = if is_down(i) && *before != Fate::Lost { Fate::Down } else { *before };
            assert_eq!(*after, expected, "packet {i}");
        }
    }
}

#[test]
fn outages_count_from_the_last_setting() {
    let parameters = LinkParameters { outages: OUTAGES, ..LinkParameters::default() };
    let mut scheduler = Scheduler::new(&parameters, End::Server);
    scheduler.set(77 * MS, &parameters);
    assert_ne!(scheduler.offer(100 * MS, 1, ()), Fate::Down);
    assert_eq!(scheduler.offer(177 * MS, 1, ()), Fate::Down);
    assert_eq!(scheduler.statistics().down, 1);
}

#[test]
fn an_end_that_is_set_down_loses_what_leaves_and_what_arrives() {
    let parameters = LinkParameters { rtt: 40 * MS, ..LinkParameters::default() };
    for (towards, delivered) in [(End::Server, [0, 2, 3]), (End::Client, [1, 2, 3])] {
        let mut scheduler = Scheduler::new(&parameters, towards);
        scheduler.offer(Duration::ZERO, 1, 0);
        scheduler.set_down(true);
        // One arrives at the client while it is down; one leaves there.
        let early = scheduler.take_due(20 * MS);
        scheduler.offer(30 * MS, 1, 1);
        scheduler.set_down(false);
        scheduler.offer(40 * MS, 1, 2);
        scheduler.offer(40 * MS, 1, 3);
        let later = std::iter::from_fn(|| scheduler.take_due(MS * 1000));
        assert_eq!(early.into_iter().chain(later).collect::<Vec<_>>(), delivered);
        assert_eq!(scheduler.statistics().down, 1);
    }
}
