//! Whether a cell of a journal is one that its run can have finished, or one of a report.

use super::report::{Cell, CellName, Sample, Scenario};
use super::scenario::Change;
use crate::experiment::limits::{CheckResult, within};

/// Returns the name of a complete cell of this grid.
///
/// # Errors
/// A description of what is wrong.
pub(super) fn check(cell: &Cell, grid: &[CellName], runs: usize) -> Result<String, String> {
    let name = cell.name.key();
    if !grid.contains(&cell.name) {
        return Err(format!("the grid has no {name}"));
    }
    if cell.samples.len() != runs {
        return Err(format!("{name} has {} samples of {runs}", cell.samples.len()));
    }
    check_cell(cell)?;
    let is_whole = |sample: &Sample| sample.acks == cell.name.acks || sample.failure.is_some();
    match cell.samples.iter().position(|sample| !is_whole(sample)) {
        Some(index) => Err(format!("sample {} of {name} is not whole", index + 1)),
        None => Ok(name),
    }
}

/// Refuses a cell that no run writes.
pub(crate) fn check_cell(cell: &Cell) -> CheckResult {
    let name = cell.name.key();
    if cell.samples.is_empty() {
        return Err(format!("{name} has no sample"));
    }
    let scenario = &cell.name.scenario;
    within("the delay in ms", scenario.delay_ms, 0.0..=10_000.0)?;
    within("the loss", scenario.loss, 0.0..=1.0)?;
    within("the burst of losses", scenario.loss_burst, 1.0..=1e6)?;
    match cell.samples.iter().position(|sample| !can_be(sample, scenario)) {
        Some(index) => Err(format!("sample {} of {name} is impossible", index + 1)),
        None => Ok(()),
    }
}

fn can_be(sample: &Sample, scenario: &Scenario) -> bool {
    let traffic = &sample.traffic;
    let times = sample.recoveries.iter().map(|it| it.all_us);
    let parts = sample.recoveries.iter().all(|it| {
        it.detection_us.checked_add(it.keys_us).is_some_and(|sum| sum <= it.all_us + 2)
            // A record may have been under way to a server that restarted, or sent while there was none.
            && (it.from_record_us <= it.all_us + 2 || scenario.change == Change::Restart)
            && it.from_record_us <= LONGEST_US
    });
    let is_time = |us: u64| us <= LONGEST_US;
    let each = [sample.time_us, sample.setup.handshake_us].into_iter().chain(times);
    each.clone().all(is_time)
        && parts
        && traffic.lost <= traffic.datagrams
        && sample.setup.datagrams <= traffic.datagrams
        && traffic.datagrams * 28 <= traffic.bytes
}

/// No run takes longer.
const LONGEST_US: u64 = 3_700_000_000;
