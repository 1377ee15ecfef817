//! The experiment `dtls`: what a client that moves loses of its association, and how soon it goes on. The evaluation of a
//! paper on mobile clients (Caminati et al., "Fast Session Resumption in DTLS for Mobile Communications", CCNC 2020), with
//! more arms, changes and links.
//!
//! ```text
//!   application ─ detection ─ association ══ interfaces ══ network ══ endpoint ─ acknowledgements
//!        one message after the other            hand-overs each 10 s
//! ```

mod arm;
mod client;
mod configuration;
pub(crate) mod finished;
pub(crate) mod grid;
mod measure;
pub(crate) mod page;
pub mod program;
pub(crate) mod report;
#[cfg(test)]
pub(crate) mod samples;
mod scenario;
pub(crate) mod sequence;
mod server;
mod sockets;
pub(crate) mod table;
mod virtual_time;

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

pub use self::arm::Arm;
pub use self::client::Detection;
pub use self::report::{Part, Through};
pub use self::scenario::Change;
pub(crate) use self::scenario::TIMEOUT;

use self::grid::{CellSelection, DELAYS_MS};
use self::report::{Cell, CellName, Report, Scenario, Sequence, SkippedCell};
use self::sequence::FIGURES;
use self::sockets::Programs;
use self::virtual_time::Stage;
use crate::error::{LabError, link_words};
use crate::experiment::{
    self, Grid, Run, SAMPLES, Screen, Share, check_resumable, open_link, refuse_twice, seed_of,
    share,
};
use crate::machine::{revision, this_machine};
use crate::pki::Pki;
use crate::table::terminal;

/// The options of the experiment.
#[derive(Clone, Debug)]
pub struct Options {
    /// The runs of each cell in virtual time, the seed, and the output. The rest is ignored: cells have their own links.
    pub common: experiment::Options,
    /// The runs of each cell of the paper's run over sockets; the other cells there have one.
    pub socket_runs: usize,
    /// Which factors differ from the paper's run.
    pub parts: Vec<Part>,
    /// What carries the datagrams.
    pub through: Vec<Through>,
    /// Which arms.
    pub arms: Vec<Arm>,
    /// How many acknowledgements each run has, instead of the 600 of the paper, and of 60 over sockets where a factor
    /// differs.
    pub acks: Option<u32>,
    /// The directory with the programs of other stacks.
    pub peers: Option<PathBuf>,
    /// Which part of the cells, if several runs divide them; `None` for all.
    pub share: Option<Share>,
    /// The journal of finished cells, to continue after an interruption.
    pub resume: Option<PathBuf>,
}

/// How long a run may take.
const LONGEST: Duration = Duration::from_secs(3600);

/// Runs the experiment.
///
/// Call it while the process has no other thread; see [`reconnect::run`](crate::reconnect::run).
///
/// # Errors
///
/// [`LabError::Options`] before anything is measured; the others when it can't go on, or after the report if no cell could
/// be measured.
pub fn run(options: &Options) -> Result<(), LabError> {
    let Options { common, parts, through, arms, acks, .. } = options;
    check_resumable(common, options.resume.as_deref())?;
    refuse_twice("--parts", parts)?;
    refuse_twice("--through", through)?;
    refuse_twice("--arms", arms)?;
    let asked = CellSelection { parts, through, arms, acks: *acks };
    let names = share(options.share, grid::cells(&asked))?;
    if names.is_empty() {
        return Err(LabError::Options(
            "--arms and --through have nothing in common: other stacks run over sockets alone"
                .to_owned(),
        ));
    }
    let seed = common.parameters.seed;
    let settings =
        json!({ "runs": common.repetitions, "socket_runs": options.socket_runs, "acks": acks });
    let run = Run::of_this_program("dtls", seed, common.link, settings);
    let everything =
        CellSelection { parts: &Part::ALL, through: &Through::ALL, arms: &Arm::ALL, acks: *acks };
    let all = grid::cells(&everything);
    let is_finished = |cell: &Cell| finished::check(cell, &all, options.runs(&cell.name));
    let grid = Grid::open(options.resume.as_deref(), &run, is_finished)?;

    let mut screen = Screen::new(common);
    let machine = this_machine();
    screen.line(&format!("seed {seed}; {machine}"))?;
    screen.expect(names.iter().map(|name| options.runs(name)).sum());
    let report = Report {
        experiment: "dtls".to_owned(),
        seed,
        machine,
        revision: revision().map(str::to_owned),
        cells: Vec::new(),
        not_run: Vec::new(),
        sequences: Vec::new(),
    };
    let pki = Pki::new().map_err(|error| LabError::Connection(error.to_string()))?;
    let mut experiment = Experiment { options, screen, grid, pki, programs: None, report };
    for names in names.chunk_by(|a, b| (a.part, a.through) == (b.part, b.through)) {
        experiment.cells(names)?;
    }
    if parts.contains(&Part::Nat) && through.contains(&Through::Virtual) {
        experiment.sequences()?;
    }
    let Experiment { screen, report, .. } = experiment;
    screen.line(&terminal::legend(table::LEGEND))?;
    screen.finish();
    experiment::write(common, &report, SAMPLES, Some(page::render))?;
    match report.not_run.first() {
        Some(SkippedCell { reason, .. }) if report.cells.is_empty() => {
            Err(LabError::Connection(format!("no cell could be measured: {reason}")))
        }
        _ => Ok(()),
    }
}

impl Options {
    /// Returns how many runs a cell has.
    fn runs(&self, name: &CellName) -> usize {
        match (name.through, name.part) {
            (Through::Virtual, _) => self.common.repetitions,
            (Through::Sockets, Part::Paper) => self.socket_runs,
            (Through::Sockets, _) => 1,
        }
    }
}

/// Returns what runs over sockets, if the machine emulates links.
fn programs(
    common: &experiment::Options,
    pki: &Pki,
    peers: Option<PathBuf>,
) -> Result<Programs, Box<dyn std::error::Error>> {
    let link = open_link(common)?;
    match link.fallback_reason() {
        Some(reason) => Err(link_words(reason).into()),
        None if !link.emulates() => Err("over a loopback interface no address changes".into()),
        None => Programs::new(pki, peers),
    }
}

/// The experiment while it runs.
struct Experiment<'a> {
    options: &'a Options,
    screen: Screen,
    grid: Grid<Cell>,
    pki: Pki,
    /// What runs over sockets, or why nothing does.
    programs: Option<Result<Programs, String>>,
    report: Report,
}

impl Experiment<'_> {
    /// Measures cells of one table.
    fn cells(&mut self, names: &[CellName]) -> Result<(), LabError> {
        let Some(first) = names.first() else { return Ok(()) };
        let table = table::table(first.part, first.through);
        self.screen.now(first.part.name());
        self.screen.line(&terminal::head(&table))?;
        for name in names {
            let there = self.grid.finished().find(|cell| cell.name == *name).cloned();
            let cell = match there {
                Some(cell) => {
                    cell.samples.iter().for_each(|_| self.screen.advance());
                    Ok(cell)
                }
                None => self.measure(name),
            };
            match cell {
                Ok(cell) => {
                    self.screen.line(&terminal::row(&table, &table::row(&cell)))?;
                    self.report.cells.push(cell);
                }
                Err(reason) => {
                    let words = terminal::name(&table, &table::name(name));
                    self.screen.line(&format!("{words} not run: {reason}"))?;
                    self.report.not_run.push(SkippedCell { name: name.clone(), reason });
                }
            }
        }
        Ok(())
    }

    /// Records the paper's figures of the arms that are measured: three messages at its middle delay.
    fn sequences(&mut self) -> Result<(), LabError> {
        let is_asked = |arm: Arm| self.options.arms.contains(&arm);
        for (arm, nat) in FIGURES.into_iter().filter(|(arm, _)| is_asked(*arm)) {
            let scenario = Scenario { nat, ..Scenario::of_paper(DELAYS_MS[1]) };
            let recorded = Stage::new(arm, &scenario, &self.pki).and_then(|stage| stage.run(3, 0));
            let failed =
                |error: Box<dyn std::error::Error>| LabError::Connection(error.to_string());
            let nat = nat.map_or_else(|| "none".to_owned(), |nat| nat.to_string());
            let sequence = Sequence { arm, nat, datagrams: recorded.map_err(failed)?.sequence };
            self.screen.line(&terminal::table(&sequence.table()))?;
            self.report.sequences.push(sequence);
        }
        Ok(())
    }

    /// Measures a cell.
    ///
    /// # Errors
    /// The error is why it has no numbers.
    fn measure(&mut self, name: &CellName) -> Result<Cell, String> {
        let words = |error: Box<dyn std::error::Error>| error.to_string();
        let runs = self.options.runs(name);
        // The same hand-overs and losses for each arm.
        let seed = self.options.common.parameters.seed;
        let seeds = |number: usize| seed_of(&number.to_string(), seed);
        let mut samples = Vec::new();
        match name.through {
            Through::Virtual => {
                let stage = Stage::new(name.arm, &name.scenario, &self.pki).map_err(words)?;
                for number in 0..runs {
                    let recording = stage.run(name.acks, seeds(number)).map_err(words)?;
                    samples.push(recording.sample());
                    self.screen.advance();
                }
            }
            Through::Sockets => {
                let programs = self.programs.get_or_insert_with(|| {
                    let peers = self.options.peers.clone();
                    programs(&self.options.common, &self.pki, peers).map_err(words)
                });
                let programs = programs.as_ref().map_err(Clone::clone)?;
                for number in 0..runs {
                    let recording = programs.run(name, seeds(number)).map_err(words)?;
                    samples.push(recording.sample());
                    self.screen.advance();
                }
            }
        }
        let cell = Cell { name: name.clone(), samples };
        self.grid.add(&cell).map_err(|error| error.to_string())?;
        Ok(cell)
    }
}
