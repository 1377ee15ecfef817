//! The reports of the experiments, as they were written.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::error::LabError;
use crate::load::report::{self, Cell as LoadCell, Report as Load};
use crate::roaming::report::{Cell, Report as Roaming, Through};
use crate::traffic::evaluate;
use crate::traffic::report::Report as Traffic;
use crate::variants::{Store, Suite, Variant};

/// The names of the reports in their directory.
const FILES: [&str; 3] = ["roaming.json", "load.json", "traffic.json"];

/// What there is.
#[derive(Default)]
pub(super) struct Inputs {
    pub(super) roaming: Option<Roaming>,
    pub(super) load: Option<Load>,
    pub(super) traffic: Option<Traffic>,
}

impl Inputs {
    /// Reads the reports that a directory has.
    pub(super) fn read(directory: &Path) -> Result<Self, LabError> {
        if !directory.is_dir() {
            return Err(LabError::Options(format!(
                "{} is no directory; name the one with roaming.json, load.json and traffic.json",
                directory.display()
            )));
        }
        let texts = FILES.map(|name| text(directory, name));
        let [roaming, load, traffic] = texts;
        Self::of(roaming?.as_deref(), load?.as_deref(), traffic?.as_deref())
            .map_err(|(name, what)| wrong(directory, name, &what))
    }

    /// From the texts of the reports; an error is a report's name, and what is wrong with it.
    pub(super) fn of(
        roaming: Option<&str>,
        load: Option<&str>,
        traffic: Option<&str>,
    ) -> Result<Self, (&'static str, String)> {
        let [roaming_name, load_name, traffic_name] = FILES;
        let mut traffic: Option<Traffic> = parse(traffic_name, traffic)?;
        if let Some(traffic) = &mut traffic {
            // Made again from the samples, as the growth below: what a report says of them is none.
            traffic.confusion = evaluate::confusion(&traffic.flows, traffic.seed);
            traffic.costs = evaluate::costs(&traffic.flows);
        }
        let mut load: Option<Load> = parse(load_name, load)?;
        if let Some(load) = &mut load {
            load.growth = report::growth(&load.cells);
        }
        Ok(Self { roaming: parse(roaming_name, roaming)?, load, traffic })
    }

    /// The names of the reports that are not there.
    pub(super) fn missing(&self) -> impl Iterator<Item = &'static str> {
        let there = [self.roaming.is_some(), self.load.is_some(), self.traffic.is_some()];
        FILES.into_iter().zip(there).filter_map(|(name, there)| (!there).then_some(name))
    }

    /// The cells of `roaming` that went through this, with the paper's suite and keys in memory, over links
    /// that only have a round-trip time; in the order of the report.
    pub(super) fn plain(&self, through: Through) -> impl Iterator<Item = &Cell> {
        self.usual(through).filter(|cell| is_plain(cell))
    }

    /// The same over all links.
    pub(super) fn usual(&self, through: Through) -> impl Iterator<Item = &Cell> {
        self.cells(through).filter(|cell| {
            let variant = &cell.name.variant;
            variant.suite == Suite::Aes256GcmSha384 && variant.store == Store::Memory
        })
    }

    /// The cells of `roaming` that went through this and have samples.
    pub(super) fn cells(&self, through: Through) -> impl Iterator<Item = &Cell> {
        let cells = self.roaming.iter().flat_map(|roaming| &roaming.cells);
        cells.filter(move |cell| cell.name.through == through && !cell.samples.is_empty())
    }
}

/// Whether a cell's link has a round-trip time and nothing else.
pub(super) fn is_plain(cell: &Cell) -> bool {
    cell.name.link.loss == 0.0 && cell.name.link.congestion == 0.0
}

/// The variants of some cells, each once, in their order.
pub(super) fn variants<'c>(cells: impl IntoIterator<Item = &'c Cell>) -> Vec<Variant> {
    let mut found = Vec::new();
    for cell in cells {
        if !found.contains(&cell.name.variant) {
            found.push(cell.name.variant);
        }
    }
    found
}

/// How many reconnections a cell of `load` was asked for.
pub(super) fn asked(cell: &LoadCell) -> u64 {
    (cell.users * cell.reconnections) as u64
}

/// A file of a directory, if it is there.
fn text(directory: &Path, name: &str) -> Result<Option<String>, LabError> {
    match fs::read_to_string(directory.join(name)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(LabError::system(format!("reading {name}"))(error)),
    }
}

fn parse<T: DeserializeOwned>(
    name: &'static str,
    text: Option<&str>,
) -> Result<Option<T>, (&'static str, String)> {
    text.map(|text| serde_json::from_str(text).map_err(|error| (name, error.to_string())))
        .transpose()
}

fn wrong(directory: &Path, name: &str, what: &str) -> LabError {
    let doing = format!("reading {}", directory.join(name).display());
    LabError::system(doing)(io::Error::new(ErrorKind::InvalidData, what.to_owned()))
}
