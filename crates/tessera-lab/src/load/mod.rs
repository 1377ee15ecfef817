//! The experiment `load`: many users that reconnect repeatedly, and all connections of a server that come back at once.

mod control;
pub mod endpoint;
pub(crate) mod finished;
mod grid;
mod growth;
mod histogram;
mod host;
mod kind;
mod measure;
mod message;
mod options;
pub(crate) mod report;
mod table;

use serde_json::json;

use self::grid::Plan;
pub(crate) use self::histogram::Histogram;
pub(crate) use self::kind::Kind;
use self::measure::{PlanResult, TestBed};
pub use self::options::Options;
use self::report::{Cell, Report, SkippedCell};
use crate::components::{self, Memory};
use crate::error::LabError;
use crate::experiment::{
    Journal, Run, Screen, check_resumable, is_one_time, open_link, refuse_twice, rtts,
    tell_how_to_go_on, write_json,
};
use crate::heap;
use crate::machine::{Machine, revision};

/// Runs the experiment.
///
/// Call it while the process has no other thread, as that of [`reconnect`](crate::reconnect::run).
///
/// # Errors
///
/// [`LabError::Options`] before anything is measured; the others when it can't go on.
pub fn run(options: &Options) -> Result<(), LabError> {
    let journal = options.resume.as_deref();
    refuse_twice("--users", &options.users)?;
    refuse_twice("--storms", &options.storms)?;
    let mut plans = Plan::all(options);
    if plans.is_empty() {
        return Err(LabError::Options(
            "--users, --storms, --modes, --rows: no cell is left to measure; the table names the rows, and \
             --rows takes parts of these names"
                .to_owned(),
        ));
    }
    let common = options.common();
    check_resumable(&common, journal)?;
    let link = open_link(&common)?;
    let possible = rtts(&common, link.kind(), link.fallback_reason())?;
    plans.retain(|plan| possible.contains(&plan.rtt));
    let (machine, kind) = (Machine::this(), link.kind().to_string());
    let settings = json!({ "reconnections": options.reconnections });
    let this_run = Run::of_this_program("load", options.seed, &kind, settings);
    let is_finished = |cell: &Cell| finished::check(cell, options.reconnections);
    tell_how_to_go_on(journal)?;
    let (mut journal, finished) = Journal::open(journal, &this_run, is_finished)?;

    let mut screen = Screen::new(&common);
    screen.line(&format!("seed {}; {machine}; link {kind}", options.seed))?;
    let memory = memory(&plans)?;
    let mut stand = TestBed::start(link)?;
    screen.expect(plans.len());

    let (mut cells, mut not_run) = (Vec::new(), Vec::new());
    for plans in plans.chunk_by(|a, b| a.rtt == b.rtt) {
        screen.line(&plans.first().map_or_else(String::new, |plan| table::head(plan.rtt_ms())))?;
        for plan in plans {
            screen.now(plan.variant.mode.name());
            let before = finished.iter().find(|cell| is_of(cell, plan));
            let measured = match before {
                Some(cell) => PlanResult::Cell(Box::new(cell.clone())),
                None => match stand.cell(plan, &common.parameters) {
                    // Both processes still run; the next cell starts over.
                    Err(LabError::Connection(reason)) => PlanResult::NotRun(reason),
                    Err(error @ LabError::Endpoint { .. }) => {
                        stand.restart()?;
                        PlanResult::NotRun(error.to_string())
                    }
                    measured => measured?,
                },
            };
            match measured {
                PlanResult::Cell(cell) => {
                    if before.is_none() {
                        journal.add(&cell)?;
                    }
                    screen.line(&table::cell(&cell))?;
                    cells.push(*cell);
                }
                PlanResult::NotRun(reason) => {
                    let Plan { variant, kind, users, .. } = *plan;
                    let cell = SkippedCell { variant, kind, users, rtt_ms: plan.rtt_ms(), reason };
                    screen.line(&table::not_run(&cell))?;
                    not_run.push(cell);
                }
            }
            screen.advance();
        }
    }
    let growth = report::growth(&cells);
    screen.line(&table::growth(&growth))?;
    screen.line(&table::memory(&memory))?;
    screen.line(table::LEGEND)?;
    screen.finish();

    let report = Report {
        experiment: "load".to_owned(),
        seed: options.seed,
        machine,
        revision: revision().map(str::to_owned),
        link: kind,
        cells,
        memory,
        growth,
        not_run,
    };
    write_json(&common, &report)?;
    match report.not_run.first() {
        Some(SkippedCell { reason, .. }) if report.cells.is_empty() => {
            Err(LabError::Connection(format!("no cell could be measured: {reason}")))
        }
        _ => Ok(()),
    }
}

/// Measures the memory of one connection of each variant, if the program measures its heap. It comes first, since the
/// experiment takes long and this may fail.
fn memory(plans: &[Plan]) -> Result<Vec<Memory>, LabError> {
    if !heap::IS_COUNTED {
        return Ok(Vec::new());
    }
    let mut variants: Vec<_> = plans.iter().map(|plan| plan.variant).collect();
    variants.dedup();
    let measured = variants.into_iter().map(components::measure);
    Ok(measured.collect::<Result<Vec<_>, _>>()?.concat())
}

/// Whether a cell that was measured is a planned one.
fn is_of(cell: &Cell, plan: &Plan) -> bool {
    let Cell { variant, kind, users, reconnections, rtt_ms, .. } = *cell;
    (variant, kind, users, reconnections)
        == (plan.variant, plan.kind, plan.users, plan.reconnections)
        && is_one_time(rtt_ms, plan.rtt_ms())
}
