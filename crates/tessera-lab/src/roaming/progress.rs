//! Finished cells: on the screen, in the journal, and in the report.

use tessera_reports::roaming::{Cell, CellName};

use super::report::{Report, SkippedCell};
use super::table;
use crate::error::LabError;
use crate::experiment::{Grid, Screen};
use crate::table::{Table, terminal};

/// How far the experiment is.
pub(super) struct Progress {
    pub(super) screen: Screen,
    pub(super) grid: Grid<Cell>,
    /// The table of the cells under one heading.
    pub(super) table: Table,
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
            self.table = table::cells(first);
            self.screen.line(&terminal::head(&self.table))?;
        }
        for name in names {
            let Some(cell) = self.grid.finished().find(|cell| cell.name == *name).cloned() else {
                left.push(name);
                continue;
            };
            (0..samples).for_each(|_| self.screen.advance());
            self.show(cell)?;
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
                self.grid.add(&cell)?;
                self.show(cell)?;
            }
            Err(reason) => {
                let name_words = terminal::name(&self.table, &table::name(name));
                self.screen.line(&format!("{name_words} not run: {reason}"))?;
                self.report.not_run.push(SkippedCell { name: name.clone(), reason });
            }
        }
        Ok(())
    }

    fn show(&mut self, cell: Cell) -> Result<(), LabError> {
        self.screen.line(&terminal::row(&self.table, &table::row(&cell)))?;
        self.report.cells.push(cell);
        Ok(())
    }

    /// Prints the conclusions, and returns the report, its cells in this order.
    pub(super) fn finish(mut self, names: &[CellName]) -> Result<Report, LabError> {
        let cells = &mut self.report.cells;
        cells.sort_by_cached_key(|cell| names.iter().position(|name| *name == cell.name));
        let factors = table::factors(cells).map_or_else(
            || format!("\n{}", table::NO_FACTORS),
            |factors| terminal::table(&factors),
        );
        self.screen.line(&factors)?;
        self.screen.line(&terminal::legend(table::LEGEND))?;
        self.screen.finish();
        Ok(self.report)
    }
}
