//! The experiment `bithac`: what two ends with certificates send and compute when they reconnect. The evaluation of a
//! paper on caching handshakes (Bodenhausen et al., "Bidirectional TLS Handshake Caching for Constrained Industrial IoT
//! Scenarios"), in TLS 1.3, with more kinds of certificates and links.
//!
//! ```text
//!   client ──┬──────────── emulated link ──────────── server      one message each way a connection
//!            └ observer: packets ─▶ bytes by layer and direction
//! ```
//!
//! Both ends are threads of this process, and connect over the kernel's TCP; their computation is measured in memory.
//! Handshakes over datagrams (DTLS 1.3) run in virtual time over the same links' scheduler.

mod datagram_samples;
mod datagrams;
mod ends;
pub(crate) mod finished;
mod grid;
mod hits;
pub(crate) mod kind;
mod linkless;
mod memory;
pub(crate) mod page;
pub(crate) mod report;
mod rfc7924;
#[cfg(test)]
pub(crate) mod samples;
mod stage;
pub(crate) mod table;
mod verifications;
mod way;
mod work;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::json;
use tessera_link::{LinkError, LinkKind};

pub use self::report::Part;
pub use self::way::CertificateWay;
pub use crate::certificates::Certificates;

use self::finished::{Finished, computed_of, samples_of};
use self::grid::CellSelection;
use self::kind::Kind;
use self::report::{Cell, CellName, Chains, DatagramCell, Report};
use crate::certificates::Parties;
use crate::error::LabError;
use crate::experiment::{self, Grid, Run, SAMPLES, Screen, open_link, refuse_twice};
use crate::heap;
use crate::machine::{revision, this_machine};
use crate::table::terminal;

/// The options of the experiment.
#[derive(Clone, Debug)]
pub struct Options {
    /// The repetitions of each cell in parts with repetitions, the kind of the link, the seed, and the output. The rest
    /// is ignored: cells have their own links.
    pub common: experiment::Options,
    /// The questions to answer.
    pub parts: Vec<Part>,
    /// Which ways to connect.
    pub ways: Vec<CertificateWay>,
    /// The kinds of certificates.
    pub certificates: Vec<Certificates>,
    /// The sizes of the largest IP packets.
    pub mtus: Vec<u16>,
    /// The loss rates of part `losses`.
    pub losses: Vec<f64>,
    /// How many clients a server's cache remembers when its memory is measured.
    pub clients: u64,
    /// The journal of finished cells, to continue after an interruption.
    pub resume: Option<PathBuf>,
}

/// How many certificates each end sends over links: its own, and one of an authority.
const CHAIN: usize = 2;

/// Runs the experiment.
///
/// Call it while the process has no other thread; see [`reconnect::run`](crate::reconnect::run).
///
/// # Errors
///
/// [`LabError::Options`] before anything is measured; the others when it can't go on.
pub fn run(options: &Options) -> Result<(), LabError> {
    let Options { common, parts, ways, certificates, .. } = options;
    check(options)?;
    let asked =
        CellSelection { parts, ways, certificates, mtus: &options.mtus, losses: &options.losses };
    let names = grid::cells(&asked);
    let over_datagrams = grid::datagrams(&asked);
    let all = names.iter().chain(&over_datagrams);
    if is_empty(options, all.clone()) {
        return Err(LabError::Options(
            "--parts and --ways have nothing in common: known is measured in memory alone (work), psk-dhe and \
             0rtt-fs over links alone (bytes, losses, times, datagrams), so are rfc7924 and paper, times has not \
             every way and certificate, and datagrams needs an --mtu below 1228"
                .to_owned(),
        ));
    }
    let kind =
        if parts.iter().any(|part| part.needs_a_link()) { Some(link(common)?) } else { None };
    let seed = common.parameters.seed;
    let settings = json!({ "repetitions": common.repetitions });
    let link = kind.map_or_else(|| "none".to_owned(), |kind| kind.to_string());
    let run = Run::of_this_program("bithac", seed, link, settings);
    let is_finished = |finished: &Finished| finished::check(finished, common.repetitions);
    let grid = Grid::open(options.resume.as_deref(), &run, is_finished)?;

    let screen = Screen::new(common);
    let machine = this_machine();
    screen.line(&format!("seed {seed}; {machine}; link {}", run.link))?;
    let report = Report {
        experiment: "bithac".to_owned(),
        seed,
        machine,
        revision: revision().map(str::to_owned),
        link: kind.map(|kind| kind.to_string()),
        chains: Vec::new(),
        cells: Vec::new(),
        work: Vec::new(),
        hits: Vec::new(),
        memory: Vec::new(),
        peaks: Vec::new(),
        many: Vec::new(),
        datagrams_revision: None,
        datagrams: Vec::new(),
    };
    let parties = BTreeMap::new();
    let mut experiment = Experiment { options, screen, grid, parties, report };
    experiment.expect(all);
    experiment.cells(&names)?;
    experiment.datagrams(&over_datagrams)?;
    if parts.contains(&Part::Work) {
        experiment.work()?;
    }
    if parts.contains(&Part::Hits) {
        experiment.hits()?;
    }
    if parts.contains(&Part::Memory) {
        experiment.memory()?;
    }
    let Experiment { screen, report, .. } = experiment;
    screen.line(&terminal::legend(table::LEGEND))?;
    screen.finish();
    experiment::write(common, &report, SAMPLES, Some(page::render))
}

/// Whether nothing would be measured: not every part supports every way.
fn is_empty<'n>(options: &Options, names: impl Iterator<Item = &'n CellName> + Clone) -> bool {
    let has_any = |part: &Part| match part {
        Part::Bytes | Part::Losses | Part::Times | Part::Datagrams => {
            names.clone().any(|name| name.part == *part)
        }
        Part::Work => {
            let of = |certificates: &Certificates| work::ways(&options.ways, *certificates);
            !options.certificates.iter().all(|it| of(it).is_empty())
        }
        Part::Hits | Part::Memory => true,
    };
    !options.parts.iter().any(has_any)
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
    fn repetitions(&self) -> usize {
        self.options.common.repetitions
    }

    fn computed(&self) -> usize {
        computed_of(self.repetitions())
    }

    fn expect<'n>(&mut self, names: impl Iterator<Item = &'n CellName>) {
        let repetitions = self.repetitions();
        let over_links: usize = names.map(|name| samples_of(name, repetitions)).sum();
        let asked = |part| usize::from(self.options.parts.contains(&part));
        let Options { ways, certificates, .. } = self.options;
        let ways: usize = certificates.iter().map(|it| work::ways(ways, *it).len()).sum();
        let work = asked(Part::Work) * ways * work::CHAINS.len();
        let hits = asked(Part::Hits) * (1 + hits::RATES.len());
        let rows = work + hits * certificates.len();
        self.screen.expect(over_links + rows * computed_of(repetitions));
    }

    /// Measures over links.
    fn cells(&mut self, names: &[CellName]) -> Result<(), LabError> {
        if let Some(first) = names.first() {
            self.begin::<Cell>(first.part)?;
        }
        for name in names {
            self.screen.now(name.part.name());
            self.make(name.certificates)?;
            self.results(
                |cell: &Cell| cell.name == *name,
                |_| 0,
                |this, there| {
                    let samples = there.iter().flat_map(|cell| &cell.samples);
                    samples.for_each(|_| this.screen.advance());
                    if there.is_empty() { Ok(vec![this.measure(name)?]) } else { Ok(Vec::new()) }
                },
            )?;
        }
        Ok(())
    }

    /// Measures handshakes over datagrams.
    fn datagrams(&mut self, names: &[CellName]) -> Result<(), LabError> {
        if names.is_empty() {
            return Ok(());
        }
        self.begin::<DatagramCell>(Part::Datagrams)?;
        self.report.datagrams_revision.clone_from(&self.report.revision);
        for name in names {
            self.make(name.certificates)?;
            let is_it = |cell: &DatagramCell| cell.name == *name;
            self.result(is_it, |this| {
                let (parties, samples) = this.of(name)?;
                let seed = this.options.common.parameters.seed;
                let advance = || this.screen.advance();
                let cell = datagrams::measure(name, parties, samples, seed, advance);
                Ok(vec![cell.map_err(|error| failed(name.key(), error))?])
            })?;
        }
        Ok(())
    }

    /// Begins the table of a kind of results.
    fn begin<T: Kind>(&mut self, part: Part) -> Result<(), LabError> {
        self.screen.now(part.name());
        self.screen.line(&terminal::head(&T::table()))
    }

    /// Takes the results that an earlier run had finished, measures those that are missing, and shows all of them in
    /// their order.
    fn results<T: Kind, P: Ord>(
        &mut self,
        is_it: impl Fn(&T) -> bool,
        place: impl Fn(&T) -> P,
        measure: impl FnOnce(&Self, &[T]) -> Result<Vec<T>, LabError>,
    ) -> Result<(), LabError> {
        let there = self.grid.finished().filter_map(T::of).filter(|it| is_it(it));
        let mut all: Vec<T> = there.cloned().collect();
        for result in measure(self, &all)? {
            self.grid.add(&result.finished())?;
            all.push(result);
        }
        all.sort_by_key(place);
        for result in all {
            T::list(&mut self.report).push(result.clone());
            self.screen.line(&terminal::row(&T::table(), &result.row(&self.report)))?;
        }
        Ok(())
    }

    /// The same for results that are measured at once.
    fn result<T: Kind>(
        &mut self,
        is_it: impl Fn(&T) -> bool,
        measure: impl FnOnce(&Self) -> Result<Vec<T>, LabError>,
    ) -> Result<(), LabError> {
        let measure = |this: &Self, there: &[T]| {
            if there.is_empty() { measure(this) } else { Ok(Vec::new()) }
        };
        self.results(is_it, |_| 0, measure)
    }

    fn measure(&self, name: &CellName) -> Result<Cell, LabError> {
        let (parties, samples) = self.of(name)?;
        let seed = self.options.common.parameters.seed;
        stage::measure(name, parties, samples, seed, || self.screen.advance())
            .map_err(|error| failed(name.key(), error))
    }

    /// Returns the certificates of a cell, and how many samples it has.
    fn of(&self, name: &CellName) -> Result<(&Parties, usize), LabError> {
        let parties = self.parties.get(&name.certificates);
        let parties = parties.ok_or_else(|| failed(name.key(), "there are no certificates"))?;
        Ok((parties, samples_of(name, self.repetitions())))
    }

    /// Makes certificates of a kind, if there are none.
    fn make(&mut self, certificates: Certificates) -> Result<(), LabError> {
        if self.parties.contains_key(&certificates) {
            return Ok(());
        }
        let parties = Parties::new(certificates, CHAIN)
            .map_err(|error| failed(certificates.to_string(), error))?;
        let lengths = |chain: &[Vec<u8>]| chain.iter().map(Vec::len).collect();
        let (client, server) = (lengths(&parties.client.chain), lengths(&parties.server.chain));
        self.report.chains.push(Chains { certificates, client, server });
        self.parties.insert(certificates, parties);
        Ok(())
    }
}

fn failed(what: String, error: impl std::fmt::Display) -> LabError {
    LabError::Connection(format!("{what}: {error}"))
}

/// Returns the kind of a link that the machine allows, by opening one.
fn link(common: &experiment::Options) -> Result<LinkKind, LabError> {
    let unavailable = |reason: &LinkError| {
        LabError::Connection(format!("{reason}; `--parts datagrams,work,hits` works without it"))
    };
    let link = open_link(common).map_err(|error| match error {
        LabError::Link(reason) => unavailable(&reason),
        other => other,
    })?;
    match link.fallback_reason() {
        Some(reason) => Err(unavailable(reason)),
        None => Ok(link.kind()),
    }
}

/// Rejects invalid options before the experiment begins.
fn check(options: &Options) -> Result<(), LabError> {
    experiment::check_resumable(&options.common, options.resume.as_deref())?;
    refuse_twice("--parts", &options.parts)?;
    if options.parts.contains(&Part::Memory) && !heap::IS_COUNTED {
        return Err(LabError::Options(format!("--parts memory: {}", heap::UNCOUNTED)));
    }
    refuse_twice("--ways", &options.ways)?;
    refuse_twice("--certificates", &options.certificates)?;
    refuse_twice("--mtu", &options.mtus)?;
    refuse_twice("--loss", &options.losses)?;
    let needs_a_link = options.parts.iter().any(|part| part.needs_a_link());
    if needs_a_link && options.common.link == LinkKind::Loopback {
        return Err(LabError::Options(
            "--link loopback: bytes and times need emulated links; leave it out, or measure \
             `--parts datagrams,work,hits`"
                .to_owned(),
        ));
    }
    Ok(())
}
