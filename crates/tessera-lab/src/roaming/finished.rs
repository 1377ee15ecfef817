//! Whether a cell of a journal is one that its run can have finished.

use super::report::{Cell, CellName, Sample};
use crate::experiment::Failures;

/// The longest that anything of a reconnection takes, in microseconds: all patience ends far earlier.
const LONGEST_US: f64 = 3_600e6;

/// Returns the name of a complete cell of this grid: with this many samples, and not too many failures.
///
/// # Errors
/// A description of what is wrong.
pub(super) fn check(cell: &Cell, grid: &[CellName], wanted: usize) -> Result<String, String> {
    let name = cell.name.key();
    if !grid.contains(&cell.name) {
        return Err(format!("the grid has no {name}"));
    }
    let samples = cell.samples.len();
    if samples != wanted {
        return Err(format!("{name} has {samples} samples of {wanted}"));
    }
    let (failed, most) = (cell.failed, Failures::most(wanted));
    if failed as usize > most {
        return Err(format!("{failed} reconnections of {name} failed, but at most {most} may"));
    }
    let reasons: u64 = cell.why_failed.values().copied().map(u64::from).sum();
    if reasons != u64::from(failed) {
        return Err(format!("{failed} reconnections of {name} failed, and {reasons} for a reason"));
    }
    let mut times = cell.samples.iter().flat_map(all);
    if let Some(us) = times.find(|us| !(0.0..=LONGEST_US).contains(us)) {
        return Err(format!("a sample of {name} is {us} µs, not 0 to {LONGEST_US}"));
    }
    if cell.samples.iter().any(|sample| sample.response_us.is_none()) {
        return Err(format!("a sample of {name} has no response"));
    }
    Ok(name)
}

/// Returns all that was measured of a reconnection.
fn all(sample: &Sample) -> impl Iterator<Item = f64> + use<> {
    let Sample { send_us, receive_us, tcp_us, first_byte_us, handshake_us, response_us, .. } =
        *sample;
    let Sample { client_engine_us, server_engine_us, client_cpu_us, server_cpu_us, .. } = *sample;
    let moments = [send_us, receive_us, tcp_us, first_byte_us, handshake_us, response_us];
    let costs = [client_engine_us, server_engine_us, client_cpu_us, server_cpu_us];
    moments.into_iter().chain(costs).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roaming::{grid, samples};

    fn cell(count: usize) -> Cell {
        let sample = Sample { response_us: Some(5.0), ..Sample::default() };
        samples::cell(grid::cells()[0].clone(), sample, count)
    }

    #[test]
    fn only_a_whole_cell_of_the_grid_is_finished() {
        let grid = grid::cells();
        let of = |cell: &Cell| check(cell, &grid, 20);
        let whole = cell(20);
        assert_eq!(of(&whole), Ok(whole.name.key()));
        let some_failed = [("silence".to_owned(), 10)];
        let failed = |failed| Cell { failed, why_failed: some_failed.clone().into(), ..cell(20) };
        assert!(of(&failed(10)).is_ok());
        let with = |sample: Sample| Cell { samples: vec![sample; 20], ..cell(20) };
        let answered = whole.samples[0];
        let mut elsewhere = cell(20);
        elsewhere.name.link.rtt_ms = 12.0;
        for (cell, words) in [
            (cell(0), "0 samples of 20"),
            (cell(19), "19 samples of 20"),
            (failed(9), "10 for a reason"),
            (Cell { failed: 999, ..cell(20) }, "10 may"),
            (with(Sample { response_us: Some(1e300), ..answered }), "is 1"),
            (with(Sample { server_cpu_us: Some(-1.0), ..answered }), "is -1 µs"),
            (with(Sample { response_us: None, send_us: Some(1.0), ..answered }), "no response"),
            (elsewhere, "the grid has no"),
        ] {
            let refusal = of(&cell).unwrap_err();
            assert!(refusal.contains(words), "{refusal}");
        }
    }
}
