//! The experiment `load`: many users who connect again and again, and all connections of a server that come
//! back at once.

mod control;
pub mod endpoint;
mod grid;
mod growth;
mod histogram;
mod host;
mod measure;
mod options;
mod registration;
mod report;
mod table;

use tessera_link::LinkParameters;

use self::grid::{Plan, Row};
use self::measure::{Measured, Stand};
pub use self::options::Options;
use self::report::{NotRun, Report};
use crate::error::LabError;
use crate::experiment::{Screen, check, open_link, rtts, write_json};
use crate::machine::Machine;

/// Runs the experiment. Call it while the process has no other thread, as that of
/// [`reconnect`](crate::reconnect::run).
///
/// # Errors
///
/// [`LabError::Options`] before anything is measured; the others when it can't go on.
pub fn run(options: &Options) -> Result<(), LabError> {
    let plans = Plan::all(options);
    if plans.is_empty() {
        return Err(LabError::Options(
            "--users, --storms, --modes, --rows: no cell is left to measure".to_owned(),
        ));
    }
    let common = options.common();
    check(&common)?;
    let link = open_link(&common)?;
    let rtts = rtts(&common, link.kind(), link.fallback_reason())?;
    let (machine, kind) = (Machine::this(), link.kind().to_string());
    let mut screen = Screen::new(&common);
    screen.line(&format!("seed {}; {machine}; link {kind}", options.seed))?;
    let mut stand = Stand::start(link)?;
    screen.expect(rtts.len() * plans.len());

    let (mut cells, mut not_run) = (Vec::new(), Vec::new());
    for rtt in rtts {
        let parameters = LinkParameters { rtt, ..common.parameters.clone() };
        let rtt_ms = rtt.as_secs_f64() * 1e3;
        screen.line(&table::head(rtt_ms))?;
        for plan in &plans {
            screen.now(plan.way.mode.name());
            match stand.cell(plan, &parameters)? {
                Measured::Cell(cell) => {
                    screen.line(&table::cell(&cell))?;
                    cells.push(*cell);
                }
                Measured::NotRun(reason) => {
                    let (row, kind, users) = (Row::of(plan.way), plan.kind, plan.users);
                    let cell = NotRun { row, kind, users, rtt_ms, reason };
                    screen.line(&table::not_run(&cell))?;
                    not_run.push(cell);
                }
            }
            screen.advance();
        }
    }
    let growth = report::growth(&cells);
    screen.line(&table::growth(&growth))?;
    screen.line(table::LEGEND)?;
    screen.finish();

    let (experiment, seed) = ("load", options.seed);
    let report =
        Report { experiment, seed, machine, revision: None, link: kind, cells, growth, not_run };
    write_json(&common, &report)
}
