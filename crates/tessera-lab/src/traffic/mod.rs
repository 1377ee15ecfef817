//! The experiment `traffic`: what sizes and times of records reveal to an observer on the path, without keys, about the
//! way in which a connection was made; with and without padding.
//!
//! ```text
//!   client ──┬──────────── emulated link ──────────── server      one registration a connection
//!            └ observer: packets ─▶ records ─▶ numbers ─▶ tree ─▶ option?
//! ```
//!
//! Both ends are threads of this process, and connect over the kernel's TCP. The observer has a packet
//! socket at the client's end.

pub(crate) mod evaluate;
mod features;
pub(crate) mod finished;
mod measure;
mod page;
mod random;
mod records;
mod registration;
pub(crate) mod report;
#[cfg(test)]
mod samples;
mod stage;
pub(crate) mod table;
mod tree;
mod watched_connection;

use std::num::NonZeroU16;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use tessera_link::{LinkKind, LinkParameters};
use tessera_reports::Letter;

use self::finished::Cell;
use self::report::{Features, Report};
use self::stage::Stage;
use crate::error::LabError;
use crate::experiment::{self, Grid, ROWS, Run, Screen, is_one_time, link_report, refuse_twice};
use crate::machine::this_machine;
use crate::table::terminal;

/// The options of the experiment.
#[derive(Clone, Debug)]
pub struct Options {
    /// To multiples of how many bytes both ends pad their records; `None`: not at all.
    pub paddings: Vec<Option<NonZeroU16>>,
    /// The journal of the flows of each round-trip time and padding, to continue after an interruption.
    pub resume: Option<PathBuf>,
    /// The link, the number of connections recorded per option, and the output; modes are ignored.
    pub common: experiment::Options,
}

/// Runs the experiment.
///
/// Call it while the process has no other thread; see [`reconnect::run`](crate::reconnect::run).
///
/// # Errors
///
/// [`LabError::Options`] before anything is recorded; the others when it can't go on.
pub fn run(options: &Options) -> Result<(), LabError> {
    let common = &options.common;
    check(options)?;
    let link = experiment::open_link(common)?;
    let kind = link.kind();
    if let Some(reason) = link.fallback_reason() {
        return Err(experiment::nothing_possible(reason));
    }
    let rtts = experiment::rtts(common, kind, None)?;
    let machine = this_machine();
    let seed = common.parameters.seed;
    let of_link = LinkParameters { rtt: Duration::ZERO, ..common.parameters.clone() };
    let settings = json!({ "repetitions": common.repetitions, "link": format!("{of_link:?}") });
    let run = Run::of_this_program("traffic", seed, kind, settings);
    let is_finished = |cell: &Cell| finished::check(cell, common.repetitions);
    let mut grid = Grid::open(options.resume.as_deref(), &run, is_finished)?;

    let mut screen = Screen::new(common);
    screen.line(&format!("seed {seed}; {machine}; link {kind}"))?;
    let mut stage = Stage::new(link)?;
    let connections = Letter::ALL.len() * common.repetitions;
    screen.expect(rtts.len() * options.paddings.len() * connections);
    let mut flows = Vec::new();
    for rtt in rtts {
        let parameters = LinkParameters { rtt, ..common.parameters.clone() };
        let rtt_ms = rtt.as_secs_f64() * 1e3;
        for padding in options.paddings.iter().copied() {
            let bytes = padding.map(NonZeroU16::get);
            let is_this = |cell: &&Cell| is_one_time(cell.rtt_ms, rtt_ms) && cell.padding == bytes;
            if let Some(cell) = grid.finished().find(is_this) {
                (0..connections).for_each(|_| screen.advance());
                flows.extend(cell.flows.iter().cloned());
                continue;
            }
            let recorded = stage.cell(padding, &parameters, common.repetitions, &screen)?;
            let cell = Cell { rtt_ms, padding: bytes, flows: recorded };
            grid.add(&cell)?;
            flows.extend(cell.flows);
        }
    }
    screen.now("classifying");
    let confusion = evaluate::confusion(&flows, seed);
    let costs = evaluate::costs(&flows);
    screen.line(&terminal::table(&table::accuracies(&confusion)))?;
    for told in confusion.tables.iter().filter(|told| told.features == Features::Both) {
        screen.line(&terminal::table(&table::confusion(told)))?;
    }
    screen.line(&terminal::table(&table::costs(&costs)))?;
    screen.line(&terminal::legend(table::LEGEND))?;
    screen.finish();

    let experiment = "traffic".to_owned();
    let link = link_report(kind, &common.parameters);
    let report = Report { experiment, seed, machine, link, flows, confusion, costs };
    experiment::write(common, &report, ROWS, Some(page::render))
}

/// Rejects invalid options before the experiment begins.
fn check(options: &Options) -> Result<(), LabError> {
    experiment::check_resumable(&options.common, options.resume.as_deref())?;
    refuse_twice("--rtt", options.common.rtts.as_deref().unwrap_or_default())?;
    if options.common.link == LinkKind::Loopback {
        return Err(LabError::Options(
            "--link loopback: an observer sees everything that passes there, and this experiment needs its own \
             connections alone; leave it out"
                .to_owned(),
        ));
    }
    if options.common.repetitions < 2 {
        return Err(LabError::Options(
            "--repetitions: a classifier learns from some connections and is judged by others; set at least 2"
                .to_owned(),
        ));
    }
    Ok(())
}
