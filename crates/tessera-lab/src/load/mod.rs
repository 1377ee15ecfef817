//! The experiment `load`: many users that reconnect repeatedly, and all connections of a server that come back at once.

mod control;
pub mod endpoint;
pub(crate) mod finished;
mod grid;
mod growth;
mod histogram;
mod host;
mod measure;
mod message;
mod options;
pub(crate) mod report;
pub(crate) mod storms;
pub(crate) mod table;

use serde_json::json;
use tessera_reports::Variant;

use self::grid::Plan;
pub(crate) use self::histogram::Histogram;
use self::measure::{PlanResult, TestBed};
pub use self::options::Options;
use self::report::{Cell, Report, SkippedCell};
use crate::components::{self, Memory};
use crate::error::LabError;
use crate::experiment::{
    Grid, Run, SAMPLES, Screen, check_resumable, is_one_time, open_link, refuse_twice, rtts, write,
};
use crate::heap;
use crate::machine::{revision, this_machine};
use crate::table::{Table, terminal};

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
    let (machine, kind) = (this_machine(), link.kind().to_string());
    let settings = json!({ "reconnections": options.reconnections });
    let this_run = Run::of_this_program("load", options.seed, &kind, settings);
    let is_finished = |cell: &Cell| finished::check(cell, options.reconnections);
    let mut grid = Grid::open(journal, &this_run, is_finished)?;

    let mut screen = Screen::new(&common);
    screen.line(&format!("seed {}; {machine}; link {kind}", options.seed))?;
    let memory = memory(&plans)?;
    let mut stand = TestBed::start(link)?;
    screen.expect(plans.len());

    let (mut cells, mut not_run) = (Vec::new(), Vec::new());
    for plans in plans.chunk_by(|a, b| a.rtt == b.rtt) {
        let shown = table::cells(plans.first().map_or(0.0, Plan::rtt_ms));
        screen.line(&terminal::head(&shown))?;
        for plan in plans {
            screen.now(plan.variant.mode.name());
            let before = grid.finished().find(|cell| is_of(cell, plan)).cloned();
            let is_new = before.is_none();
            let measured = match before {
                Some(cell) => PlanResult::Cell(Box::new(cell)),
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
                    if is_new {
                        grid.add(&cell)?;
                    }
                    screen.line(&terminal::row(&shown, &table::cell(&cell)))?;
                    table::failures(&cell).iter().try_for_each(|line| screen.line(line))?;
                    cells.push(*cell);
                }
                PlanResult::NotRun(reason) => {
                    let Plan { variant, kind, users, round, .. } = *plan;
                    let rtt_ms = plan.rtt_ms();
                    let cell =
                        SkippedCell { variant, kind, users, round: Some(round), rtt_ms, reason };
                    let name = terminal::name(&shown, &table::name(&variant, kind, users, round));
                    screen.line(&format!("{name} not run: {}", cell.reason))?;
                    not_run.push(cell);
                }
            }
            screen.advance();
        }
    }
    let growth = report::growth(&cells);
    let storms = storms::summaries(&cells);
    let conclusions = [table::growth(&growth), table::storms(&storms), table::memory(&memory)];
    for table in conclusions.into_iter().filter_map(Table::unless_empty) {
        screen.line(&terminal::table(&table))?;
    }
    screen.line(&terminal::legend(table::LEGEND))?;
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
        storms,
        not_run,
    };
    write(&common, &report, SAMPLES, None)?;
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
    let mut rows: Vec<Variant> = Vec::new();
    for plan in plans {
        if !rows.contains(&plan.variant) {
            rows.push(plan.variant);
        }
    }
    let measured = rows.into_iter().map(components::measure);
    Ok(measured.collect::<Result<Vec<_>, _>>()?.concat())
}

/// Whether a cell that was measured is a planned one.
fn is_of(cell: &Cell, plan: &Plan) -> bool {
    let Cell { variant, kind, users, round, reconnections, rtt_ms, .. } = *cell;
    (variant, kind, users, round, reconnections)
        == (plan.variant, plan.kind, plan.users, plan.round, plan.reconnections)
        && is_one_time(rtt_ms, plan.rtt_ms())
}
