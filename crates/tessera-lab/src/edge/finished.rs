//! Checks that the results in a journal or a report can be those of a completed run.

use serde::{Deserialize, Serialize};

use super::report::{Cell, Operations, Rate, Rotation, Sample};
use crate::experiment::Failures;
use crate::wired::{LONGEST_US, MOST_BYTES};

/// A finished result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Finished {
    Cell(Cell),
    Operations(Operations),
    Rate(Rate),
    Rotation(Rotation),
}

/// Returns the name of a complete result.
///
/// # Errors
/// A description of what is wrong.
pub(super) fn check(
    finished: &Finished,
    samples: impl Fn(&Cell) -> usize,
    repetitions: usize,
) -> Result<String, String> {
    let (name, there, wanted) = match finished {
        Finished::Cell(cell) => {
            check_cell(cell)?;
            (cell.name.key(), cell.samples.len(), samples(cell))
        }
        Finished::Operations(row) => {
            check_operations(row)?;
            (row.key(), row.client.engine_us.len(), repetitions)
        }
        Finished::Rate(row) => {
            check_rate(row)?;
            (row.key(), row.server_cpu_us.len(), repetitions)
        }
        Finished::Rotation(row) => {
            check_rotation(row)?;
            (row.key(), repetitions, repetitions)
        }
    };
    if there == wanted { Ok(name) } else { Err(format!("{name} has {there} samples of {wanted}")) }
}

/// Refuses a cell that no run writes.
pub(crate) fn check_cell(cell: &Cell) -> Result<(), String> {
    let name = cell.name.key();
    if !cell.name.way.exchanges().contains(&cell.name.kx) {
        return Err(format!("{name} has a key exchange that its way has not"));
    }
    if cell.samples.is_empty() {
        return Err(format!("{name} has no sample"));
    }
    let failed: u64 = cell.why_failed.values().copied().map(u64::from).sum();
    // Of a sample over loopback, many connections may fail.
    if cell.name.link.is_some() && failed > Failures::most(cell.samples.len()) as u64 {
        return Err(format!("{failed} connections of {name} failed"));
    }
    match cell.samples.iter().position(|sample| !can_be(sample, cell.name.link.is_some())) {
        Some(index) => Err(format!("sample {} of {name} is impossible", index + 1)),
        None => Ok(()),
    }
}

/// Refuses operations that no run writes.
pub(crate) fn check_operations(row: &Operations) -> Result<(), String> {
    let name = row.key();
    let repetitions = row.client.engine_us.len();
    for end in [&row.client, &row.server] {
        let columns = || {
            let operations = end.operations.iter().map(|it| &it.us);
            operations.chain([&end.engine_us])
        };
        if repetitions == 0 || columns().any(|us| us.len() != repetitions) {
            return Err(format!("{name} lacks samples"));
        }
        if let Some(us) = columns().flatten().find(|us| !(0.0..=LONGEST_US).contains(*us)) {
            return Err(format!("a sample of {name} is {us} µs"));
        }
    }
    Ok(())
}

/// Refuses a rate that no run writes.
pub(crate) fn check_rate(row: &Rate) -> Result<(), String> {
    let name = row.key();
    let columns = [&row.server_cpu_us, &row.server_engine_us];
    if columns.iter().any(|us| us.is_empty() || us.len() != row.server_cpu_us.len()) {
        return Err(format!("{name} lacks samples"));
    }
    if let Some(us) = columns.into_iter().flatten().find(|us| !(0.0..=LONGEST_US).contains(*us)) {
        return Err(format!("a sample of {name} is {us} µs"));
    }
    // A clock ends an interval a little early.
    if !(0.0..=f64::from(row.per_second) * 1.01).contains(&row.held_per_second) {
        return Err(format!("{name} had {} connections a second", row.held_per_second));
    }
    Ok(())
}

/// Refuses moves that no run writes.
pub(crate) fn check_rotation(row: &Rotation) -> Result<(), String> {
    let seconds = 0.0..=LONGEST_US / 1e6;
    if row.rotations == 0 || !seconds.contains(&row.seconds) || row.moves() > MOST_BYTES {
        return Err(format!("{} is impossible", row.key()));
    }
    Ok(())
}

fn can_be(sample: &Sample, is_watched: bool) -> bool {
    let Sample { of, hello } = sample;
    let moments = [0.0, of.tcp_us, of.handshake_us, of.response_us, LONGEST_US];
    let sides = [of.client, of.server];
    let layers =
        |sent: &crate::wired::SentBytes| [1, sent.handshake, sent.tls, MOST_BYTES].is_sorted();
    let is_right = if is_watched { of.can_be() } else { sides.iter().all(layers) };
    is_right && moments.is_sorted() && (1..=of.client.handshake).contains(hello)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::samples;

    #[test]
    fn only_a_cell_that_a_run_can_have_written_is_finished() {
        let cell = samples::cell();
        let check = |cell: &Cell| check(&Finished::Cell(cell.clone()), |_| 7, 7);
        assert_eq!(check(&cell), Ok(cell.name.key()));
        let refused = |change: fn(&mut Cell), words: &str| {
            let mut cell = samples::cell();
            change(&mut cell);
            let refusal = check(&cell).unwrap_err();
            assert!(refusal.contains(words), "{refusal}");
        };
        refused(|cell| cell.samples.truncate(2), "2 samples of 7");
        refused(|cell| cell.samples.clear(), "no sample");
        refused(|cell| cell.samples[1].of.handshake_us = 9e12, "sample 2 of");
        refused(|cell| cell.samples[0].hello = 0, "sample 1 of");
        refused(|cell| cell.samples[0].of.server.tls = 1, "sample 1 of");
        refused(|cell| cell.name.way = crate::edge::EdgeWay::Retry, "a key exchange");
        refused(|cell| cell.why_failed = [("noise".to_owned(), 9)].into(), "9 connections of");
    }

    #[test]
    fn operations_have_a_sample_of_each_repetition() {
        let row = samples::operations();
        let check = |row: &Operations| check(&Finished::Operations(row.clone()), |_| 0, 7);
        assert_eq!(check(&row), Ok(row.key()));
        let mut short = row.clone();
        short.server.operations[0].us.pop();
        assert!(check(&short).unwrap_err().contains("lacks samples"));
        let mut negative = row;
        negative.client.engine_us[0] = -1.0;
        assert!(check(&negative).unwrap_err().contains("is -1 µs"));
    }

    #[test]
    fn rates_that_were_exceeded_and_rings_that_stood_still_are_refused() {
        let check = |finished| check(&finished, |_| 0, 7);
        let rate = samples::rate();
        assert_eq!(check(Finished::Rate(rate.clone())), Ok(rate.key()));
        let refused = |change: fn(&mut Rate), words: &str| {
            let mut rate = samples::rate();
            change(&mut rate);
            let refusal = check(Finished::Rate(rate)).unwrap_err();
            assert!(refusal.contains(words), "{refusal}");
        };
        refused(|rate| rate.held_per_second = 120.0, "120 connections a second");
        refused(|rate| rate.server_cpu_us[0] = -1.0, "is -1 µs");
        refused(|rate| rate.server_engine_us.truncate(6), "lacks samples");
        let rotation = samples::rotation();
        assert_eq!(check(Finished::Rotation(rotation.clone())), Ok(rotation.key()));
        let still = Rotation { rotations: 0, ..rotation };
        assert!(check(Finished::Rotation(still)).unwrap_err().contains("impossible"));
    }
}
