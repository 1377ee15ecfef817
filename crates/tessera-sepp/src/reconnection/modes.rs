//! The ways to connect (a) to (e), and which of them a peer may use.

use std::time::Duration;

use tessera::handshake::{EarlyDataStatus, Facts};
use tessera::resume::PskKind;

use super::identity_refusal::IdentityRefusal;
use crate::identity::Modes;

/// The properties of a presented ticket on which the peer's modes decide.
pub(super) struct Ticket {
    /// Its age; `None` if unknown.
    pub(super) age: Option<Duration>,
    /// Whether it would resume without a key exchange.
    pub(super) without_key_exchange: bool,
    /// Whether its early data could be replayed.
    pub(super) replayable_early_data: bool,
}

impl Modes {
    /// Returns whether the ticket's early data may be accepted; fails if it may not resume.
    pub(super) fn allow(&self, ticket: &Ticket) -> Result<bool, IdentityRefusal> {
        if !self.resume || ticket.without_key_exchange && !self.risky_psk_ke {
            return Err(IdentityRefusal::NotAllowed);
        }
        if ticket.age.is_none_or(|age| age >= self.ticket_lifetime) {
            return Err(IdentityRefusal::TooOld);
        }
        Ok(match ticket.replayable_early_data {
            true => self.risky_replayable_early_data,
            false => self.forward_secret_early_data,
        })
    }
}

/// How a connection was established.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// (a): a full handshake, with both certificates.
    Full,
    /// (b): a resumption without a key exchange.
    PskKe,
    /// (c): a resumption with one.
    PskDheKe,
    /// (d): a resumption with early data that could be replayed.
    ReplayableEarlyData,
    /// (e): a resumption with forward-secret early data, accepted at most once.
    ForwardSecretEarlyData,
}

impl Mode {
    /// Returns the mode of a connection whose handshake is complete, at either end.
    #[must_use]
    pub fn of(facts: &Facts) -> Self {
        match (facts.psk, facts.early_data, facts.group) {
            (None | Some(PskKind::KnownKey), _, _) => Self::Full,
            (Some(PskKind::ForwardSecret), _, _) => Self::ForwardSecretEarlyData,
            (Some(_), EarlyDataStatus::Accepted, _) => Self::ReplayableEarlyData,
            (Some(_), _, None) => Self::PskKe,
            (Some(_), _, Some(_)) => Self::PskDheKe,
        }
    }

    /// Returns its letter in metrics and logs.
    #[must_use]
    pub fn letter(self) -> &'static str {
        match self {
            Self::Full => "a",
            Self::PskKe => "b",
            Self::PskDheKe => "c",
            Self::ReplayableEarlyData => "d",
            Self::ForwardSecretEarlyData => "e",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket() -> Ticket {
        Ticket {
            age: Some(Duration::from_secs(7199)),
            without_key_exchange: false,
            replayable_early_data: false,
        }
    }

    #[test]
    fn a_ticket_is_good_for_the_lifetime_of_its_peer() {
        let modes = Modes::default();
        assert_eq!(modes.allow(&ticket()), Ok(false));
        for age in [None, Some(Duration::from_secs(7200)), Some(Duration::MAX)] {
            assert_eq!(
                modes.allow(&Ticket { age, ..ticket() }),
                Err(IdentityRefusal::TooOld),
                "{age:?}"
            );
        }
    }

    /// Each risk is allowed by its own key, and by no other.
    #[test]
    fn each_way_back_has_its_key() {
        let of = |keys: [bool; 4]| {
            let [resume, forward_secret_early_data, risky_psk_ke, risky_replayable_early_data] =
                keys;
            let lifetime = Modes::default();
            let modes = Modes {
                resume,
                forward_secret_early_data,
                risky_psk_ke,
                risky_replayable_early_data,
                ..lifetime
            };
            let psk_ke = Ticket { without_key_exchange: true, ..ticket() };
            let replayable = Ticket { replayable_early_data: true, ..ticket() };
            [modes.allow(&ticket()), modes.allow(&psk_ke), modes.allow(&replayable)]
        };
        let no = Err(IdentityRefusal::NotAllowed);
        assert_eq!(of([true, false, false, false]), [Ok(false), no, Ok(false)]);
        assert_eq!(of([true, true, false, false]), [Ok(true), no, Ok(false)]);
        assert_eq!(of([true, false, true, false]), [Ok(false), Ok(false), Ok(false)]);
        assert_eq!(of([true, false, false, true]), [Ok(false), no, Ok(true)]);
        assert_eq!(of([false, true, true, true]), [no, no, no]);
    }
}
