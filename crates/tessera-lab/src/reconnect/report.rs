//! The report of the experiment `reconnect`: every sample, as JSON.

use serde::Serialize;
use tessera_reports::reconnect::Row;
use tessera_reports::{LinkReport, Machine, Verdicts};

use crate::ways::Way;

/// An experiment with its results.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) experiment: &'static str,
    pub(crate) seed: u64,
    pub(crate) machine: Machine,
    pub(crate) link: LinkReport,
    pub(crate) rows: Vec<Row>,
}

/// Returns what each way protects: the same at every round-trip time, unless an attack was more successful at one,
/// which then counts.
pub(crate) fn verdicts_by_way(rows: &[Row]) -> Vec<(Way, Verdicts)> {
    let mut ways: Vec<(Way, Verdicts)> = Vec::new();
    for row in rows {
        match ways.iter_mut().find(|(way, _)| *way == Way::of_row(row)) {
            Some((_, verdicts)) => {
                let other = row.verdicts;
                verdicts.first_byte_fs = other.first_byte_fs.max(verdicts.first_byte_fs);
                verdicts.session_fs = other.session_fs.max(verdicts.session_fs);
                verdicts.replay_executions =
                    other.replay_executions.max(verdicts.replay_executions);
            }
            None => ways.push((Way::of_row(row), row.verdicts)),
        }
    }
    ways
}
