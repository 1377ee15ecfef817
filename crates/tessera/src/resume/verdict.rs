//! What a client learns about forward-secret early data that was not accepted.

use alloc::sync::Arc;

use super::forward_secret::{Absence, TakeAnswer, TakePurpose};
use crate::time::{Clock, Time};
use crate::wire::Rejection;

/// What a client learns about early data that was not accepted. Treat an unknown variant as
/// [`Verdict::Unknown`], and the lack of an answer as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It was not accepted, and can't be any more. Resend.
    Burned,
    /// The key was taken to accept the flight, which may have been executed. Resend only what its owner
    /// declared repeatable.
    Used,
    /// Unknown. Resend only what may be executed twice.
    Unknown,
}

impl Rejection {
    /// Returns what to report after a take that led to no acceptance.
    pub(crate) fn after(taken: &TakeAnswer, purpose: TakePurpose) -> Self {
        match (taken, purpose) {
            (TakeAnswer::Taken(_), TakePurpose::Burn) => Self::Burned,
            (TakeAnswer::Absent(Absence::Burned), _) => Self::Burned,
            (TakeAnswer::Absent(Absence::Used), _) => Self::Used,
            (TakeAnswer::Absent(Absence::Lost { ended_before }), _) => {
                let millis = ended_before.as_millis();
                Self::Lost { ended_before: u32::try_from(millis).unwrap_or(u32::MAX) }
            }
            _ => Self::Unknown,
        }
    }

    /// Returns the verdict without knowledge of when the flight was sent.
    pub(crate) fn verdict(self) -> Verdict {
        match self {
            Self::Burned => Verdict::Burned,
            Self::Used => Verdict::Used,
            Self::Unknown | Self::Lost { .. } => Verdict::Unknown,
        }
    }

    /// Returns the verdict for a client whose connection began then. Only here is its clock read, after the
    /// server's answer has arrived.
    pub(crate) fn judged_by_client(self, began: &Beginning) -> Verdict {
        match self {
            Self::Lost { ended_before }
                if began.waited().is_some_and(|waited| waited < ended_before.into()) =>
            {
                Verdict::Burned
            }
            other => other.verdict(),
        }
    }
}

/// When a client's connection began, and the clock that measures how long ago that is.
pub(crate) struct Beginning(Option<(Arc<dyn Clock>, Time)>);

impl Beginning {
    /// Begins now: nothing was sent earlier.
    pub(crate) fn new(clock: Option<Arc<dyn Clock>>) -> Self {
        Self(clock.map(|clock| {
            let now = clock.now();
            (clock, now)
        }))
    }

    /// Returns an upper bound of how long a flight has been under way, in milliseconds. `None` if it can't
    /// be known.
    fn waited(&self) -> Option<u128> {
        let (clock, began) = self.0.as_ref()?;
        waited(*began, clock.now())
    }
}

/// Returns an upper bound of the time between the two. A monotonic clock may stop while the machine sleeps, so
/// the other counts too; and clocks may run at different rates, for which an eighth is more than enough. A clock
/// that went back was set, and proves nothing.
fn waited(began: Time, now: Time) -> Option<u128> {
    let monotonic = now.monotonic.checked_sub(began.monotonic)?;
    let unix = now.unix?.checked_sub(began.unix?)?;
    let waited = monotonic.max(unix).as_millis() + 1;
    Some(waited + waited.div_ceil(8))
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::sync::Mutex;

    use super::*;

    fn at(monotonic: u64, unix: u64) -> Time {
        let millis = Duration::from_millis;
        Time { monotonic: millis(monotonic), unix: Some(millis(unix)) }
    }

    /// A clock that returns these times, one after the other.
    #[derive(Debug)]
    struct ScriptedClock(Mutex<std::vec::Vec<Time>>);

    impl Clock for ScriptedClock {
        fn now(&self) -> Time {
            self.0.lock().unwrap().remove(0)
        }
    }

    fn judged(ended_before: u32, began: Time, now: Time) -> Verdict {
        let clock = Arc::new(ScriptedClock(Mutex::new(std::vec![began, now])));
        let began = Beginning::new(Some(clock));
        Rejection::Lost { ended_before }.judged_by_client(&began)
    }

    const BEGAN: (u64, u64) = (1000, 5_000_000);

    #[test]
    fn a_lost_key_is_burned_for_flights_sent_after_its_end() {
        let began = at(BEGAN.0, BEGAN.1);
        let judged = |ended_before, now| judged(ended_before, began, now);
        let now = at(1799, 5_000_799);
        assert_eq!(judged(901, now), Verdict::Burned);
        assert_eq!(judged(900, now), Verdict::Unknown, "clocks may run at different rates");
        // The machine slept, or a clock was set forward: the longer time counts.
        assert_eq!(judged(901, at(1799, 5_000_900)), Verdict::Unknown);
        assert_eq!(judged(901, at(1900, 5_000_799)), Verdict::Unknown);
        assert_eq!(judged(0, began), Verdict::Unknown);
        assert_eq!(Rejection::Lost { ended_before: u32::MAX }.verdict(), Verdict::Unknown);
    }

    #[test]
    fn a_clock_that_went_back_or_is_missing_judges_nothing() {
        let began = at(BEGAN.0, BEGAN.1);
        let judged = |began, now| judged(u32::MAX, began, now);
        assert_eq!(judged(began, began), Verdict::Burned);
        assert_eq!(judged(began, at(999, 5_000_000)), Verdict::Unknown);
        assert_eq!(judged(began, at(1000, 4_999_999)), Verdict::Unknown);
        let undated = Time { unix: None, ..began };
        assert_eq!(judged(began, undated), Verdict::Unknown);
        assert_eq!(judged(undated, began), Verdict::Unknown);
        let lost = Rejection::Lost { ended_before: u32::MAX };
        assert_eq!(lost.judged_by_client(&Beginning::new(None)), Verdict::Unknown);
    }

    #[test]
    fn the_other_verdicts_ask_no_clock() {
        let none = Beginning::new(None);
        assert_eq!(Rejection::Burned.judged_by_client(&none), Verdict::Burned);
        assert_eq!(Rejection::Used.judged_by_client(&none), Verdict::Used);
        assert_eq!(Rejection::Unknown.judged_by_client(&none), Verdict::Unknown);
    }
}
