//! The experiment `sites`: two sites with one ring and two vaults, and what a client pays at the one
//! that did not issue its ticket.
//!
//! The sites are two servers of one process at one end of the link; the round-trip time between them
//! is slept in the channel that carries requests and acknowledgements.

mod measure;
mod page;
mod path;
mod report;
mod table;

use std::time::Duration;

use tessera_link::LinkParameters;

use self::path::Path;
use crate::bench::Bench;
use crate::error::LabError;
use crate::experiment::{self, LinkReport, Screen};
use crate::machine::Machine;

/// What to measure, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The round-trip times between the sites.
    pub site_rtts: Vec<Duration>,
    /// Also a site that says `burned` without having asked: the adversary has its flights executed
    /// twice.
    pub with_guessing_site: bool,
    /// Repetitions, the link of the client, and where the report goes; modes are not used.
    pub common: experiment::Options,
}

/// Runs the experiment. Call it while the process has no other thread; see [`reconnect::run`](crate::reconnect::run).
///
/// # Errors
///
/// [`LabError::Options`] before anything is measured; the others when it can't go on.
pub fn run(options: &Options) -> Result<(), LabError> {
    let common = &options.common;
    experiment::check(common)?;
    let link = experiment::open_link(common)?;
    let rtts = experiment::rtts(common, &link)?;
    let machine = Machine::this();
    let (seed, kind) = (common.parameters.seed, link.kind());
    let mut paths = Path::SOUND.to_vec();
    paths.extend(options.with_guessing_site.then_some(Path::AwayGuess));

    let mut screen = Screen::new(common);
    screen.line(&format!("seed {seed}; {machine}; link {kind}"))?;
    let mut bench = Bench::start(link)?;
    screen.expect(rtts.len() * options.site_rtts.len() * paths.len() * common.repetitions);
    let mut rows = Vec::new();
    for rtt in rtts {
        let parameters = LinkParameters { rtt, ..common.parameters.clone() };
        for site_rtt in &options.site_rtts {
            screen.line(&table::head(rtt, *site_rtt))?;
            for path in &paths {
                screen.now(path.name());
                let repetitions = common.repetitions;
                let done = || screen.advance();
                let row = bench.site_row(*path, &parameters, *site_rtt, repetitions, done)?;
                screen.line(&table::row(&row))?;
                rows.push(row);
            }
        }
    }
    screen.line(table::LEGEND)?;
    screen.finish();

    let link = LinkReport::new(kind, &common.parameters);
    let report = report::Report {
        experiment: "sites",
        seed,
        machine,
        link,
        between_sites: report::BETWEEN_SITES,
        rows,
    };
    experiment::write(common, &report, page::render)
}
