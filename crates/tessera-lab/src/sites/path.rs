//! The ways to connect to two sites.

use serde::Serialize;

use crate::control::{Acknowledges, EarlyDataOutcome, Server};
use crate::ways::{Agreement, Continuation, Mode, OneTimeKind, Way};

/// How long a site waits for an acknowledgement, in round-trip times between the sites.
pub(crate) const PATIENCE_IN_RTTS: u32 = 3;

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

    /// How the client connects.
    pub(crate) fn way(self) -> Way {
        let kx = Some(Agreement::X25519);
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
                ticket_key: Some(OneTimeKind::KeyPair(Agreement::X25519)),
                continuation: Some(Continuation::PskDheKe),
                fast_open: false,
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
