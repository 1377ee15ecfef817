//! Whether a cell of a journal is one that its run can have finished, or one of a report.

use tessera_reports::roaming::{Cell, CellName, Setup};

use crate::experiment::Failures;
use crate::experiment::limits::{CheckResult, reasons, time, within};

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
        return Err(format!("{name} has {samples} samples, not {wanted}"));
    }
    let (failed, most) = (cell.failed, Failures::most(wanted));
    if failed as usize > most {
        return Err(format!("{failed} reconnections of {name} failed, but at most {most} may"));
    }
    check_cell(cell).map_err(|what| format!("{name}: {what}"))?;
    if cell.samples.iter().any(|sample| sample.response_us.is_none()) {
        return Err(format!("a sample of {name} has no response"));
    }
    Ok(name)
}

/// Refuses a cell that no run writes.
pub(crate) fn check_cell(cell: &Cell) -> CheckResult {
    if cell.samples.is_empty() {
        return Err("it has no sample".to_owned());
    }
    let times = cell.samples.iter().flat_map(|sample| sample.times());
    times.filter_map(|(_, us)| us).try_for_each(|us| time("a sample", us))?;
    reasons(cell.failed.into(), cell.why_failed.values().map(|count| (*count).into()))?;
    if cell.name.through == Setup::Engine {
        flights(cell.round_trips.first_byte, cell.round_trips.response)?;
    }
    for operation in cell.operations.client.iter().chain(&cell.operations.server) {
        time("an operation", operation.us)?;
        within("the count of an operation", operation.count, 0.0..=1e6)?;
    }
    if let Some(issuing) = cell.issuing {
        // Differences, which may be below 0.
        time("the issuing of a ticket", issuing.server_us.abs().max(issuing.client_us.abs()))?;
    }
    let Some(registration) = &cell.registration else { return Ok(()) };
    let cpu = [registration.cpu_us.client, registration.cpu_us.server];
    let mut times = registration.samples_us.iter().copied().chain(cpu);
    times.try_for_each(|us| time("a registration", us))
}

/// In memory flights are counted, half a round trip each: the response comes right after the request, which goes first,
/// after the server's flight, or after a HelloRetryRequest besides.
fn flights(first_byte: Option<f64>, response: Option<f64>) -> CheckResult {
    match (first_byte, response) {
        (Some(first), Some(all)) if [0.5, 1.5, 2.5].contains(&first) && all == first + 0.5 => {
            Ok(())
        }
        _ => Err(format!(
            "no handshake in memory has the round trips {first_byte:?} and {response:?}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use tessera_reports::Sample;

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
            (cell(0), "0 samples, not 20"),
            (cell(19), "19 samples, not 20"),
            (failed(9), "there are reasons for 10"),
            (Cell { failed: 999, ..cell(20) }, "10 may"),
            (with(Sample { response_us: Some(1e300), ..answered }), "took 1"),
            (with(Sample { server_cpu_us: Some(-1.0), ..answered }), "took -1 µs"),
            (with(Sample { response_us: None, send_us: Some(1.0), ..answered }), "no response"),
            (elsewhere, "the grid has no"),
        ] {
            let refusal = of(&cell).unwrap_err();
            assert!(refusal.contains(words), "{refusal}");
        }
    }
}
