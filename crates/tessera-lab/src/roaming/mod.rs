//! The experiment `roaming`: the evaluation of a paper on TLS 1.3 between mobile networks (Lastre et al.,
//! Sensors 2025, 25, 6144), on real code and real links.

mod choice;
mod engine;
pub(crate) mod finished;
mod grid;
mod links;
mod page;
mod progress;
pub(crate) mod report;
mod runner;
#[cfg(test)]
mod samples;
mod sepps;
mod table;

use std::path::PathBuf;

use serde_json::json;
use tessera_reports::roaming::{Cell, CellName, Setup};

pub use self::choice::Filter;
use self::progress::Progress;
use self::report::{Report, SkippedCell};
use self::runner::Runner;
use crate::error::LabError;
use crate::experiment::{
    self, Grid, Run, SAMPLES, Screen, Share, check_resumable, open_link, share, write,
};
use crate::machine::{revision, this_machine};
use crate::table::Table;

/// The options of the experiment.
#[derive(Clone, Debug)]
pub struct Options {
    /// The options of all experiments. Round-trip times, modes and link parameters are ignored, except for the seed:
    /// the grid has its own.
    pub common: experiment::Options,
    /// How many reconnections of each cell count that is measured between two processes, or through proxies over a link.
    pub link_repetitions: usize,
    /// Which cells of the grid; `None` for all.
    pub cells: Option<Filter>,
    /// How many of those, drawn by the seed; `None` for all.
    pub sample: Option<usize>,
    /// Which part of those, if several runs divide them; `None` for all.
    pub share: Option<Share>,
    /// The journal of finished cells, to continue after an interruption.
    pub resume: Option<PathBuf>,
}

/// Runs the experiment.
///
/// Call it while the process has no other thread: as another user than root it enters a user namespace, which the
/// kernel refuses to processes with several.
///
/// # Errors
///
/// [`LabError::Options`] before anything is measured; the others when it can't go on, or when no cell could be
/// measured.
pub fn run(options: &Options) -> Result<(), LabError> {
    let Options { common, link_repetitions, .. } = options;
    check_resumable(common, options.resume.as_deref())?;
    let seed = common.parameters.seed;
    let names = choice::chosen(options.cells.as_ref(), options.sample, seed);
    let names = share(options.share, names)?;
    let link = open_link(common)?;
    let kind = link.kind();
    let settings =
        json!({ "repetitions": common.repetitions, "link_repetitions": link_repetitions });
    let repetitions = |name: &CellName| match name.through {
        Setup::Engine => common.repetitions,
        Setup::Sepp if !name.link.needs_emulation() => common.repetitions,
        Setup::Endpoints | Setup::Sepp => *link_repetitions,
    };
    let run = Run::of_this_program("roaming", seed, kind, settings);
    let all = grid::cells();
    let is_finished = |cell: &Cell| finished::check(cell, &all, repetitions(&cell.name));
    let grid = Grid::open(options.resume.as_deref(), &run, is_finished)?;

    let mut screen = Screen::new(common);
    let machine = this_machine();
    screen.line(&format!("seed {seed}; {machine}; link {kind}"))?;
    let beside = options.share.map_or(0, Share::others);
    let mut runner = Runner::start(link, seed, beside)?;
    screen.expect(names.iter().map(repetitions).sum());
    let report = Report {
        experiment: "roaming".to_owned(),
        seed,
        machine,
        revision: revision().map(str::to_owned),
        link: kind.to_string(),
        cells: Vec::new(),
        not_run: Vec::new(),
    };
    let mut progress = Progress { screen, grid, table: Table::default(), report };
    for group in names.chunk_by(|a, b| !table::is_under_another_head(a, b)) {
        let samples = group.first().map_or(0, repetitions);
        let left = progress.begin(group, samples)?;
        runner.measure(&left, samples, &mut progress)?;
    }
    let report = progress.finish(&names)?;
    write(common, &report, SAMPLES, Some(page::render))?;
    match report.not_run.first() {
        Some(SkippedCell { reason, .. }) if report.cells.is_empty() => {
            Err(LabError::Connection(format!("no cell could be measured: {reason}")))
        }
        _ => Ok(()),
    }
}
