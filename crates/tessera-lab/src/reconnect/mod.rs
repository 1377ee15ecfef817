//! The experiment `reconnect`: the cost and the protection of each way of reconnecting.

mod answer;
mod measure;
mod page;
mod report;
mod sentences;
mod table;

use tessera_link::LinkParameters;

use self::report::Report;
use crate::bench::Bench;
use crate::error::LabError;
use crate::experiment::{Options, SAMPLES, Screen, check, link_report, open_link, rtts, write};
use crate::machine::this_machine;
use crate::table::terminal;
use crate::ways::Way;

/// Runs the experiment.
///
/// Call it while the process has no other thread: as another user than root it enters a user namespace, which the
/// kernel refuses to processes with several.
///
/// # Errors
///
/// [`LabError::Options`] before anything is measured; the others when it can't go on.
pub fn run(options: &Options) -> Result<(), LabError> {
    check(options)?;
    let link = open_link(options)?;
    let rtts = rtts(options, link.kind(), link.fallback_reason())?;
    let machine = this_machine();
    let seed = options.parameters.seed;

    let mut screen = Screen::new(options);
    screen.line(&format!("seed {seed}; {machine}; link {}", link.kind()))?;
    let kind = link.kind();
    let mut bench = Bench::start(link)?;
    let mut ways = Way::all(&options.modes);
    if options.fast_open {
        bench.allow_fast_open()?;
        ways = ways.into_iter().flat_map(|way| [way, way.in_syn()]).collect();
    }
    screen.expect(rtts.len() * ways.len() * options.repetitions);

    let mut rows = Vec::new();
    for rtt in rtts {
        let parameters = LinkParameters { rtt, ..options.parameters.clone() };
        let costs = table::costs(rtt.as_secs_f64() * 1e3);
        screen.line(&terminal::head(&costs))?;
        for way in &ways {
            screen.now(way.mode.name());
            let row = bench.row(*way, &parameters, options.repetitions, || screen.advance())?;
            screen.line(&terminal::row(&costs, &table::cost(&row)))?;
            rows.push(row);
        }
    }
    screen.line(&terminal::table(&table::verdicts(&rows)))?;
    screen.line(&terminal::legend(table::LEGEND))?;
    screen.finish();

    let link = link_report(kind, &options.parameters);
    let report = Report { experiment: "reconnect", seed, machine, link, rows };
    write(options, &report, SAMPLES, Some(page::render))
}
