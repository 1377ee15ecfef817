//! The experiment `sites`: two sites with one ring and two vaults, and what a client pays at the one
//! that did not issue its ticket.
//!
//! The sites are two servers of one process at one end of the link; the round-trip time between them
//! is slept in the channel that carries requests and acknowledgements.

pub(crate) mod report;
mod table;

use std::time::Duration;

use serde::Serialize;

use crate::control::{Acknowledges, Server, Told};
use crate::error::LabError;
use crate::experiment::{Agreement, Continuation, Mode, OneTimeKind, Way};
use crate::link::LinkParameters;
use crate::machine::Machine;
use crate::measure::Bench;
use crate::page;
use crate::reconnect::{self, Screen};
use crate::report::LinkReport;

/// How long a site waits for an acknowledgement, in round-trip times between the sites.
pub(crate) const PATIENCE_IN_RTTS: u32 = 3;

/// What to measure, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The round-trip times between the sites.
    pub site_rtts: Vec<Duration>,
    /// Also a site that says `burned` without having asked: the adversary has its flights executed
    /// twice.
    pub with_guessing_site: bool,
    /// Repetitions, the link of the client, and where the report goes; modes are not used.
    pub common: reconnect::Options,
}

/// A way to connect, and where to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Path {
    /// Forward-secret early data at the site that issued the ticket.
    Home,
    /// The same at the other site, which has the key burned at home.
    Away,
    /// The same, and home does not answer.
    AwayHomeSilent,
    /// No early data, at the other site.
    AwayPskDhe,
    /// Forward-secret early data at another site that does not ask. Wrong.
    AwayGuess,
}

impl Path {
    /// Those that are right.
    const SOUND: [Self; 4] = [Self::Home, Self::Away, Self::AwayHomeSilent, Self::AwayPskDhe];

    /// Its name in tables and reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Home => "home",
            Self::Away => "away",
            Self::AwayHomeSilent => "away-home-silent",
            Self::AwayPskDhe => "away-psk-dhe",
            Self::AwayGuess => "away-guess",
        }
    }

    /// How the client connects.
    pub(crate) fn way(self) -> Way {
        let kx = Some(Agreement::X25519);
        match self {
            Self::AwayPskDhe => {
                Way { mode: Mode::PskDhe, kx, ticket_key: None, continuation: None }
            }
            _ => Way {
                mode: Mode::ZeroRttFs,
                kx,
                ticket_key: Some(OneTimeKind::KeyPair(Agreement::X25519)),
                continuation: Some(Continuation::PskDheKe),
            },
        }
    }

    /// Where it connects to.
    pub(crate) fn server(self) -> Server {
        if self == Self::Home { Server::First } else { Server::OtherSite }
    }

    /// Who answers the other site.
    pub(crate) fn acknowledges(self) -> Acknowledges {
        match self {
            Self::AwayHomeSilent => Acknowledges::Nobody,
            Self::AwayGuess => Acknowledges::Guess,
            _ => Acknowledges::Home,
        }
    }

    /// What the client is to hear of its early data, where nobody attacks.
    pub(crate) fn told(self) -> Option<Told> {
        match self {
            Self::Home => Some(Told::Accepted),
            Self::Away | Self::AwayGuess => Some(Told::Burned),
            Self::AwayHomeSilent => Some(Told::Unknown),
            Self::AwayPskDhe => None,
        }
    }
}

/// Runs the experiment. Call it while the process has no other thread; see [`reconnect::run`].
///
/// # Errors
///
/// [`LabError::Options`] before anything is measured; the others when it can't go on.
pub fn run(options: &Options) -> Result<(), LabError> {
    let common = &options.common;
    reconnect::check(common)?;
    let link = reconnect::open_link(common)?;
    let rtts = reconnect::rtts(common, &link)?;
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
    reconnect::write(common, &report, page::sites::render)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_report() {
        for path in Path::SOUND.into_iter().chain([Path::AwayGuess]) {
            assert_eq!(serde_json::to_value(path).unwrap(), path.name());
        }
    }
}
