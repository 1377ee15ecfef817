//! The experiment `edge`: what a client sends and computes that comes to another edge proxy. The evaluation of a paper on
//! service continuity (Catoni, Puliafito and Dini, "TLS 1.3 for Fast and Secure Edge Service Continuity in Smart Cities"):
//! X25519 and X25519MLKEM768, full and resumed at a proxy with the same ticket keys; and what it leaves out: links,
//! losses, HelloRetryRequest, early data, and protection that a ticket inherits.
//!
//! ```text
//!   client ──┬───────── loopback, or an emulated link ───────── proxy B      one message each way a connection
//!            └ observer: packets                         proxy A: issued the ticket
//! ```
//!
//! Both ends are threads of this process, and connect over the kernel's TCP; operations are timed in memory.

mod ends;
pub(crate) mod finished;
mod neighbours;
mod operations;
pub(crate) mod page;
pub(crate) mod report;
#[cfg(test)]
pub(crate) mod samples;
mod stage;
pub(crate) mod table;
mod way;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::json;
use tessera_link::LinkKind;

pub use self::report::Part;
pub use self::way::EdgeWay;
pub use crate::certificates::Certificates;

use self::ends::TimedEnds;
use self::finished::Finished;
use self::report::{Cell, CellName, Chain, OperationsName, Report};
use self::stage::Plan;
use crate::certificates::Parties;
use crate::error::{LabError, link_words};
use crate::experiment::{self, Grid, ROWS, Run, Screen, open_link, refuse_twice};
use crate::machine::{revision, this_machine};
use crate::table::terminal;
use crate::wired::LinkName;

/// The options of the experiment.
#[derive(Clone, Debug)]
pub struct Options {
    /// The repetitions, the round-trip times of links (`None`: 20 ms), their kind, the seed, and the output. The rest is
    /// ignored.
    pub common: experiment::Options,
    /// What to measure.
    pub parts: Vec<Part>,
    /// Which ways to connect.
    pub ways: Vec<EdgeWay>,
    /// The kinds of certificates.
    pub certificates: Vec<Certificates>,
    /// How many connections each repetition is the mean of, over loopback and in memory.
    pub connections: usize,
    /// Loss rates, each measured over a link of 20 ms.
    pub losses: Vec<f64>,
    /// The journal of finished cells, to continue after an interruption.
    pub resume: Option<PathBuf>,
}

/// The proxy's certificate, and one of an authority.
const CHAIN: usize = 2;

/// The round-trip time of links that lose packets, and of those that are not asked for.
const NEAR_MS: f64 = 20.0;

/// How many connections over a link that loses packets there are for each repetition: few of them lose any.
const LOSING: usize = 10;

/// Runs the experiment.
///
/// Call it while the process has no other thread; see [`reconnect::run`](crate::reconnect::run).
///
/// # Errors
///
/// [`LabError::Options`] before anything is measured; the others when it can't go on.
pub fn run(options: &Options) -> Result<(), LabError> {
    let Options { common, parts, .. } = options;
    check(options)?;
    let kind = if parts.contains(&Part::Handshakes) { link(options)? } else { None };
    let cells = if parts.contains(&Part::Handshakes) { cells(options, kind) } else { Vec::new() };
    let seed = common.parameters.seed;
    let settings = json!({ "repetitions": common.repetitions, "connections": options.connections });
    let words = kind.map_or_else(|| "none".to_owned(), |kind| kind.to_string());
    let run = Run::of_this_program("edge", seed, words, settings);
    let samples = |cell: &Cell| plan(options, &cell.name).samples;
    let is_finished = |it: &Finished| finished::check(it, samples, common.repetitions);
    let grid = Grid::open(options.resume.as_deref(), &run, is_finished)?;

    let mut screen = Screen::new(common);
    let (machine, load) = (this_machine(), load());
    let busy = load.map_or_else(String::new, |load| format!("; load {load}"));
    screen.line(&format!("seed {seed}; {machine}{busy}; link {}", run.link))?;
    let rows = if parts.contains(&Part::Operations) { rows(options) } else { Vec::new() };
    let samples: usize = cells.iter().map(|name| plan(options, name).samples).sum();
    screen.expect(samples + rows.len() * common.repetitions);
    let report = Report {
        experiment: "edge".to_owned(),
        seed,
        machine,
        load,
        revision: revision().map(str::to_owned),
        link: kind.map(|kind| kind.to_string()),
        connections: options.connections,
        chains: Vec::new(),
        cells: Vec::new(),
        operations: Vec::new(),
    };
    let mut experiment = Experiment { options, screen, grid, parties: BTreeMap::new(), report };
    experiment.cells(&cells)?;
    experiment.operations(&rows)?;
    let Experiment { screen, report, .. } = experiment;
    screen.line(&terminal::legend(table::LEGEND))?;
    screen.finish();
    experiment::write(common, &report, ROWS, Some(page::render))
}

/// Rejects invalid options before the experiment begins.
fn check(options: &Options) -> Result<(), LabError> {
    experiment::check_resumable(&options.common, options.resume.as_deref())?;
    if options.common.link == LinkKind::Loopback && !options.losses.is_empty() {
        return Err(LabError::Options(
            "--loss: a loopback link loses nothing; leave it out, or leave out `--link loopback`"
                .to_owned(),
        ));
    }
    refuse_twice("--parts", &options.parts)?;
    refuse_twice("--ways", &options.ways)?;
    refuse_twice("--certificates", &options.certificates)?;
    refuse_twice("--rtt", options.common.rtts.as_deref().unwrap_or_default())?;
    refuse_twice("--loss", &options.losses)
}

/// Returns the kind of emulated links, if there are any.
fn link(options: &Options) -> Result<Option<LinkKind>, LabError> {
    let link = open_link(&options.common)?;
    if link.emulates() {
        return Ok(Some(link.kind()));
    }
    if let Some(reason) = link.fallback_reason() {
        if options.common.rtts.is_some() || !options.losses.is_empty() {
            return Err(experiment::nothing_possible(reason));
        }
        eprintln!("{}.\nThis run is on loopback alone.", link_words(reason));
    }
    Ok(None)
}

/// Returns all cells over loopback and links, in the order in which they run.
fn cells(options: &Options, kind: Option<LinkKind>) -> Vec<CellName> {
    let named = |rtt_ms, loss| Some(LinkName { rtt_ms, rate_bps: None, mtu: 1500, loss });
    let mut links = vec![None];
    if kind.is_some() {
        match &options.common.rtts {
            Some(rtts) => links.extend(rtts.iter().map(|it| named(it.as_secs_f64() * 1e3, 0.0))),
            None => links.push(named(NEAR_MS, 0.0)),
        }
        links.extend(options.losses.iter().map(|loss| named(NEAR_MS, *loss)));
    }
    let mut cells = Vec::new();
    for link in links {
        for certificates in options.certificates.iter().copied() {
            for way in options.ways.iter().copied() {
                let link = &link;
                cells.extend(way.exchanges().iter().map(move |kx| CellName {
                    way,
                    kx: *kx,
                    certificates,
                    link: link.clone(),
                }));
            }
        }
    }
    cells
}

/// Returns all rows of operations.
fn rows(options: &Options) -> Vec<OperationsName> {
    let ways = operations::WAYS.into_iter().filter(|way| options.ways.contains(way));
    let ways: Vec<_> = ways.collect();
    let of = |certificates: Certificates| {
        ways.iter().flat_map(move |way| {
            let kxs = way.exchanges().iter();
            kxs.map(move |kx| OperationsName { way: *way, kx: *kx, certificates })
        })
    };
    options.certificates.iter().flat_map(|certificates| of(*certificates)).collect()
}

/// Connections over links mostly wait, so that each is a sample.
fn plan(options: &Options, name: &CellName) -> Plan {
    let samples = options.common.repetitions;
    match &name.link {
        None => Plan { samples, connections: options.connections },
        Some(link) if link.loss > 0.0 => Plan { samples: samples * LOSING, connections: 1 },
        Some(_) => Plan { samples, connections: 1 },
    }
}

/// Returns the load of the last minute (proc_loadavg(5)).
fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

/// The experiment while it runs.
struct Experiment<'a> {
    options: &'a Options,
    screen: Screen,
    grid: Grid<Finished>,
    parties: BTreeMap<Certificates, Parties>,
    report: Report,
}

impl Experiment<'_> {
    /// Measures over loopback and links.
    fn cells(&mut self, names: &[CellName]) -> Result<(), LabError> {
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
            let advance = || self.screen.advance();
            let cell = match there {
                Some(cell) => {
                    (0..plan.samples).for_each(|_| advance());
                    self.make(name.certificates)?;
                    cell
                }
                None => {
                    self.make(name.certificates)?;
                    let parties = self.parties(name.certificates)?;
                    let advance = || self.screen.advance();
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
    fn operations(&mut self, names: &[OperationsName]) -> Result<(), LabError> {
        if names.is_empty() {
            return Ok(());
        }
        self.screen.line(&terminal::head(&table::operations()))?;
        let timed = TimedEnds::new();
        let repetitions = self.options.common.repetitions;
        let plan = Plan { samples: repetitions, connections: self.options.connections };
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
            let missing = |name: &&OperationsName| rows.iter().all(|row| row.name != **name);
            let missing: Vec<_> = names.iter().filter(missing).copied().collect();
            let parties = self.parties(certificates)?;
            let advance = || self.screen.advance();
            let measured = operations::measure(&missing, parties, &timed, plan, advance)
                .map_err(|error| failed(format!("operations/{certificates}"), error))?;
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

    fn parties(&self, certificates: Certificates) -> Result<&Parties, LabError> {
        let missing = || failed(certificates.to_string(), "there are no certificates");
        self.parties.get(&certificates).ok_or_else(missing)
    }

    /// Makes certificates, unless they are there.
    fn make(&mut self, certificates: Certificates) -> Result<(), LabError> {
        if self.parties.contains_key(&certificates) {
            return Ok(());
        }
        let parties = Parties::new(certificates, CHAIN)
            .map_err(|error| failed(certificates.to_string(), error))?;
        let server = parties.server.chain.iter().map(Vec::len).collect();
        self.report.chains.push(Chain { certificates, server });
        self.parties.insert(certificates, parties);
        Ok(())
    }
}

fn failed(what: String, error: impl std::fmt::Display) -> LabError {
    LabError::Connection(format!("{what}: {error}"))
}
