//! The ways to connect to two sites.

use std::time::Duration;

use serde::Serialize;
use tessera_reports::{Continuation, KeyExchange, Mode, OneTimeKey};

use crate::control::{AcknowledgementMode, EarlyDataOutcome};
use crate::ways::Way;

/// How long a site waits for an acknowledgement, in round-trip times between the sites.
pub(crate) const PATIENCE_IN_RTTS: u32 = 3;

/// The minimum, in milliseconds: a busy machine is slow, and not a silent home.
pub(crate) const LEAST_PATIENCE_MS: u64 = 200;

/// Returns how long a site waits for an acknowledgement, with this round-trip time between the sites.
pub(crate) fn patience(site_rtt: Duration) -> Duration {
    (site_rtt * PATIENCE_IN_RTTS).max(Duration::from_millis(LEAST_PATIENCE_MS))
}

/// One of the sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SiteKind {
    /// The one that issues the tickets.
    Home,
    /// The other one.
    Away,
}

/// A way to connect, and the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Path {
    /// Forward-secret early data at the site that issued the ticket.
    Home,
    /// The same at the other site, which has the key burned at home.
    Away,
    /// The same, with home's process stopped: its connection is open, but it doesn't answer.
    AwayHomeSilent,
    /// No early data, at the other site.
    AwayPskDhe,
    /// Forward-secret early data at another site that does not ask. Wrong.
    AwayGuess,
}

impl Path {
    /// The correct paths.
    pub(crate) const SOUND: [Self; 4] =
        [Self::Home, Self::Away, Self::AwayHomeSilent, Self::AwayPskDhe];

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

    /// Returns how the client connects.
    pub(crate) fn way(self) -> Way {
        let kx = Some(KeyExchange::X25519);
        match self {
            Self::AwayPskDhe => Way {
                mode: Mode::PskDhe,
                kx,
                ticket_key: None,
                continuation: None,
                fast_open: false,
            },
            _ => Way {
                mode: Mode::ZeroRttFs,
                kx,
                ticket_key: Some(OneTimeKey::X25519),
                continuation: Some(Continuation::PskDheKe),
                fast_open: false,
            },
        }
    }

    /// Returns where it connects to.
    pub(crate) fn at(self) -> SiteKind {
        if self == Self::Home { SiteKind::Home } else { SiteKind::Away }
    }

    /// Whether home's process is stopped while the client connects.
    pub(crate) fn stops_home(self) -> bool {
        self == Self::AwayHomeSilent
    }

    /// Returns which acknowledgement the other site gets.
    pub(crate) fn acknowledges(self) -> AcknowledgementMode {
        match self {
            Self::AwayGuess => AcknowledgementMode::Guess,
            _ => AcknowledgementMode::Home,
        }
    }

    /// Returns the verdict that the client must get without an attack.
    pub(crate) fn told(self) -> Option<EarlyDataOutcome> {
        match self {
            Self::Home => Some(EarlyDataOutcome::Accepted),
            Self::Away | Self::AwayGuess => Some(EarlyDataOutcome::Burned),
            Self::AwayHomeSilent => Some(EarlyDataOutcome::Unknown),
            Self::AwayPskDhe => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_paths_are_those_of_the_report() {
        for path in Path::SOUND.into_iter().chain([Path::AwayGuess]) {
            assert_eq!(serde_json::to_value(path).unwrap(), path.name());
        }
    }
}
