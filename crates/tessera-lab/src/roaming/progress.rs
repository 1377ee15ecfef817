//! Finished cells: on the screen, in the journal, and in the report.

use super::report::{Cell, CellName, Report, SkippedCell};
use super::table;
use crate::error::LabError;
use crate::experiment::{Journal, Screen};

/// How far the experiment is.
pub(super) struct Progress {
    pub(super) screen: Screen,
    pub(super) journal: Journal<Cell>,
    /// The cells that an earlier run had finished.
    pub(super) finished: Vec<Cell>,
    pub(super) report: Report,
}

impl Progress {
    /// Begins cells under one heading, of this many samples each, with those that an earlier run had finished; returns
    /// the others.
    pub(super) fn begin<'n>(
        &mut self,
        names: &'n [CellName],
        samples: usize,
    ) -> Result<Vec<&'n CellName>, LabError> {
        let mut left = Vec::new();
        if let Some(first) = names.first() {
            self.screen.line(&table::head(first))?;
        }
        for name in names {
            match self.finished.iter().find(|cell| cell.name == *name) {
                Some(cell) => {
                    (0..samples).for_each(|_| self.screen.advance());
                    self.screen.line(&table::row(cell))?;
                    self.report.cells.push(cell.clone());
                }
                None => left.push(name),
            }
        }
        Ok(left)
    }

    /// A cell that was measured, or why it was not.
    pub(super) fn add(
        &mut self,
        name: &CellName,
        measured: Result<Cell, String>,
    ) -> Result<(), LabError> {
        match measured {
            Ok(cell) => {
                self.journal.add(&cell)?;
                self.screen.line(&table::row(&cell))?;
                self.report.cells.push(cell);
            }
            Err(reason) => {
                self.screen.line(&table::not_run(name, &reason))?;
                self.report.not_run.push(SkippedCell { name: name.clone(), reason });
            }
        }
        Ok(())
    }

    /// Prints the conclusions, and returns the report, its cells in this order.
    pub(super) fn finish(mut self, names: &[CellName]) -> Result<Report, LabError> {
        let cells = &mut self.report.cells;
        cells.sort_by_cached_key(|cell| names.iter().position(|name| *name == cell.name));
        self.screen.line(&table::factors(cells))?;
        self.screen.line(table::LEGEND)?;
        self.screen.finish();
        Ok(self.report)
    }
}
