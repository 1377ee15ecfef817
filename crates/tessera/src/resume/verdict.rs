//! What a client learns about forward-secret early data that was not accepted.

use core::time::Duration;

use super::forward_secret::{Absent, TakePurpose, Taken};
use crate::time::Time;
use crate::wire::Rejection;

/// What a client learns about early data that was not accepted. Treat what you do not know as
/// [`Verdict::Unknown`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Nobody accepted it, and nobody can accept it any more. Resend.
    Burned,
    /// The key was taken to accept the flight, and it may have been executed. Never resend.
    Used,
    /// Nobody knows. Resend only what may be executed twice.
    Unknown,
}

impl Rejection {
    /// What there is to say after a take that led to no acceptance.
    pub(crate) fn after(taken: &Taken, purpose: TakePurpose) -> Self {
        match (taken, purpose) {
            (Taken::Taken(_), TakePurpose::Burn) => Self::Burned,
            (Taken::Absent(Absent::Burned), _) => Self::Burned,
            (Taken::Absent(Absent::Used), _) => Self::Used,
            (Taken::Absent(Absent::Lost { ended_before }), _) => {
                let millis = ended_before.as_millis();
                Self::Lost { ended_before: u32::try_from(millis).unwrap_or(u32::MAX) }
            }
            _ => Self::Unknown,
        }
    }

    /// The verdict, without knowing when the flight was sent.
    pub(crate) fn verdict(self) -> Verdict {
        match self {
            Self::Burned => Verdict::Burned,
            Self::Used => Verdict::Used,
            Self::Unknown | Self::Lost { .. } => Verdict::Unknown,
        }
    }

    /// The verdict for a client that began to send its flight at `sent`.
    pub(crate) fn judged_by_client(self, sent: Time, now: Time) -> Verdict {
        match self {
            Self::Lost { ended_before } if waited(sent, now) < u64::from(ended_before).into() => {
                Verdict::Burned
            }
            other => other.verdict(),
        }
    }
}

/// How long a flight that was begun at `sent` may have been under way, in milliseconds: rather too long.
/// A monotonic clock may stand still while the machine sleeps, so the other is asked too; and clocks
/// may run at different rates, for which an eighth is more than enough.
fn waited(sent: Time, now: Time) -> u128 {
    let monotonic = now.monotonic.saturating_sub(sent.monotonic);
    let unix = match (sent.unix, now.unix) {
        (Some(sent), Some(now)) => now.saturating_sub(sent),
        _ => Duration::ZERO,
    };
    let waited = monotonic.max(unix).as_millis() + 1;
    waited + waited.div_ceil(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(monotonic: u64, unix: u64) -> Time {
        let millis = Duration::from_millis;
        Time { monotonic: millis(monotonic), unix: Some(millis(unix)) }
    }

    #[test]
    fn a_lost_key_is_burned_for_flights_sent_after_its_end() {
        let sent = at(1000, 5_000_000);
        let judged =
            |ended_before, now| Rejection::Lost { ended_before }.judged_by_client(sent, now);
        let now = at(1799, 5_000_799);
        assert_eq!(judged(901, now), Verdict::Burned);
        assert_eq!(judged(900, now), Verdict::Unknown, "clocks may run at different rates");
        // The machine slept, or someone set a clock: the longer time counts.
        assert_eq!(judged(901, at(1799, 5_000_900)), Verdict::Unknown);
        assert_eq!(judged(901, at(1900, 5_000_799)), Verdict::Unknown);
        assert_eq!(judged(901, at(1799, 4_000_000)), Verdict::Burned);
        assert_eq!(judged(0, sent), Verdict::Unknown);
        assert_eq!(Rejection::Lost { ended_before: u32::MAX }.verdict(), Verdict::Unknown);
    }
}
