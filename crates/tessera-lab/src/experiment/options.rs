//! The options of every experiment, and which of them the machine supports.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use tessera_link::{
    Congestion, Link, LinkError, LinkKind, LinkParameters, Network, enter_user_namespace_if_needed,
};
use tessera_reports::Mode;

use super::files::is_one_file;
use super::report::Destination;
use crate::error::{LabError, link_words, words};

/// The options of an experiment.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many connections of each row are measured.
    pub repetitions: usize,
    /// The round-trip times; `None` for those of [`Options::DEFAULT_RTTS`] that the link supports.
    pub rtts: Option<Vec<Duration>>,
    /// How the link is made.
    pub link: LinkKind,
    /// The other parameters of the link; the round-trip time in them is ignored.
    pub parameters: LinkParameters,
    /// The modes to measure.
    pub modes: Vec<Mode>,
    /// Each mode once more with TCP Fast Open, which only emulated links have.
    pub fast_open: bool,
    /// Where the report goes as JSON, if it goes anywhere.
    pub json: Option<Destination>,
    /// Where it goes as a page for browsers.
    pub page: Option<Destination>,
}

impl Options {
    /// The same machine, and across a continent.
    pub const DEFAULT_RTTS: [Duration; 2] = [Duration::ZERO, Duration::from_millis(33)];
}

/// Rejects invalid options before the experiment begins.
pub(crate) fn check(options: &Options) -> Result<(), LabError> {
    check_resumable(options, None)
}

/// The same of an experiment that may have a journal.
pub(crate) fn check_resumable(options: &Options, journal: Option<&Path>) -> Result<(), LabError> {
    check_parameters(options)?;
    let emulated = options.rtts.iter().flatten().any(|rtt| !rtt.is_zero());
    if options.link == LinkKind::Loopback {
        if options.fast_open {
            return Err(LabError::Options(
                "--tcp-fast-open: the machine's own loopback interface keeps the machine's settings; leave \
                 out `--link loopback`"
                    .to_owned(),
            ));
        }
        if emulated {
            return Err(LabError::Options(
                "--rtt: a loopback link has no round-trip time to choose; set `--rtt 0`, or leave \
                 out `--link loopback`"
                    .to_owned(),
            ));
        }
        if !options.parameters.is_plain() {
            return Err(LabError::Options(
                "--loss, --congestion, --jitter, --rate, --mtu: a loopback link emulates nothing; leave \
                 them out, or leave out `--link loopback`"
                    .to_owned(),
            ));
        }
    }
    if options.json == Some(Destination::StandardOutput) && options.json == options.page {
        return Err(LabError::Options(
            "--json, --report: both cannot go to standard output; name a file for one".to_owned(),
        ));
    }
    check_files(options, journal)?;
    check_destination("--json", options.json.as_ref())?;
    check_destination("--report", options.page.as_ref())
}

/// Rejects two names of one file: only the last output would remain, and of a journal not even that.
fn check_files(options: &Options, journal: Option<&Path>) -> Result<(), LabError> {
    let file = |destination: &Option<Destination>| match destination {
        Some(Destination::File(path)) => Some(path.clone()),
        _ => None,
    };
    let files = [
        ("--resume", journal.map(Path::to_owned)),
        ("--json", file(&options.json)),
        ("--report", file(&options.page)),
    ];
    for (index, (option, path)) in files.iter().enumerate() {
        for (earlier, other) in &files[..index] {
            let (Some(path), Some(other)) = (path, other) else { continue };
            if is_one_file(path, other) {
                let path = path.display();
                return Err(LabError::Options(format!(
                    "{earlier}, {option}: both name the file {path}; name another for one"
                )));
            }
        }
    }
    Ok(())
}

/// Rejects a list with duplicates: they would be measured twice, and be found twice.
pub(crate) fn refuse_twice<T: PartialEq + fmt::Debug>(
    option: &str,
    values: &[T],
) -> Result<(), LabError> {
    let twice = values.iter().enumerate().find(|(index, value)| values[..*index].contains(value));
    match twice {
        Some((_, value)) => {
            Err(LabError::Options(format!("{option}: {value:?} occurs twice; leave one out")))
        }
        None => Ok(()),
    }
}

/// Rejects parameters that are contradictory for any link.
fn check_parameters(options: &Options) -> Result<(), LabError> {
    let LinkParameters { loss, loss_burst, congestion, .. } = options.parameters;
    let refused = |what: String| Err(LabError::Options(what));
    if options.parameters.loses_in_bursts() {
        if loss == 0.0 || loss == 1.0 {
            let lost = if loss == 0.0 { "nothing" } else { "everything" };
            return refused(format!(
                "--loss-burst: if {lost} is lost there are no bursts; set `--loss 1%`, or leave \
                 --loss-burst out"
            ));
        }
        let least = 1.0 / (1.0 - loss);
        if loss_burst < least {
            return refused(format!(
                "--loss-burst: with --loss {loss} independent losses already come {least:.2} in a row; set more, or \
                 leave --loss-burst out"
            ));
        }
    }
    let no_distance = |rtts: &[Duration]| rtts.iter().all(Duration::is_zero);
    if matches!(congestion, Congestion::Share(_))
        && options.rtts.as_deref().is_some_and(no_distance)
    {
        return refused(
            "--congestion: a share of a round-trip time of 0 is nothing; set a time, such as \
             `--congestion 2ms`, or another --rtt"
                .to_owned(),
        );
    }
    Ok(())
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

/// Opens a plain link; rows set their parameters.
pub(crate) fn open_link(options: &Options) -> Result<Link, LabError> {
    become_able(options)?;
    Ok(Link::open(options.link, &LinkParameters::default())?)
}

/// Returns a network for several such links.
pub(crate) fn open_network(options: &Options) -> Result<Network, LabError> {
    become_able(options)?;
    Ok(Network::open(options.link)?)
}

/// Obtains the rights that links need.
fn become_able(options: &Options) -> Result<(), LabError> {
    if options.link != LinkKind::Loopback {
        match enter_user_namespace_if_needed() {
            Err(error) if options.link == LinkKind::Tun => return Err(error.into()),
            // An automatic link finds the same, and falls back.
            _ => (),
        }
    }
    Ok(())
}

/// Returns the round-trip times to measure at: all requested ones, if links of this kind, which may have a reason,
/// emulate them.
pub(crate) fn rtts(
    options: &Options,
    kind: LinkKind,
    reason: Option<&LinkError>,
) -> Result<Vec<Duration>, LabError> {
    let wanted = options.rtts.clone().unwrap_or_else(|| Options::DEFAULT_RTTS.to_vec());
    if kind == LinkKind::Tun {
        return Ok(wanted);
    }
    let possible: Vec<_> = wanted.iter().copied().filter(Duration::is_zero).collect();
    if let Some(reason) = reason {
        if possible.is_empty() || !options.parameters.is_plain() || options.fast_open {
            return Err(nothing_possible(reason));
        }
        let reason = link_words(reason);
        // Printed before the results, so that they are not mistaken for others.
        eprintln!("{reason}.\nThis run is on loopback: rows with a round-trip time are left out.");
    } else if options.rtts.is_none() {
        eprintln!("On loopback only rows without a round-trip time can be measured.");
    }
    Ok(possible)
}

/// On links that emulate nothing, for this reason, none of the rows can be measured.
pub(crate) fn nothing_possible(reason: &LinkError) -> LabError {
    let reason = link_words(reason);
    LabError::Connection(format!("{reason}.\nNothing that was requested can be measured there."))
}
