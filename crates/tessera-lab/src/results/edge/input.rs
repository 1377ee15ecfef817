//! The reports of `lab edge`, and of BoringSSL and Envoy (`bench/edge-peers`), as they were written.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use tessera_reports::{KeyExchange, Machine};

use super::checks::{is_of, once};
use super::gap::{self, Gap};
use crate::certificates::Certificates;
use crate::edge::EdgeWay;
use crate::edge::finished::{check_cell, check_operations, check_rate, check_rotation};
use crate::edge::report::{Cell, Operations, Report};
use crate::error::LabError;
use crate::experiment::limits::CheckResult;
use crate::results::input::{parse, text, wrong};
use crate::wired::{LONGEST_US, LinkName};

/// The names of the reports in their directory.
const FILES: [&str; 3] = ["edge.json", "edge-boring.json", "edge-envoy.json"];

/// The reports that exist.
#[derive(Default)]
pub(in crate::results) struct Inputs {
    pub(super) edge: Option<Report>,
    pub(super) boring: Option<Boring>,
    pub(super) envoy: Option<Envoy>,
    pub(super) gap: Option<Gap>,
}

/// Operations of BoringSSL and of Tessera's provider, in turns (`bench/boring`).
#[derive(Deserialize)]
pub(super) struct Boring {
    experiment: String,
    /// The version of the crate.
    pub(super) boring: String,
    pub(super) revision: Option<String>,
    pub(super) machine: Machine,
    pub(super) load: f64,
    /// How many calls each sample is the mean of.
    pub(super) calls: usize,
    pub(super) operations: Vec<LibraryOperation>,
}

/// An operation of a library.
#[derive(Deserialize)]
pub(super) struct LibraryOperation {
    pub(super) operation: String,
    pub(super) library: Library,
    pub(super) us: Vec<f64>,
}

/// The library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Library {
    Boring,
    Tessera,
}

/// Handshakes of Go with Envoy (`bench/envoy`).
#[derive(Deserialize)]
pub(super) struct Envoy {
    experiment: String,
    /// The versions of both.
    pub(super) envoy: String,
    pub(super) go: String,
    pub(super) revision: Option<String>,
    pub(super) machine: Machine,
    pub(super) load: f64,
    /// How many connections each sample is the mean of.
    pub(super) connections: usize,
    pub(super) chains: BTreeMap<Certificates, Vec<usize>>,
    pub(super) cells: Vec<EnvoyCell>,
}

/// Its bytes by flight, as records, and its times.
#[derive(Deserialize)]
pub(super) struct EnvoyCell {
    pub(super) way: EdgeWay,
    pub(super) kx: KeyExchange,
    pub(super) certificates: Certificates,
    pub(super) hello: u64,
    /// All of an end until the client's Finished.
    pub(super) client: u64,
    pub(super) server: u64,
    pub(super) tickets: u64,
    /// The ticket that the client sent.
    pub(super) ticket: u64,
    pub(super) handshake_us: Vec<f64>,
}

impl EnvoyCell {
    /// ClientHello and the server's flight.
    pub(super) fn flights(&self) -> u64 {
        self.hello + self.server
    }
}

impl Inputs {
    /// Reads the reports that a directory has, at least one.
    pub(in crate::results) fn read(directory: &Path) -> Result<Self, LabError> {
        let [edge, boring, envoy] = FILES.map(|name| text(directory, name));
        let inputs = Self::of(edge?.as_deref(), boring?.as_deref(), envoy?.as_deref());
        let mut inputs = inputs.map_err(|(name, what)| wrong(directory, name, &what))?;
        inputs.gap = Gap::read(directory)?;
        // Empty tables would replace those of a text.
        if inputs.missing().count() == FILES.len() + 1 {
            let directory = directory.display();
            return Err(LabError::Options(format!(
                "{directory} has no report; name the directory with edge.json, edge-boring.json, edge-envoy.json \
                 and edge-gap.json"
            )));
        }
        Ok(inputs)
    }

    /// Parses the reports; an error has a report's name, and what is wrong with it.
    pub(super) fn of(
        edge: Option<&str>,
        boring: Option<&str>,
        envoy: Option<&str>,
    ) -> Result<Self, (&'static str, String)> {
        let [edge_name, boring_name, envoy_name] = FILES;
        Ok(Self {
            edge: parse(edge_name, edge, check_edge)?,
            boring: parse(boring_name, boring, check_boring)?,
            envoy: parse(envoy_name, envoy, check_envoy)?,
            gap: None,
        })
    }

    /// Returns the names of the reports that are not there.
    pub(in crate::results) fn missing(&self) -> impl Iterator<Item = &'static str> {
        let there = [self.edge.is_some(), self.boring.is_some(), self.envoy.is_some()];
        let names = FILES.into_iter().zip(there).chain([(gap::FILE, self.gap.is_some())]);
        names.filter_map(|(name, there)| (!there).then_some(name))
    }

    /// Returns the cells, in the order of the report.
    pub(super) fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.edge.iter().flat_map(|report| &report.cells)
    }

    /// Returns the cell of a way over loopback.
    pub(super) fn cell(
        &self,
        way: EdgeWay,
        kx: KeyExchange,
        certificates: Certificates,
    ) -> Option<&Cell> {
        self.cell_over(way, kx, certificates, None)
    }

    /// Returns the cell of a way over a link.
    pub(super) fn cell_over(
        &self,
        way: EdgeWay,
        kx: KeyExchange,
        certificates: Certificates,
        link: Option<&LinkName>,
    ) -> Option<&Cell> {
        self.cells().find(|cell| {
            let name = &cell.name;
            (name.way, name.kx, name.certificates, name.link.as_ref())
                == (way, kx, certificates, link)
        })
    }

    /// Returns the operations of a way.
    pub(super) fn operations(
        &self,
        way: EdgeWay,
        kx: KeyExchange,
        certificates: Certificates,
    ) -> Option<&Operations> {
        let rows = &self.edge.as_ref()?.operations;
        rows.iter()
            .find(|it| (it.name.way, it.name.kx, it.name.certificates) == (way, kx, certificates))
    }

    /// Returns what Go and Envoy did.
    pub(super) fn envoy(
        &self,
        way: EdgeWay,
        kx: KeyExchange,
        certificates: Certificates,
    ) -> Option<&EnvoyCell> {
        let cells = &self.envoy.as_ref()?.cells;
        cells.iter().find(|it| (it.way, it.kx, it.certificates) == (way, kx, certificates))
    }

    /// Returns the samples of a library's operations, added up by repetition.
    pub(super) fn library(&self, library: Library, operations: &[&str]) -> Option<Vec<f64>> {
        let all = &self.boring.as_ref()?.operations;
        let mut sums: Vec<f64> = Vec::new();
        for name in operations {
            let of = all.iter().find(|it| it.library == library && it.operation == *name)?;
            sums.resize(of.us.len(), 0.0);
            sums.iter_mut().zip(&of.us).for_each(|(sum, us)| *sum += us);
        }
        Some(sums)
    }
}

fn check_edge(report: &Report) -> CheckResult {
    is_of("edge", &report.experiment)?;
    report.cells.iter().try_for_each(check_cell)?;
    report.operations.iter().try_for_each(check_operations)?;
    report.rates.iter().try_for_each(check_rate)?;
    report.rotations.iter().try_for_each(check_rotation)?;
    let cells = report.cells.iter().map(|cell| cell.name.key());
    let operations = report.operations.iter().map(|row| row.key());
    let rates = report.rates.iter().map(|row| row.key());
    let rotations = report.rotations.iter().map(|row| row.key());
    once(cells.chain(operations).chain(rates).chain(rotations))
}

fn check_boring(report: &Boring) -> CheckResult {
    is_of("edge-boring", &report.experiment)?;
    for it in &report.operations {
        check_samples(&it.operation, &it.us)?;
    }
    once(report.operations.iter().map(|it| format!("{} of {:?}", it.operation, it.library)))
}

fn check_envoy(report: &Envoy) -> CheckResult {
    is_of("edge-envoy", &report.experiment)?;
    let name = |it: &EnvoyCell| format!("{}/{}/{}", it.way, it.kx.short(), it.certificates);
    for it in &report.cells {
        check_samples(&name(it), &it.handshake_us)?;
        if !(1..=it.client).contains(&it.hello) || it.server == 0 {
            return Err(format!("{} has impossible bytes", name(it)));
        }
    }
    once(report.cells.iter().map(name))
}

fn check_samples(name: &str, us: &[f64]) -> CheckResult {
    if us.is_empty() {
        return Err(format!("{name} has no sample"));
    }
    match us.iter().find(|us| !(0.0..=LONGEST_US).contains(*us)) {
        Some(us) => Err(format!("a sample of {name} is {us} µs")),
        None => Ok(()),
    }
}
