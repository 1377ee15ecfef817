//! The features of a flow that the observer uses, as numbers.

use super::report::{Features, Flow};

/// How many records of a flow count individually. A handshake is over by then; the rest is the same in all options.
const RECORDS: usize = 16;

/// A number with its name.
pub(crate) type Feature = (String, f64);

/// Returns the features of a flow: always as many, in the same order.
pub(crate) fn of(flow: &Flow, features: Features) -> Vec<Feature> {
    match features {
        Features::Sizes => sizes("", &all(flow)),
        Features::ProtectedSizes => sizes("protected ", &protected(flow)),
        Features::Times => times(&all(flow)),
        Features::Both => {
            let mut both = sizes("", &all(flow));
            both.extend(sizes("protected ", &protected(flow)));
            both.extend(times(&all(flow)));
            both
        }
    }
}

fn all(flow: &Flow) -> Vec<(i64, u64)> {
    flow.sizes_and_times.clone()
}

fn protected(flow: &Flow) -> Vec<(i64, u64)> {
    let records = flow.sizes_and_times.iter().enumerate();
    records
        .filter(|(index, _)| !flow.plaintext.contains(index))
        .map(|(_, record)| *record)
        .collect()
}

/// Returns each record's size, and what each side sends before the other does, and in all.
fn sizes(prefix: &str, records: &[(i64, u64)]) -> Vec<Feature> {
    let mut features: Vec<Feature> = (0..RECORDS)
        .map(|n| {
            let size = records.get(n).map_or(0, |(size, _)| *size);
            (format!("{prefix}record {} size", n + 1), size as f64)
        })
        .collect();
    let flights = records.chunk_by(|(a, _), (b, _)| (*a > 0) == (*b > 0));
    let mut flights = flights.map(|flight| flight.iter().map(|(size, _)| *size).sum::<i64>());
    for n in 1..=RECORDS / 2 {
        let size = flights.next().unwrap_or(0);
        features.push((format!("{prefix}flight {n} size"), size as f64));
    }
    for (side, sign) in [("client", 1), ("server", -1)] {
        let sizes = || records.iter().map(|(size, _)| size * sign).filter(|size| *size > 0);
        features.push((format!("{prefix}{side} bytes"), sizes().sum::<i64>() as f64));
        features.push((format!("{prefix}{side} records"), sizes().count() as f64));
    }
    features
}

/// Returns when each record passes, in which direction, and how long after the one before.
fn times(records: &[(i64, u64)]) -> Vec<Feature> {
    let at = |n: usize| records.get(n).map_or(0.0, |(_, us)| *us as f64);
    let mut features = Vec::new();
    for n in 0..RECORDS {
        let side = records.get(n).map_or(0, |(size, _)| size.signum());
        let gap = if n == 0 { at(0) } else { at(n) - at(n - 1) };
        features.push((format!("record {} side", n + 1), side as f64));
        features.push((format!("record {} µs", n + 1), at(n)));
        features.push((format!("record {} gap µs", n + 1), gap));
    }
    features.push(("duration µs".to_owned(), records.last().map_or(0.0, |(_, us)| *us as f64)));
    features
}

#[cfg(test)]
mod tests {
    use tessera_reports::Mode;

    use super::*;
    use crate::traffic::samples;

    #[test]
    fn the_numbers_of_all_flows_have_the_same_names() {
        let short = samples::flow(Mode::Full, vec![(10, 1)]);
        let long = samples::flow(Mode::Full, (1..40).map(|n| (n, n as u64)).collect());
        for features in Features::ALL {
            let names = |flow| of(flow, features).into_iter().map(|(name, _)| name);
            assert!(names(&short).eq(names(&long)), "{features:?}");
            let mut unique: Vec<_> = names(&long).collect();
            unique.sort();
            let count = unique.len();
            unique.dedup();
            assert_eq!(unique.len(), count, "{features:?}");
        }
    }

    #[test]
    fn sizes_are_described_by_record_flight_and_side() {
        let mut flow = samples::flow(Mode::Full, vec![(5, 0), (6, 1), (-7, 9), (8, 11)]);
        flow.plaintext = vec![0];
        let number = |features, name: &str| {
            let all = of(&flow, features);
            all.iter().find(|(known, _)| known == name).map(|(_, number)| *number)
        };
        assert_eq!(number(Features::Sizes, "record 3 size"), Some(-7.0));
        assert_eq!(number(Features::Sizes, "record 5 size"), Some(0.0));
        assert_eq!(number(Features::Sizes, "flight 1 size"), Some(11.0));
        assert_eq!(number(Features::Sizes, "client bytes"), Some(19.0));
        assert_eq!(number(Features::Sizes, "server records"), Some(1.0));
        assert_eq!(number(Features::Sizes, "record 3 gap µs"), None);
        assert_eq!(number(Features::ProtectedSizes, "protected flight 1 size"), Some(6.0));
        assert_eq!(number(Features::Times, "record 3 gap µs"), Some(8.0));
        assert_eq!(number(Features::Times, "record 3 side"), Some(-1.0));
        assert_eq!(number(Features::Times, "record 3 size"), None);
        assert_eq!(number(Features::Times, "duration µs"), Some(11.0));
        assert_eq!(number(Features::Both, "record 3 gap µs"), Some(8.0));
        assert_eq!(number(Features::Both, "record 3 size"), Some(-7.0));
    }
}
