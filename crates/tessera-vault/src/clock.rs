//! A vault's estimate of the time: a clock that jumps ahead destroys nothing at once.

use std::time::{Duration, Instant};

/// Follows clock readings, in seconds since the Unix epoch. A reading further ahead than the time that can
/// have passed is believed only after readings have stayed there for [`DOUBT`]; until then, secrets that have
/// expired by it are neither returned nor destroyed.
#[derive(Default)]
pub(crate) struct Clock {
    latest: u32,
    believed: u32,
    /// When `believed` was set.
    at: Option<Instant>,
    /// Since when readings have been too far ahead.
    ahead_since: Option<Instant>,
}

/// How far ahead of the expected time a clock may be, and for how long a leap is doubted.
const DOUBT: Duration = Duration::from_secs(60);

impl Clock {
    /// Returns the last reading; before the first it is 0, which expires nothing.
    pub(crate) fn latest(&self) -> u32 {
        self.latest
    }

    /// Notes a reading; returns the believed time. Secrets that had expired by then may be destroyed.
    pub(crate) fn note(&mut self, reading: u32, now: impl FnOnce() -> Instant) -> u32 {
        if self.at.is_some() && reading == self.believed && reading == self.latest {
            return reading;
        }
        self.latest = reading;
        let now = now();
        let expected = self.at.map(|at| {
            let passed = now.saturating_duration_since(at) + DOUBT;
            self.believed.saturating_add(u32::try_from(passed.as_secs()).unwrap_or(u32::MAX))
        });
        let is_ahead = expected.is_some_and(|expected| reading > expected);
        let doubted = is_ahead && {
            let since = *self.ahead_since.get_or_insert(now);
            now.saturating_duration_since(since) < DOUBT
        };
        if !doubted {
            (self.believed, self.at, self.ahead_since) = (reading, Some(now), None);
        }
        self.believed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_vault_believes_a_clock_that_goes_on_and_one_that_goes_back() {
        let (mut clock, start) = (Clock::default(), Instant::now());
        assert_eq!(clock.note(1000, || start), 1000);
        assert_eq!(clock.note(1001, || start + seconds(1)), 1001);
        // A day without readings.
        assert_eq!(clock.note(87_401, || start + seconds(86_401)), 87_401);
        // Set forward by a little, then back by a lot.
        assert_eq!(clock.note(87_450, || start + seconds(86_402)), 87_450);
        assert_eq!(clock.note(500, || start + seconds(86_403)), 500);
        assert_eq!(clock.latest(), 500);
    }

    #[test]
    fn a_vault_doubts_a_leap_of_the_clock_for_a_while() {
        let (mut clock, start) = (Clock::default(), Instant::now());
        assert_eq!(clock.note(1000, || start), 1000);
        assert_eq!(clock.note(9000, || start + seconds(1)), 1000);
        assert_eq!(clock.note(9058, || start + seconds(59)), 1000);
        assert_eq!(clock.latest(), 9058);
        // The clock was right in between.
        assert_eq!(clock.note(1060, || start + seconds(60)), 1060);
        // It stays ahead: the minute starts again.
        assert_eq!(clock.note(9100, || start + seconds(100)), 1060);
        assert_eq!(clock.note(9159, || start + seconds(159)), 1060);
        assert_eq!(clock.note(9160, || start + seconds(160)), 9160);
    }

    /// Otherwise the next leap would count as one that has lasted.
    #[test]
    fn a_clock_that_comes_back_to_its_second_is_doubted_again() {
        let (mut clock, start) = (Clock::default(), Instant::now());
        assert_eq!(clock.note(1000, || start), 1000);
        assert_eq!(clock.note(9000, || start + seconds(1)), 1000);
        assert_eq!(clock.note(1000, || start + seconds(2)), 1000);
        assert_eq!(clock.note(9000, || start + seconds(90)), 1000);
    }
}
