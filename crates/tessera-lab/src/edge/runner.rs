//! The experiment while it runs: what the journal has, and what is measured.

use std::collections::BTreeMap;

use super::ends::TimedEnds;
use super::finished::Finished;
use super::report::{CellName, Chain, Report, RowName};
use super::{Options, operations, plan, plan_of_rate, rate, rotation, rotations, stage, table};
use crate::certificates::{Certificates, Parties};
use crate::error::LabError;
use crate::experiment::{Grid, Screen};
use crate::table::terminal;

/// The proxy's certificate, and one of an authority.
const CHAIN: usize = 2;

pub(super) struct Runner<'a> {
    pub(super) options: &'a Options,
    pub(super) screen: Screen,
    pub(super) grid: Grid<Finished>,
    pub(super) parties: BTreeMap<Certificates, Parties>,
    pub(super) report: Report,
}

impl Runner<'_> {
    /// Measures over loopback and links.
    pub(super) fn cells(&mut self, names: &[CellName]) -> Result<(), LabError> {
        if !names.is_empty() {
            self.screen.line(&terminal::head(&table::cells()))?;
        }
        for name in names {
            self.screen.now("handshakes");
            let plan = plan(self.options, name);
            let there = self.grid.finished().find_map(|it| match it {
                Finished::Cell(cell) if cell.name == *name => Some(cell.clone()),
                _ => None,
            });
            let seed = self.options.common.parameters.seed;
            self.make(name.certificates)?;
            let advance = || self.screen.advance();
            let cell = match there {
                Some(cell) => {
                    (0..plan.samples).for_each(|_| advance());
                    cell
                }
                None => {
                    let parties = self.parties(name.certificates)?;
                    let cell = stage::measure(name, parties, plan, seed, advance)?;
                    self.grid.add(&Finished::Cell(cell.clone()))?;
                    cell
                }
            };
            self.report.cells.push(cell.clone());
            self.screen.line(&terminal::row(&table::cells(), &table::cell(&cell, &self.report)))?;
        }
        Ok(())
    }

    /// Measures operations.
    pub(super) fn operations(&mut self, names: &[RowName]) -> Result<(), LabError> {
        if names.is_empty() {
            return Ok(());
        }
        self.screen.line(&terminal::head(&table::operations()))?;
        let timed = TimedEnds::new();
        let repetitions = self.options.common.repetitions;
        let plan = stage::Plan { samples: repetitions, connections: self.options.connections };
        for names in names.chunk_by(|a, b| a.certificates == b.certificates) {
            self.screen.now("operations");
            let certificates = names[0].certificates;
            self.make(certificates)?;
            let finished = self.grid.finished().filter_map(|it| match it {
                Finished::Operations(row) if names.contains(&row.name) => Some(row.clone()),
                _ => None,
            });
            let mut rows: Vec<_> = finished.collect();
            (0..repetitions * rows.len()).for_each(|_| self.screen.advance());
            let missing = missing(names, rows.iter().map(|row| row.name));
            let parties = self.parties(certificates)?;
            let advance = || self.screen.advance();
            let measured = operations::measure(&missing, parties, &timed, plan, advance)
                .map_err(|error| failed(&format!("operations/{certificates}"), error))?;
            for row in measured {
                self.grid.add(&Finished::Operations(row.clone()))?;
                rows.push(row);
            }
            rows.sort_by_key(|row| names.iter().position(|name| *name == row.name));
            for line in rows.iter().flat_map(table::rows) {
                self.screen.line(&terminal::row(&table::operations(), &line))?;
            }
            self.report.operations.extend(rows);
        }
        Ok(())
    }

    /// Measures proxies that get connections at a fixed rate.
    pub(super) fn rates(&mut self, names: &[RowName]) -> Result<(), LabError> {
        if !names.is_empty() {
            self.screen.line(&terminal::head(&table::rates()))?;
        }
        let (plan, per_second) = (plan_of_rate(self.options), self.options.per_second);
        for names in names.chunk_by(|a, b| a.certificates == b.certificates) {
            self.screen.now("rate");
            let certificates = names[0].certificates;
            self.make(certificates)?;
            let finished = self.grid.finished().filter_map(|it| match it {
                Finished::Rate(row)
                    if names.contains(&row.name) && row.per_second == per_second =>
                {
                    Some(row.clone())
                }
                _ => None,
            });
            let mut rows: Vec<_> = finished.collect();
            (0..plan.samples * rows.len()).for_each(|_| self.screen.advance());
            let missing = missing(names, rows.iter().map(|row| row.name));
            let parties = self.parties(certificates)?;
            let advance = || self.screen.advance();
            for row in rate::measure(&missing, parties, plan, per_second, advance)? {
                self.grid.add(&Finished::Rate(row.clone()))?;
                rows.push(row);
            }
            rows.sort_by_key(|row| names.iter().position(|name| *name == row.name));
            for row in &rows {
                self.screen.line(&terminal::row(&table::rates(), &table::rate(row)))?;
            }
            self.report.rates.extend(rows);
        }
        Ok(())
    }

    /// Moves clients while the ring rotates.
    pub(super) fn rotations(&mut self, names: &[RowName]) -> Result<(), LabError> {
        if !names.is_empty() {
            self.screen.line(&terminal::head(&table::rotations()))?;
        }
        let wanted = rotations(self.options);
        for name in names {
            self.screen.now("rotation");
            self.make(name.certificates)?;
            let there = self.grid.finished().find_map(|it| match it {
                Finished::Rotation(row) if row.name == *name => Some(row.clone()),
                _ => None,
            });
            let advance = || self.screen.advance();
            let row = match there {
                Some(row) => {
                    (0..wanted).for_each(|_| advance());
                    row
                }
                None => {
                    let parties = self.parties(name.certificates)?;
                    let row = rotation::measure(*name, parties, wanted, advance)
                        .map_err(|error| failed("rotation", error))?;
                    self.grid.add(&Finished::Rotation(row.clone()))?;
                    row
                }
            };
            self.screen.line(&terminal::row(&table::rotations(), &table::rotation(&row)))?;
            self.report.rotations.push(row);
        }
        Ok(())
    }

    fn parties(&self, certificates: Certificates) -> Result<&Parties, LabError> {
        let missing = || failed(certificates.name(), "there are no certificates");
        self.parties.get(&certificates).ok_or_else(missing)
    }

    /// Makes certificates, unless they are there.
    fn make(&mut self, certificates: Certificates) -> Result<(), LabError> {
        if self.parties.contains_key(&certificates) {
            return Ok(());
        }
        let parties = Parties::new(certificates, CHAIN)
            .map_err(|error| failed(certificates.name(), error))?;
        let server = parties.server.chain.iter().map(Vec::len).collect();
        self.report.chains.push(Chain { certificates, server });
        self.parties.insert(certificates, parties);
        Ok(())
    }
}

/// Returns the names of rows that are not there yet.
fn missing(names: &[RowName], there: impl Iterator<Item = RowName>) -> Vec<RowName> {
    let there: Vec<_> = there.collect();
    names.iter().filter(|name| !there.contains(name)).copied().collect()
}

fn failed(what: &str, error: impl std::fmt::Display) -> LabError {
    LabError::Connection(format!("{what}: {error}"))
}
