//! The reports of the experiments, as they were written.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::de::DeserializeOwned;
use tessera_reports::roaming::{Cell, Setup};
use tessera_reports::{Store, Suite, Variant};

use super::check;
use crate::error::{LabError, words};
use crate::experiment::limits::CheckResult;
use crate::load::report::{self, Cell as LoadCell, Report as Load};
use crate::load::storms::{self, Storms};
use crate::roaming::report::Report as Roaming;
use crate::traffic::evaluate;
use crate::traffic::report::Report as Traffic;

/// The names of the reports in their directory.
const FILES: [&str; 3] = ["roaming.json", "load.json", "traffic.json"];

/// The reports that exist.
#[derive(Default)]
pub(super) struct Inputs {
    pub(super) roaming: Option<Roaming>,
    pub(super) load: Option<Load>,
    pub(super) traffic: Option<Traffic>,
}

impl Inputs {
    /// Reads the reports that a directory has, at least one.
    pub(super) fn read(directory: &Path) -> Result<Self, LabError> {
        let lacks = |what: &str| {
            let directory = directory.display();
            LabError::Options(format!(
                "{directory} {what}; name the directory with roaming.json, load.json and traffic.json, or another paper \
                 with --of"
            ))
        };
        if !directory.is_dir() {
            return Err(lacks("is not a directory"));
        }
        let [roaming, load, traffic] = FILES.map(|name| text(directory, name));
        let inputs = Self::of(roaming?.as_deref(), load?.as_deref(), traffic?.as_deref());
        let inputs = inputs.map_err(|(name, what)| wrong(directory, name, &what))?;
        // Empty tables would replace those of a text.
        if inputs.missing().count() == FILES.len() {
            return Err(lacks("has no report"));
        }
        Ok(inputs)
    }

    /// Parses the reports; an error has a report's name, and what is wrong with it.
    pub(super) fn of(
        roaming: Option<&str>,
        load: Option<&str>,
        traffic: Option<&str>,
    ) -> Result<Self, (&'static str, String)> {
        let [roaming_name, load_name, traffic_name] = FILES;
        let mut traffic: Option<Traffic> = parse(traffic_name, traffic, check::traffic)?;
        if let Some(traffic) = &mut traffic {
            // Recomputed from the samples, as far as possible for load: a report's own summaries don't count.
            traffic.confusion = evaluate::confusion(&traffic.flows, traffic.seed);
            traffic.costs = evaluate::costs(&traffic.flows);
        }
        let mut load: Option<Load> = parse(load_name, load, check::load)?;
        if let Some(load) = &mut load {
            for cell in &mut load.cells {
                cell.requests_per_second = cell.requests as f64 / cell.seconds;
            }
            load.growth = report::growth(&load.cells);
            load.storms = storms::summaries(&load.cells);
            // Runs with several round-trip times repeat it for each, though none is involved.
            let mut seen = HashSet::new();
            load.memory
                .retain(|it| seen.insert((it.variant.key(), it.connection.name(), it.side.name())));
        }
        let roaming = parse(roaming_name, roaming, check::roaming)?;
        Ok(Self { roaming, load, traffic })
    }

    /// Returns the names of the reports that are not there.
    pub(super) fn missing(&self) -> impl Iterator<Item = &'static str> {
        self.files().filter_map(|(name, there)| (!there).then_some(name))
    }

    /// Returns the names of the reports that are there.
    pub(super) fn there(&self) -> impl Iterator<Item = &'static str> {
        self.files().filter_map(|(name, there)| there.then_some(name))
    }

    fn files(&self) -> impl Iterator<Item = (&'static str, bool)> + use<> {
        let there = [self.roaming.is_some(), self.load.is_some(), self.traffic.is_some()];
        FILES.into_iter().zip(there)
    }

    /// Returns the cells of `roaming` that went through this, with the paper's suite and keys in memory, over links
    /// that only have a round-trip time; in the order of the report.
    pub(super) fn plain(&self, through: Setup) -> impl Iterator<Item = &Cell> {
        self.usual(through).filter(|cell| is_plain(cell))
    }

    /// The same over all links.
    pub(super) fn usual(&self, through: Setup) -> impl Iterator<Item = &Cell> {
        self.cells(through).filter(|cell| {
            let variant = &cell.name.variant;
            variant.suite == Suite::Aes256GcmSha384 && variant.store == Store::Memory
        })
    }

    /// Returns the cells of `roaming` that went through this.
    pub(super) fn cells(&self, through: Setup) -> impl Iterator<Item = &Cell> {
        let cells = self.roaming.iter().flat_map(|roaming| &roaming.cells);
        cells.filter(move |cell| cell.name.through == through)
    }
}

/// Whether a cell's link has a round-trip time and nothing else.
pub(super) fn is_plain(cell: &Cell) -> bool {
    cell.name.link.loss == 0.0 && cell.name.link.congestion == 0.0
}

/// Returns the variants of some cells, each once, in their order.
pub(super) fn variants<'c>(cells: impl IntoIterator<Item = &'c Cell>) -> Vec<Variant> {
    let mut found = Vec::new();
    for cell in cells {
        if !found.contains(&cell.name.variant) {
            found.push(cell.name.variant);
        }
    }
    found
}

/// Returns how many reconnections were requested for a cell of `load`.
pub(super) fn asked(cell: &LoadCell) -> u64 {
    (cell.users * cell.reconnections) as u64
}

/// Returns the share of the reconnections of a cell of `load` that succeeded.
pub(super) fn success_of_load(cell: &LoadCell) -> f64 {
    1.0 - cell.failed as f64 / asked(cell) as f64
}

/// The same of all storms of a row and size.
pub(super) fn success_of_storms(storms: &Storms<'_>) -> f64 {
    let all = &storms.all;
    let failed: u64 = all.iter().map(|cell| cell.failed).sum();
    1.0 - failed as f64 / all.iter().map(|cell| asked(cell)).sum::<u64>() as f64
}

/// The same of a cell of `roaming`: its failures have no samples.
pub(super) fn success(cell: &Cell) -> f64 {
    let succeeded = cell.samples.len() as f64;
    succeeded / (succeeded + f64::from(cell.failed))
}

/// Returns a file of a directory, if it is there.
pub(super) fn text(directory: &Path, name: &str) -> Result<Option<String>, LabError> {
    match fs::read_to_string(directory.join(name)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let (path, why) = (directory.join(name), words(&error));
            Err(LabError::Options(format!("{} can't be read: {why}", path.display())))
        }
    }
}

pub(super) fn parse<T: DeserializeOwned>(
    name: &'static str,
    text: Option<&str>,
    check: fn(&T) -> CheckResult,
) -> Result<Option<T>, (&'static str, String)> {
    let of_name = |what: String| (name, what);
    let Some(text) = text else { return Ok(None) };
    let report = serde_json::from_str(text).map_err(|error| of_name(error.to_string()))?;
    check(&report).map_err(of_name)?;
    Ok(Some(report))
}

/// The error may contain text of the report, so terminal control sequences are removed.
pub(super) fn wrong(directory: &Path, name: &str, what: &str) -> LabError {
    let what = what.replace(char::is_control, " ");
    let path = directory.join(name);
    LabError::Options(format!("{} is not a report of tessera lab: {what}", path.display()))
}
