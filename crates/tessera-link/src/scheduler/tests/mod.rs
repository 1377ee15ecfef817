//! Decisions, with exact times.

use super::*;

mod congestion;
mod duplication;
mod loss;
mod outages;

const MS: Duration = Duration::from_millis(1);

fn fates(parameters: &LinkParameters, towards: End, packets: u32) -> Vec<Fate> {
    let mut scheduler = Scheduler::new(parameters, towards);
    (0..packets).map(|i| scheduler.offer(MS * i, 1000, ())).collect()
}

fn losses(fates: &[Fate]) -> Vec<bool> {
    fates.iter().map(|v| *v == Fate::Lost).collect()
}

#[test]
fn a_packet_is_held_for_half_the_round_trip() {
    let parameters = LinkParameters { rtt: 33 * MS, ..LinkParameters::default() };
    let mut scheduler = Scheduler::new(&parameters, End::Server);
    let due = 100 * MS + Duration::from_micros(16_500);
    assert_eq!(scheduler.offer(100 * MS, 40, 'a'), Fate::Held(due));
    assert_eq!(scheduler.next_due(), Some(due));
    assert_eq!(scheduler.take_due(due - Duration::from_nanos(1)), None);
    assert_eq!(scheduler.take_due(due + MS / 10), Some('a'));
    assert_eq!(scheduler.next_due(), None);
    let statistics = scheduler.statistics();
    assert_eq!((statistics.late_total, statistics.late_most), (MS / 10, MS / 10));
}

#[test]
fn without_delay_a_packet_is_due_at_once_and_in_order() {
    let mut scheduler = Scheduler::new(&LinkParameters::default(), End::Server);
    for packet in 0..10 {
        assert_eq!(scheduler.offer(MS, 40, packet), Fate::Held(MS));
    }
    let left: Vec<_> = std::iter::from_fn(|| scheduler.take_due(MS)).collect();
    assert_eq!(left, Vec::from_iter(0..10));
}

#[test]
fn the_same_seed_repeats_every_decision() {
    let parameters = LinkParameters {
        rtt: 10 * MS,
        jitter: 3 * MS,
        loss: 0.2,
        seed: 42,
        ..LinkParameters::default()
    };
    let first = fates(&parameters, End::Server, 2000);
    assert_eq!(first, fates(&parameters, End::Server, 2000));

    let other = LinkParameters { seed: 43, ..parameters.clone() };
    assert_ne!(losses(&first), losses(&fates(&other, End::Server, 2000)));
    assert_ne!(losses(&first), losses(&fates(&parameters, End::Client, 2000)));
}

#[test]
fn the_decisions_of_a_seed_are_pinned() {
    // Published results must repeat with later versions too.
    let parameters = LinkParameters { loss: 0.5, seed: 1, ..LinkParameters::default() };
    let pattern = |towards| -> String {
        let lost = losses(&fates(&parameters, towards, 32));
        lost.iter().map(|lost| if *lost { 'x' } else { '.' }).collect()
    };
    assert_eq!(pattern(End::Server), ".xx.x.xx..xxxx....x.xx..x.xxxxx.");
    assert_eq!(pattern(End::Client), ".........x.xxxxx.xx....x..xxx..x");
}

#[test]
fn setting_the_link_again_repeats_the_same_losses() {
    let parameters = LinkParameters { loss: 0.3, seed: 9, ..LinkParameters::default() };
    let mut scheduler = Scheduler::new(&parameters, End::Server);
    let mut run = |start: u32| -> Vec<bool> {
        scheduler.set(Duration::ZERO, &parameters);
        let run = (start..start + 500).map(|i| scheduler.offer(MS * i, 40, ()));
        losses(&run.collect::<Vec<_>>())
    };
    assert_eq!(run(0), run(777));
}

#[test]
fn losses_of_a_seed_do_not_depend_on_other_parameters() {
    let plain = LinkParameters { loss: 0.1, seed: 5, ..LinkParameters::default() };
    let busy = LinkParameters { rtt: 33 * MS, jitter: 5 * MS, ..plain.clone() };
    assert_eq!(losses(&fates(&plain, End::Client, 1000)), losses(&fates(&busy, End::Client, 1000)));
}

#[test]
fn jitter_adds_at_most_itself_and_keeps_the_order() {
    let parameters = LinkParameters { rtt: 20 * MS, jitter: 4 * MS, ..LinkParameters::default() };
    let mut scheduler = Scheduler::new(&parameters, End::Server);
    let mut latest = Duration::ZERO;
    let mut held = Vec::new();
    for i in 0..1000 {
        let now = MS * i;
        let Fate::Held(due) = scheduler.offer(now, 40, i) else { panic!("not held") };
        assert!(due >= latest, "overtaken");
        assert!(due >= now + 10 * MS && due < now + 14 * MS, "{:?}", due - now);
        latest = due;
        held.push(due - now);
    }
    assert!(held.iter().max().unwrap().abs_diff(*held.iter().min().unwrap()) > 3 * MS);
    let left: Vec<_> = std::iter::from_fn(|| scheduler.take_due(latest)).collect();
    assert_eq!(left, Vec::from_iter(0..1000));
}

#[test]
fn reordering_happens_only_when_allowed() {
    let parameters =
        LinkParameters { jitter: 4 * MS, reordering: true, ..LinkParameters::default() };
    let mut scheduler = Scheduler::new(&parameters, End::Server);
    let mut dues = Vec::new();
    for i in 0..100_u32 {
        let Fate::Held(due) = scheduler.offer(MS * i, 40, i) else { panic!("not held") };
        dues.push((due, i));
    }
    let left: Vec<_> = std::iter::from_fn(|| scheduler.take_due(MS * 200)).collect();
    assert_ne!(left, Vec::from_iter(0..100));
    dues.sort();
    assert_eq!(left, Vec::from_iter(dues.into_iter().map(|(_, i)| i)));
}

#[test]
fn a_limited_rate_spaces_packets() {
    // 1000 bytes at 8 Mbit/s take one millisecond.
    let parameters =
        LinkParameters { rtt: 10 * MS, rate: Some(8_000_000), ..LinkParameters::default() };
    let mut scheduler = Scheduler::new(&parameters, End::Server);
    for i in 1..=3 {
        assert_eq!(scheduler.offer(Duration::ZERO, 1000, ()), Fate::Held((5 + i) * MS));
    }
    // A packet that arrives when the wire is still busy for half a millisecond waits for it.
    let now = Duration::from_micros(2500);
    assert_eq!(scheduler.offer(now, 1000, ()), Fate::Held(9 * MS));
    // A packet that finds the wire idle does not: unused time is not saved up.
    assert_eq!(scheduler.offer(50 * MS, 500, ()), Fate::Held(55 * MS + MS / 2));
}

#[test]
fn a_full_queue_drops_and_drains() {
    let parameters =
        LinkParameters { rate: Some(8_000_000), queue: 3000, ..LinkParameters::default() };
    let mut scheduler = Scheduler::new(&parameters, End::Server);
    for _ in 0..3 {
        assert!(matches!(scheduler.offer(Duration::ZERO, 1000, ()), Fate::Held(_)));
    }
    assert_eq!(scheduler.offer(Duration::ZERO, 1000, ()), Fate::Overflowed);
    assert_eq!(scheduler.offer(MS / 2, 1000, ()), Fate::Overflowed);
    assert_eq!(scheduler.offer(MS, 1000, ()), Fate::Held(4 * MS));
    let statistics = scheduler.statistics();
    assert_eq!((statistics.offered_packets, statistics.overflowed), (6, 2));
}

#[test]
fn a_queue_smaller_than_a_packet_still_carries_one_at_a_time() {
    let parameters =
        LinkParameters { rate: Some(8_000_000), queue: 0, ..LinkParameters::default() };
    let mut scheduler = Scheduler::new(&parameters, End::Server);
    assert_eq!(scheduler.offer(Duration::ZERO, 1000, ()), Fate::Held(MS));
    assert_eq!(scheduler.offer(Duration::ZERO, 1000, ()), Fate::Overflowed);
    assert_eq!(scheduler.offer(MS, 1000, ()), Fate::Held(2 * MS));
}

#[test]
fn the_packets_that_a_link_holds_are_bounded_without_a_rate_too() {
    let parameters = LinkParameters { rtt: 33 * MS, ..LinkParameters::default() };
    let mut scheduler = Scheduler::new(&parameters, End::Server);
    for _ in 0..MOST_HELD {
        assert!(matches!(scheduler.offer(Duration::ZERO, 40, ()), Fate::Held(_)));
    }
    assert_eq!(scheduler.offer(Duration::ZERO, 40, ()), Fate::Overflowed);
}

#[test]
fn link_statistics_count_only_the_present_setting() {
    let slow = LinkParameters { rtt: 20 * MS, ..LinkParameters::default() };
    let mut scheduler = Scheduler::new(&slow, End::Server);
    scheduler.offer(Duration::ZERO, 100, 'a');
    scheduler.set(Duration::ZERO, &LinkParameters::default());
    // The new packet is due at once, but does not overtake the one in flight.
    assert_eq!(scheduler.offer(MS, 50, 'b'), Fate::Held(10 * MS));
    assert_eq!(scheduler.take_due(10 * MS), Some('a'));
    assert_eq!(scheduler.take_due(10 * MS), Some('b'));
    let statistics = scheduler.statistics();
    assert_eq!((statistics.offered_packets, statistics.offered_bytes), (1, 50));
    assert_eq!((statistics.delivered_packets, statistics.delivered_bytes), (1, 50));
}

#[test]
fn syns_with_data_are_counted_and_lost_where_that_is_asked_for() {
    let mut scheduler = Scheduler::<()>::new(&LinkParameters::default(), End::Server);
    assert!(!scheduler.loses_syn_data(1000));
    scheduler
        .set(Duration::ZERO, &LinkParameters { syn_data_lost: true, ..LinkParameters::default() });
    assert!(scheduler.loses_syn_data(1000));
    let statistics = scheduler.statistics();
    assert_eq!((statistics.syn_data_packets, statistics.lost), (1, 1));
    assert_eq!(statistics.offered_packets, 1);
}
