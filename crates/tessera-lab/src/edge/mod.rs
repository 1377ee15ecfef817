//! The experiment `edge`: what a client sends and computes that comes to another edge proxy. The evaluation of a paper on
//! service continuity (Catoni, Puliafito and Dini, "TLS 1.3 for Fast and Secure Edge Service Continuity in Smart Cities"):
//! X25519 and X25519MLKEM768, full and resumed at a proxy with the same ticket keys; and what it leaves out: links,
//! losses, HelloRetryRequest, early data, protection that a ticket inherits, a signer, a fixed rate, and a ring that rotates.
//!
//! ```text
//!   client ──┬───────── loopback, or an emulated link ───────── proxy B      one message each way a connection
//!            └ observer: packets                         proxy A: issued the ticket; a signer
//! ```
//!
//! Both ends are threads of this process, and connect over the kernel's TCP; operations are timed in memory.

mod ends;
pub(crate) mod finished;
mod joined;
mod neighbours;
mod operations;
pub(crate) mod page;
mod rate;
pub(crate) mod report;
mod rotation;
mod runner;
#[cfg(test)]
pub(crate) mod samples;
mod signer;
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

use self::finished::Finished;
use self::report::{Cell, CellName, Report, RowName};
use self::runner::Runner;
use self::stage::Plan;
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
    /// How many connections a second a proxy gets at a fixed rate, at least one.
    pub per_second: u32,
    /// Loss rates, each measured over a link of 20 ms.
    pub losses: Vec<f64>,
    /// The journal of finished cells, to continue after an interruption.
    pub resume: Option<PathBuf>,
}

/// The round-trip time of links that lose packets, and of those that are not asked for.
const NEAR_MS: f64 = 20.0;

/// How many connections over a link that loses packets there are for each repetition: few of them lose any.
const LOSING: usize = 4;

/// Of how many connections over loopback there is one at a fixed rate, which mostly waits.
const FEWER_AT_RATE: usize = 5;

/// How often the ring rotates for each repetition.
const ROTATIONS: u64 = 3;

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
    let settings = json!({
        "repetitions": common.repetitions, "connections": options.connections, "rate": options.per_second,
    });
    let words = kind.map_or_else(|| "none".to_owned(), |kind| kind.to_string());
    let run = Run::of_this_program("edge", seed, words, settings);
    let samples = |cell: &Cell| plan(options, &cell.name).samples;
    let is_finished = |it: &Finished| finished::check(it, samples, common.repetitions);
    let grid = Grid::open(options.resume.as_deref(), &run, is_finished)?;

    let mut screen = Screen::new(common);
    let (machine, load) = (this_machine(), load());
    let busy = load.map_or_else(String::new, |load| format!("; load {load}"));
    screen.line(&format!("seed {seed}; {machine}{busy}; link {}", run.link))?;
    let of_part = |part, rows: fn(&Options) -> Vec<RowName>| {
        if parts.contains(&part) { rows(options) } else { Vec::new() }
    };
    let rows = of_part(Part::Operations, rows);
    let at_rate = of_part(Part::Rate, all_rows);
    let rotating = of_part(Part::Rotation, rotating_rows);
    let samples: usize = cells.iter().map(|name| plan(options, name).samples).sum();
    let rotated = rotating.len() * rotations(options) as usize;
    screen.expect(samples + (rows.len() + at_rate.len()) * common.repetitions + rotated);
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
        rates: Vec::new(),
        rotations: Vec::new(),
    };
    let mut runner = Runner { options, screen, grid, parties: BTreeMap::new(), report };
    runner.cells(&cells)?;
    runner.operations(&rows)?;
    runner.rates(&at_rate)?;
    runner.rotations(&rotating)?;
    let Runner { screen, report, .. } = runner;
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
fn rows(options: &Options) -> Vec<RowName> {
    let is_there = |row: &RowName| operations::WAYS.contains(&row.way);
    all_rows(options).into_iter().filter(is_there).collect()
}

/// Returns the rows of moves while the ring rotates: with the first certificates.
fn rotating_rows(options: &Options) -> Vec<RowName> {
    let first = options.certificates.first();
    let is_there = |row: &RowName| row.way == EdgeWay::Resumed && Some(&row.certificates) == first;
    all_rows(options).into_iter().filter(is_there).collect()
}

/// Returns all that can be measured without a link.
fn all_rows(options: &Options) -> Vec<RowName> {
    let ways = &options.ways;
    let of = |certificates: Certificates| {
        ways.iter().flat_map(move |way| {
            let kxs = way.exchanges().iter();
            kxs.map(move |kx| RowName { way: *way, kx: *kx, certificates })
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

/// Returns what a row at a fixed rate has: fewer connections, which wait.
fn plan_of_rate(options: &Options) -> Plan {
    let connections = options.connections.div_ceil(FEWER_AT_RATE);
    Plan { samples: options.common.repetitions, connections }
}

/// Returns how often a ring rotates in a row.
fn rotations(options: &Options) -> u64 {
    options.common.repetitions as u64 * ROTATIONS
}

/// Returns the load of the last minute (proc_loadavg(5)).
fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}
