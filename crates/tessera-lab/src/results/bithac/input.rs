//! The reports of `lab bithac` and of the TLS 1.2 of the tests, as they were written.

use std::collections::HashSet;
use std::path::Path;

use serde::Deserialize;
use tessera_reports::Machine;

use crate::bithac::finished::{
    check_cell, check_datagrams, check_hits, check_many, check_memory, check_peak, check_work,
};
use crate::bithac::report::{
    Cell, CellName, DatagramCell, Hits, LargeCache, Memory, Part, Peak, Report, Work,
};
use crate::bithac::table::median;
use crate::bithac::{CertificateWay, Certificates};
use crate::error::LabError;
use crate::experiment::limits::CheckResult;
use crate::results::input::{parse, text, wrong};
use crate::wired::{LinkName, Sample};

/// The names of the reports in their directory.
const FILES: [&str; 2] = ["bithac.json", "tls12.json"];

/// The reports that exist.
#[derive(Default)]
pub(in crate::results) struct Inputs {
    pub(super) bithac: Option<Report>,
    pub(super) tls12: Option<Tls12>,
}

/// The part of the report of `testing/tls12` that is read.
#[derive(Deserialize)]
pub(super) struct Tls12 {
    experiment: String,
    pub(super) revision: Option<String>,
    pub(super) machine: Machine,
    pub(super) runs: usize,
    /// The paper's numbers next to its own, as texts.
    pub(super) paper: Vec<PaperComparison>,
    pub(super) cells: Vec<serde_json::Value>,
}

/// A number of the paper's.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct PaperComparison {
    pub(super) id: String,
    pub(super) what: String,
    pub(super) paper: String,
    pub(super) here: String,
}

impl Inputs {
    /// Reads the reports that a directory has, at least one.
    pub(in crate::results) fn read(directory: &Path) -> Result<Self, LabError> {
        let [bithac, tls12] = FILES.map(|name| text(directory, name));
        let inputs = Self::of(bithac?.as_deref(), tls12?.as_deref());
        let inputs = inputs.map_err(|(name, what)| wrong(directory, name, &what))?;
        // Empty tables would replace those of a text.
        if inputs.missing().count() == FILES.len() {
            let directory = directory.display();
            return Err(LabError::Options(format!(
                "{directory} has no report; name the directory with bithac.json and tls12.json"
            )));
        }
        Ok(inputs)
    }

    /// Parses the reports; an error has a report's name, and what is wrong with it.
    pub(super) fn of(
        bithac: Option<&str>,
        tls12: Option<&str>,
    ) -> Result<Self, (&'static str, String)> {
        let [bithac_name, tls12_name] = FILES;
        Ok(Self {
            bithac: parse(bithac_name, bithac, check_bithac)?,
            tls12: parse(tls12_name, tls12, check_tls12)?,
        })
    }

    /// Returns the names of the reports that are not there.
    pub(in crate::results) fn missing(&self) -> impl Iterator<Item = &'static str> {
        let there = [self.bithac.is_some(), self.tls12.is_some()];
        FILES.into_iter().zip(there).filter_map(|(name, there)| (!there).then_some(name))
    }

    /// Returns the cells of a part, in the order of the report.
    pub(super) fn cells(&self, part: Part) -> impl Iterator<Item = &Cell> {
        let cells = self.bithac.iter().flat_map(|report| &report.cells);
        cells.filter(move |cell| cell.name.part == part)
    }

    /// Returns the cell of a way in place of another's.
    pub(super) fn instead(&self, name: &CellName, way: CertificateWay) -> Option<&Cell> {
        let name = CellName { way, ..name.clone() };
        self.bithac.iter().flat_map(|report| &report.cells).find(|cell| cell.name == name)
    }

    /// Returns the bytes of a connection over a link that only has this MTU.
    pub(super) fn bytes(
        &self,
        way: CertificateWay,
        certificates: Certificates,
        mtu: u16,
    ) -> Option<&Sample> {
        let link = LinkName { rtt_ms: 0.0, rate_bps: None, mtu, loss: 0.0 };
        let name = CellName { part: Part::Bytes, way, certificates, link };
        self.instead(&name, way)?.samples.first()
    }

    /// Returns the median of something of a cell, in place of another's.
    pub(super) fn median(
        &self,
        name: &CellName,
        way: CertificateWay,
        value: fn(&Sample) -> f64,
    ) -> Option<f64> {
        Some(median(self.instead(name, way)?, value)?.value)
    }

    /// Returns the computation of a way with chains of a length.
    pub(super) fn work(
        &self,
        way: CertificateWay,
        certificates: Certificates,
        chain: usize,
    ) -> Option<&Work> {
        self.bithac.as_ref()?.work(way, certificates, chain)
    }

    pub(super) fn hits(&self) -> impl Iterator<Item = &Hits> {
        self.bithac.iter().flat_map(|report| &report.hits)
    }

    pub(super) fn memory(&self) -> impl Iterator<Item = &Memory> {
        self.bithac.iter().flat_map(|report| &report.memory)
    }

    pub(super) fn many(&self) -> impl Iterator<Item = &LargeCache> {
        self.bithac.iter().flat_map(|report| &report.many)
    }

    /// Returns handshakes over datagrams, in the order of the report.
    pub(super) fn datagrams(&self) -> &[DatagramCell] {
        self.bithac.as_ref().map_or(&[], |report| &report.datagrams)
    }

    /// Returns the peak of a way.
    pub(super) fn peak(&self, way: CertificateWay, certificates: Certificates) -> Option<&Peak> {
        self.bithac.as_ref()?.peak(way, certificates)
    }
}

fn check_bithac(report: &Report) -> CheckResult {
    let Report { experiment, cells, work, hits, memory, peaks, many, datagrams, .. } = report;
    if experiment != "bithac" {
        return Err(format!("it is of the experiment `{experiment}`, not of `bithac`"));
    }
    cells.iter().try_for_each(check_cell)?;
    work.iter().try_for_each(check_work)?;
    hits.iter().try_for_each(check_hits)?;
    memory.iter().try_for_each(check_memory)?;
    peaks.iter().try_for_each(check_peak)?;
    many.iter().try_for_each(check_many)?;
    datagrams.iter().try_for_each(check_datagrams)?;
    let names = cells.iter().map(|it| it.name.key()).chain(work.iter().map(Work::key));
    let names = names.chain(hits.iter().map(Hits::key)).chain(memory.iter().map(Memory::key));
    let names = names.chain(peaks.iter().map(Peak::key)).chain(many.iter().map(LargeCache::key));
    let names = names.chain(datagrams.iter().map(|it| it.name.key()));
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name.clone()) {
            return Err(format!("{name} occurs twice"));
        }
    }
    Ok(())
}

fn check_tls12(report: &Tls12) -> CheckResult {
    match report.experiment.as_str() {
        "tls12" => Ok(()),
        other => Err(format!("it is of the experiment `{other}`, not of `tls12`")),
    }
}
