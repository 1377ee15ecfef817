//! The classifier on flows with known answers.

use tessera_reports::Mode;

use super::*;
use crate::traffic::samples;

/// Returns this many flows of two options; `records` makes those of one from its number and whether it is the second.
fn flows(count: usize, records: impl Fn(usize, bool) -> Vec<(i64, u64)>) -> Vec<Flow> {
    (0..count)
        .flat_map(|n| {
            [(Mode::Full, false), (Mode::PskDhe, true)].map(|(mode, second)| (n, mode, second))
        })
        .map(|(n, mode, second)| samples::flow(mode, records(n, second)))
        .collect()
}

fn table(confusion: &Confusion, features: Features) -> &ConfusionTable {
    confusion.tables.iter().find(|table| table.features == features).unwrap()
}

fn accuracy(flows: &[Flow], features: Features) -> f64 {
    table(&confusion(flows, 7), features).accuracy
}

/// Noise that has nothing to do with the option.
fn noise(n: usize, second: bool) -> usize {
    Random::new((2 * n + usize::from(second)) as u64).up_to(1_000)
}

#[test]
fn options_of_different_sizes_are_recognised_by_sizes_and_not_by_times() {
    let flows = flows(40, |n, second| {
        let size = if second { 700 } else { 500 };
        vec![(size + (n % 5) as i64, 0), (-900, noise(n, second) as u64)]
    });
    assert_eq!(accuracy(&flows, Features::Sizes), 1.0);
    assert_eq!(accuracy(&flows, Features::Both), 1.0);
    let times = accuracy(&flows, Features::Times);
    assert!((0.25..0.75).contains(&times), "{times}");
    let confusion = confusion(&flows, 7);
    let sizes = table(&confusion, Features::Sizes);
    assert_eq!(sizes.options, [Letter::A, Letter::C]);
    assert_eq!(sizes.matrix, [[40, 0], [0, 40]]);
    assert_eq!(sizes.chance, 0.5);
    assert_eq!(sizes.first_question.as_deref(), Some("record 1 size > 602"));
    assert!(sizes.interval.0 > 0.95 && sizes.interval.1 > 0.999, "{:?}", sizes.interval);
    assert_eq!(confusion.folds, FOLDS);
}

#[test]
fn options_of_different_times_are_recognised_by_times_and_not_by_sizes() {
    let flows = flows(40, |n, second| {
        let us = if second { 34_000 } else { 33_000 };
        vec![(500, 0), (-(noise(n, second) as i64), us + (n % 7) as u64)]
    });
    assert_eq!(accuracy(&flows, Features::Times), 1.0);
    assert_eq!(accuracy(&flows, Features::Both), 1.0);
    let sizes = accuracy(&flows, Features::Sizes);
    assert!((0.25..0.75).contains(&sizes), "{sizes}");
}

/// Here, the sizes that padding can change reveal nothing, and the others reveal everything.
#[test]
fn plaintext_records_are_no_protected_sizes() {
    let mut flows = flows(40, |n, second| {
        let hello = if second { 700 } else { 500 };
        vec![(hello, 0), (-(noise(n, second) as i64), 1)]
    });
    for flow in &mut flows {
        flow.plaintext = vec![0];
    }
    assert_eq!(accuracy(&flows, Features::Sizes), 1.0);
    let protected = accuracy(&flows, Features::ProtectedSizes);
    assert!((0.25..0.75).contains(&protected), "{protected}");
}

/// A classifier tested on its training flows would find differences in noise.
#[test]
fn the_same_option_under_two_names_is_indistinguishable() {
    let flows = flows(100, |n, second| {
        vec![(500 + noise(n, second) as i64, noise(n + 1_000, second) as u64), (-900, 5)]
    });
    for features in Features::ALL {
        let accuracy = accuracy(&flows, features);
        assert!((0.35..0.65).contains(&accuracy), "{features:?}: {accuracy}");
    }
}

#[test]
fn the_same_flows_and_seed_make_the_same_tables() {
    let flows = flows(30, |n, second| vec![(noise(n, second) as i64, noise(n, second) as u64)]);
    assert_eq!(confusion(&flows, 7), confusion(&flows, 7));
    assert_ne!(confusion(&flows, 7), confusion(&flows, 8), "the parts are dealt by the seed");
}

#[test]
fn each_link_and_each_padding_has_tables_and_costs_of_its_own() {
    let mut flows = flows(12, |_, second| vec![(100, 0), (if second { -50 } else { -40 }, 9)]);
    for (n, flow) in flows.iter_mut().enumerate() {
        flow.rtt_ms = if n < 12 { 0.0 } else { 33.0 };
        flow.padding = if n < 12 { None } else { Some(512) };
    }
    flows.truncate(16);
    let confusion = confusion(&flows, 1);
    assert_eq!(confusion.folds, 2, "there are two of each option in the smaller part");
    assert_eq!(confusion.tables.len(), 2 * 4);
    assert_eq!(confusion.tables[4].rtt_ms, 33.0);
    assert_eq!(confusion.tables[4].padding, Some(512));
    let judged = |table: &ConfusionTable| table.matrix.iter().flatten().sum::<usize>();
    assert_eq!([0, 4].map(|index| judged(&confusion.tables[index])), [12, 4]);
    let costs = costs(&flows);
    assert_eq!(costs.len(), 4);
    assert_eq!((costs[1].option, costs[1].server_bytes), (Letter::C, 50.0));
    assert_eq!((costs[2].client_bytes, costs[2].duration_us), (100.0, 9.0));
}

/// Against the values of Newcombe, Two-sided confidence intervals for the single proportion (1998), Table I.
#[test]
fn wilsons_intervals_are_those_of_the_table() {
    for (part, all, low, high) in [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ] {
        let (from, to) = wilson(part, all);
        assert!((from - low).abs() < 6e-5 && (to - high).abs() < 6e-5, "{part}/{all}: {from} {to}");
    }
    assert_eq!(wilson(0, 0), (0.0, 1.0));
}
