//! The experiment `sites`: two sites with one ring and two vaults, and the cost for a client at the one that did not
//! issue its ticket.
//!
//! The client and the sites are three processes on three nodes. Each link between two of them is emulated;
//! the one between the sites carries the channel of `tessera-sites`, requests and acknowledgements over
//! mutual TLS.

mod measure;
mod page;
mod path;
mod report;
mod sentences;
mod stage;
mod table;

use std::time::Duration;

use tessera_link::{LinkKind, LinkParameters, Network};

use self::path::Path;
use self::stage::Stage;
use crate::error::LabError;
use crate::experiment::{self, SAMPLES, Screen, link_report};
use crate::machine::this_machine;
use crate::table::terminal;

/// The options of the experiment.
#[derive(Clone, Debug)]
pub struct Options {
    /// The round-trip times between the sites; `None` for 20 ms, if links are emulated.
    pub site_rtts: Option<Vec<Duration>>,
    /// Adds a site that reports `burned` without asking: the adversary has its flights executed twice.
    pub with_guessing_site: bool,
    /// Repetitions, the client's link, and the output; modes are ignored.
    pub common: experiment::Options,
}

/// Runs the experiment.
///
/// Call it while the process has no other thread; see [`reconnect::run`](crate::reconnect::run).
///
/// # Errors
///
/// [`LabError::Options`] before anything is measured; the others when it can't go on.
pub fn run(options: &Options) -> Result<(), LabError> {
    let common = &options.common;
    experiment::check(common)?;
    check_site_rtts(options)?;
    let network = experiment::open_network(common)?;
    let rtts = experiment::rtts(common, network.kind(), network.fallback_reason())?;
    let site_rtts = site_rtts(options, &network)?;
    let machine = this_machine();
    let (seed, kind) = (common.parameters.seed, network.kind());
    let mut paths = Path::SOUND.to_vec();
    paths.extend(options.with_guessing_site.then_some(Path::AwayGuess));

    let mut screen = Screen::new(common);
    screen.line(&format!("seed {seed}; {machine}; link {kind}"))?;
    let mut stage = Stage::new(&network)?;
    screen.expect(rtts.len() * site_rtts.len() * paths.len() * common.repetitions);
    let mut rows = Vec::new();
    for rtt in rtts {
        let parameters = LinkParameters { rtt, ..common.parameters.clone() };
        let shown = table::paths(rtt.as_secs_f64() * 1e3);
        screen.line(&terminal::head(&shown))?;
        for site_rtt in &site_rtts {
            for path in &paths {
                screen.now(path.name());
                let repetitions = common.repetitions;
                let done = || screen.advance();
                let row = stage.row(*path, &parameters, *site_rtt, repetitions, done)?;
                screen.line(&terminal::row(&shown, &table::path(&row)))?;
                rows.push(row);
            }
        }
    }
    screen.line(&terminal::legend(table::LEGEND))?;
    screen.finish();

    let link = link_report(kind, &common.parameters);
    let report = report::Report {
        experiment: "sites",
        seed,
        machine,
        link,
        between_sites: report::between_sites(kind),
        rows,
    };
    experiment::write(common, &report, SAMPLES, Some(page::render))
}

/// Refuses distances that no loopback link has.
fn check_site_rtts(options: &Options) -> Result<(), LabError> {
    let emulated = options.site_rtts.iter().flatten().any(|rtt| !rtt.is_zero());
    if emulated && options.common.link == LinkKind::Loopback {
        return Err(LabError::Options(
            "--site-rtt: a loopback link has no round-trip time to choose; set `--site-rtt 0`, or leave out `--link \
             loopback`"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Returns the round-trip times between the sites to measure at.
fn site_rtts(options: &Options, network: &Network) -> Result<Vec<Duration>, LabError> {
    const DEFAULT: Duration = Duration::from_millis(20);
    let emulates = network.kind() == LinkKind::Tun;
    let Some(asked) = &options.site_rtts else {
        return Ok(vec![if emulates { DEFAULT } else { Duration::ZERO }]);
    };
    let possible: Vec<_> = asked.iter().copied().filter(|rtt| emulates || rtt.is_zero()).collect();
    match network.fallback_reason() {
        Some(reason) if possible.is_empty() => Err(experiment::nothing_possible(reason)),
        _ => Ok(possible),
    }
}
