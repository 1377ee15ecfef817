//! Copies.

use super::*;

fn delivered(parameters: &LinkParameters, packets: u32) -> Vec<u32> {
    let mut scheduler = Scheduler::new(parameters, End::Server);
    (0..packets).for_each(|i| _ = scheduler.offer(MS * i, 100, i));
    let delivered = std::iter::from_fn(|| scheduler.take_due(MS * packets * 2)).collect::<Vec<_>>();
    let statistics = scheduler.statistics();
    assert_eq!(delivered.len() as u64, u64::from(packets) + statistics.duplicated);
    assert_eq!(statistics.delivered_packets, delivered.len() as u64);
    delivered
}

#[test]
fn copies_are_about_as_frequent_as_configured() {
    for (duplication, copies) in [(0.0, 0..=0), (0.1, 900..=1100), (1.0, 10_000..=10_000)] {
        let parameters = LinkParameters { duplication, seed: 3, ..LinkParameters::default() };
        let delivered = delivered(&parameters, 10_000);
        assert!(delivered.is_sorted(), "a copy overtook");
        assert!(copies.contains(&(delivered.len() - 10_000)), "{}", delivered.len());
    }
}

#[test]
fn a_copy_has_a_jitter_of_its_own() {
    let jitter = 5 * MS;
    let parameters = LinkParameters { duplication: 1.0, jitter, ..LinkParameters::default() };
    let reordering = LinkParameters { reordering: true, ..parameters.clone() };
    assert!(delivered(&parameters, 100).is_sorted());
    let delivered = delivered(&reordering, 100);
    assert!(!delivered.is_sorted());
    assert!((0..100).all(|i| delivered.iter().filter(|it| **it == i).count() == 2));
}

#[test]
fn copies_change_no_other_packet() {
    let plain = LinkParameters {
        loss: 0.2,
        jitter: 4 * MS,
        congestion: crate::Congestion::Mean(MS),
        reordering: true,
        seed: 8,
        ..LinkParameters::default()
    };
    let copied = LinkParameters { duplication: 0.4, ..plain.clone() };
    assert_eq!(fates(&plain, End::Client, 1000), fates(&copied, End::Client, 1000));
}
