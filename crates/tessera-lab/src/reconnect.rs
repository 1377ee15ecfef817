//! The experiment `reconnect`: what each way of connecting again costs, and what it protects.

use std::io::{self, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::error::{LabError, words};
use crate::experiment::{Mode, Way};
use crate::link::{Link, LinkKind, LinkParameters, enter_user_namespace_if_needed};
use crate::machine::Machine;
use crate::measure::Bench;
pub use crate::report::Destination;
use crate::report::{LinkReport, Report, json};
use crate::{page, table};

/// What to measure, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many connections of each row count.
    pub repetitions: usize,
    /// The round-trip times; `None` for what the link can do of [`Options::DEFAULT_RTTS`].
    pub rtts: Option<Vec<Duration>>,
    /// How the link is made.
    pub link: LinkKind,
    /// Everything else about the link; its round-trip time is not used.
    pub parameters: LinkParameters,
    /// The modes to measure.
    pub modes: Vec<Mode>,
    /// Where the report goes as JSON, if it goes anywhere.
    pub json: Option<Destination>,
    /// Where it goes as a page for browsers.
    pub page: Option<Destination>,
}

impl Options {
    /// The same machine, and across a continent.
    pub const DEFAULT_RTTS: [Duration; 2] = [Duration::ZERO, Duration::from_millis(33)];
}

/// Runs the experiment. Call it while the process has no other thread: as another user than root
/// it enters a user namespace, which the kernel refuses to processes with several.
///
/// # Errors
///
/// [`LabError::Options`] before anything is measured; the others when it can't go on.
pub fn run(options: &Options) -> Result<(), LabError> {
    check(options)?;
    let link = open_link(options)?;
    let rtts = rtts(options, &link)?;
    let machine = Machine::this();
    let seed = options.parameters.seed;

    let mut screen = Screen::new(options);
    screen.line(&format!("seed {seed}; {machine}; link {}", link.kind()))?;
    let kind = link.kind();
    let mut bench = Bench::start(link)?;
    let ways = Way::all(&options.modes);
    screen.expect(rtts.len() * ways.len() * options.repetitions);

    let mut rows = Vec::new();
    for rtt in rtts {
        let parameters = LinkParameters { rtt, ..options.parameters.clone() };
        screen.line(&table::head(rtt.as_secs_f64() * 1e3))?;
        for way in &ways {
            screen.now(way.mode.name());
            let row = bench.row(*way, &parameters, options.repetitions, || screen.advance())?;
            screen.line(&table::costs(&row))?;
            rows.push(row);
        }
    }
    screen.line(&table::verdicts(&rows))?;
    screen.line(table::LEGEND)?;
    screen.finish();

    let link = LinkReport::new(kind, &options.parameters);
    let report = Report { experiment: "reconnect", seed, machine, link, rows };
    write(options, &report, page::reconnect::render)
}

/// Writes a report to where the options want it.
pub(crate) fn write<R: Serialize>(
    options: &Options,
    report: &R,
    page: fn(&R) -> serde_json::Result<String>,
) -> Result<(), LabError> {
    let write = || {
        if let Some(destination) = &options.json {
            destination.write(&json(report)?)?;
        }
        if let Some(destination) = &options.page {
            destination.write(page(report)?.as_bytes())?;
        }
        Ok(())
    };
    write().map_err(LabError::system("writing the report"))
}

/// Refuses what can be refused before anything has begun.
pub(crate) fn check(options: &Options) -> Result<(), LabError> {
    let emulated = options.rtts.iter().flatten().any(|rtt| !rtt.is_zero());
    if options.link == LinkKind::Loopback {
        if emulated {
            return Err(LabError::Options(
                "--rtt: a loopback link has no round-trip time to choose; say `--rtt 0`, or leave \
                 out `--link loopback`"
                    .to_owned(),
            ));
        }
        if !options.parameters.is_plain() {
            return Err(LabError::Options(
                "--loss, --jitter, --rate, --mtu: a loopback link emulates nothing; leave them \
                 out, or leave out `--link loopback`"
                    .to_owned(),
            ));
        }
    }
    if options.json == Some(Destination::StandardOutput) && options.json == options.page {
        return Err(LabError::Options(
            "--json, --report: both cannot go to standard output; name a file for one".to_owned(),
        ));
    }
    check_destination("--json", options.json.as_ref())?;
    check_destination("--report", options.page.as_ref())
}

fn check_destination(option: &str, destination: Option<&Destination>) -> Result<(), LabError> {
    let Some(destination) = destination else { return Ok(()) };
    destination.check().map_err(|error| {
        let name = match destination {
            Destination::File(path) => path.display().to_string(),
            Destination::StandardOutput => "-".to_owned(),
        };
        LabError::Options(format!(
            "{option}: cannot write {name} ({reason}); name a file in a directory that exists and \
             that you may write to, or `-` for standard output",
            reason = words(&error),
        ))
    })
}

/// A plain link; rows set it to what they need.
pub(crate) fn open_link(options: &Options) -> Result<Link, LabError> {
    if options.link != LinkKind::Loopback {
        match enter_user_namespace_if_needed() {
            Err(error) if options.link == LinkKind::Tun => return Err(error.into()),
            // An automatic link finds the same out, and does without.
            _ => (),
        }
    }
    Ok(Link::open(options.link, &LinkParameters::default())?)
}

/// The round-trip times to measure at: all that were asked for, where the link emulates them.
pub(crate) fn rtts(options: &Options, link: &Link) -> Result<Vec<Duration>, LabError> {
    let wanted = options.rtts.clone().unwrap_or_else(|| Options::DEFAULT_RTTS.to_vec());
    if link.emulates() {
        return Ok(wanted);
    }
    let possible: Vec<_> = wanted.iter().copied().filter(Duration::is_zero).collect();
    if let Some(reason) = link.fallback_reason() {
        if possible.is_empty() || !options.parameters.is_plain() {
            return Err(LabError::Connection(format!(
                "{reason}.\nNothing of what was asked for can be measured there."
            )));
        }
        // Said before the results, so that nobody takes them for others.
        eprintln!("{reason}.\nThis run is on loopback: rows with a round-trip time are left out.");
    } else if options.rtts.is_none() {
        eprintln!("On loopback only rows without a round-trip time can be measured.");
    }
    Ok(possible)
}

/// Where the table and the progress bar go.
pub(crate) struct Screen {
    /// Standard output is for the report.
    on_stderr: bool,
    bar: ProgressBar,
}

impl Screen {
    pub(crate) fn new(options: &Options) -> Self {
        let on_stderr = [&options.json, &options.page]
            .into_iter()
            .flatten()
            .any(|destination| *destination == Destination::StandardOutput);
        Self { on_stderr, bar: ProgressBar::hidden() }
    }

    /// Starts the progress bar, of so many repetitions. It shows only on a terminal.
    pub(crate) fn expect(&mut self, repetitions: usize) {
        self.bar = ProgressBar::new(repetitions as u64);
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}, {eta} left");
        self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    }

    pub(crate) fn now(&self, what: &'static str) {
        self.bar.set_message(what);
    }

    pub(crate) fn advance(&self) {
        self.bar.inc(1);
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    pub(crate) fn line(&self, text: &str) -> Result<(), LabError> {
        let written = self.bar.suspend(|| {
            if self.on_stderr {
                writeln!(io::stderr(), "{text}")
            } else {
                let mut out = io::stdout().lock();
                writeln!(out, "{text}").and_then(|()| out.flush())
            }
        });
        written.map_err(LabError::system("writing the table"))
    }
}
