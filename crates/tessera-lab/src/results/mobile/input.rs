//! The report of `lab dtls`, as it was written.

use std::collections::HashSet;
use std::path::Path;

use crate::error::LabError;
use crate::experiment::limits::CheckResult;
use crate::mobile::finished::check_cell;
use crate::mobile::report::{Cell, Part, Report, Through};
use crate::mobile::{Arm, Detection};
use crate::results::input::{parse, text, wrong};

/// The name of the report in its directory.
pub(super) const FILE: &str = "dtls.json";

/// The report.
pub(in crate::results) struct Inputs {
    pub(super) report: Report,
}

impl Inputs {
    /// Reads the report of a directory.
    pub(in crate::results) fn read(directory: &Path) -> Result<Self, LabError> {
        let report = text(directory, FILE)?;
        let report = parse(FILE, report.as_deref(), check)
            .map_err(|(name, what)| wrong(directory, name, &what))?;
        report.map(|report| Self { report }).ok_or_else(|| {
            let directory = directory.display();
            LabError::Options(format!("{directory} has no {FILE}; name the directory that has it"))
        })
    }

    /// Returns the cells of a part, in the order of the report.
    pub(super) fn cells(&self, part: Part) -> impl Iterator<Item = &Cell> {
        self.report.cells.iter().filter(move |cell| cell.name.part == part)
    }

    /// Returns a cell with the paper's hand-overs.
    pub(super) fn of_paper(&self, of: &OfPaper) -> Option<&Cell> {
        let part = if of.detection == Detection::Timeout { Part::Paper } else { Part::Detection };
        self.cells(part).find(|cell| {
            let scenario = &cell.name.scenario;
            cell.name.arm == of.arm
                && cell.name.through == of.through
                && scenario.delay_ms == of.delay_ms
                && scenario.detection == of.detection
                && scenario.interfaces == of.interfaces
                && scenario.timeouts == of.timeouts
        })
    }
}

/// Names a cell with the paper's hand-overs.
#[derive(Clone, Copy)]
pub(super) struct OfPaper {
    pub(super) through: Through,
    pub(super) arm: Arm,
    pub(super) delay_ms: f64,
    pub(super) detection: Detection,
    pub(super) interfaces: u8,
    pub(super) timeouts: u32,
}

impl OfPaper {
    /// An arm that waits for its time-out once.
    pub(super) fn once(through: Through, arm: Arm, delay_ms: f64) -> Self {
        Self { through, arm, delay_ms, detection: Detection::Timeout, interfaces: 1, timeouts: 1 }
    }
}

fn check(report: &Report) -> CheckResult {
    if report.experiment != "dtls" {
        return Err(format!("it is of the experiment `{}`, not of `dtls`", report.experiment));
    }
    report.cells.iter().try_for_each(check_cell)?;
    let not_run = report.not_run.iter().map(|it| it.name.key());
    let mut seen = HashSet::new();
    let names = report.cells.iter().map(|cell| cell.name.key()).chain(not_run);
    for name in names {
        if !seen.insert(name.clone()) {
            return Err(format!("{name} occurs twice"));
        }
    }
    Ok(())
}
