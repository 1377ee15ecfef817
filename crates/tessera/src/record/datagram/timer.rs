//! When a flight is sent again (RFC 9147 §5.8.2).

use core::time::Duration;

/// The retransmission timer of an association.
#[derive(Debug)]
pub(crate) struct RetransmissionTimer {
    /// The time to wait for the answer to any flight at first, if it doesn't follow from round trips.
    pub(super) fixed: Option<Duration>,
    /// The time to wait for an answer now.
    pub(super) timeout: Duration,
    at: Option<Duration>,
    /// When the flight is sent again before that, because the peer seems to lack it.
    hurry_at: Option<Duration>,
    /// How often it has expired since something was acknowledged.
    in_a_row: u32,
}

impl RetransmissionTimer {
    pub(crate) fn new(initial: Duration, measures: bool) -> Self {
        let fixed = (!measures).then_some(initial);
        Self { fixed, timeout: initial, at: None, hurry_at: None, in_a_row: 0 }
    }

    /// Waits for an answer from now on.
    pub(crate) fn start(&mut self, now: Duration) {
        self.at = Some(now + self.timeout);
        self.hurry_at = None;
    }

    /// Lets the flight be sent again at this time, after what else has come by then; or its rest, if it is long.
    pub(crate) fn hurry(&mut self, at: Duration) {
        self.hurry_at = Some(at);
    }

    /// Waits no longer.
    pub(crate) fn stop(&mut self) {
        self.at = None;
        self.hurry_at = None;
    }

    /// Returns when the flight is sent again.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        [self.at, self.hurry_at].into_iter().flatten().min()
    }

    /// If the time is over, doubles it, and returns how often that has happened in a row; 0 if the flight is sent again
    /// before that.
    pub(crate) fn expire(&mut self, now: Duration) -> Option<u32> {
        let is_hurried = self.hurry_at.take_if(|at| *at <= now).is_some();
        if self.at.take_if(|at| *at <= now).is_none() {
            return is_hurried.then_some(0);
        }
        self.timeout = (self.timeout * 2).min(LONGEST);
        self.in_a_row += 1;
        Some(self.in_a_row)
    }

    /// Changes the time to wait at first, and with it what is left of the time now.
    pub(crate) fn set_initial(&mut self, initial: Duration) {
        let before = self.timeout;
        self.timeout = initial.saturating_mul(1 << self.in_a_row.min(16)).min(LONGEST);
        self.at = self.at.map(|at| at.saturating_sub(before) + self.timeout);
        self.fixed = self.fixed.and(Some(initial));
    }

    /// Notes an answer: the peer is there.
    pub(crate) fn answered(&mut self) {
        self.in_a_row = 0;
        self.timeout = self.fixed.unwrap_or(self.timeout);
    }

    /// Notes the round-trip time of something that was sent once.
    pub(crate) fn measured(&mut self, round_trip: Duration) {
        if self.fixed.is_none() {
            self.timeout = (round_trip + round_trip / 2).clamp(SHORTEST, LONGEST);
        }
    }

    /// Returns a quarter of the time: how long the rest of a flight may take before an ACK names what has arrived
    /// (§7.1).
    pub(crate) fn quarter(&self) -> Duration {
        self.timeout / 4
    }
}

/// The shortest time, so that a scheduler's delays on a fast network cause no retransmission.
const SHORTEST: Duration = Duration::from_millis(50);

/// The longest time.
const LONGEST: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_doubles_to_a_minute_and_follows_the_round_trip() {
        let second = Duration::from_secs(1);
        let mut timer = RetransmissionTimer::new(second, true);
        let mut now = Duration::ZERO;
        let mut waits = alloc::vec::Vec::new();
        for expiry in 1..=8 {
            timer.start(now);
            let at = timer.deadline().expect("started");
            assert_eq!(timer.expire(at - Duration::from_millis(1)), None);
            assert_eq!(timer.expire(at), Some(expiry));
            assert_eq!(timer.expire(at), None, "once");
            waits.push((at - now).as_secs());
            now = at;
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        timer.measured(second * 2);
        timer.answered();
        timer.start(now);
        assert_eq!(timer.deadline(), Some(now + second * 3));
        assert_eq!(timer.expire(now + second * 3), Some(1));
        timer.measured(Duration::ZERO);
        assert_eq!(timer.quarter(), SHORTEST / 4);
    }

    #[test]
    fn another_time_counts_from_when_the_flight_was_sent() {
        let second = Duration::from_secs(1);
        for measures in [false, true] {
            let mut timer = RetransmissionTimer::new(second, measures);
            timer.start(second);
            timer.set_initial(second / 4);
            assert_eq!(timer.deadline(), Some(second + second / 4));
            assert_eq!(timer.expire(second * 2), Some(1));
            timer.start(second * 2);
            timer.set_initial(second * 3);
            assert_eq!(timer.deadline(), Some(second * 8), "twice as long after a timeout");
        }
    }

    #[test]
    fn a_flight_may_go_before_its_time() {
        let second = Duration::from_secs(1);
        let mut timer = RetransmissionTimer::new(second, true);
        timer.start(Duration::ZERO);
        timer.hurry(second / 2);
        assert_eq!(timer.deadline(), Some(second / 2));
        assert_eq!(timer.expire(second / 2), Some(0));
        assert_eq!(timer.deadline(), Some(second), "the time isn't over");
        timer.hurry(second / 2);
        assert_eq!(timer.expire(second), Some(1), "both at once");
        timer.hurry(second);
        timer.stop();
        assert_eq!((timer.deadline(), timer.expire(second)), (None, None));
    }

    #[test]
    fn a_fixed_time_returns_with_each_answer() {
        let second = Duration::from_secs(1);
        let mut timer = RetransmissionTimer::new(second, false);
        timer.start(Duration::ZERO);
        assert_eq!(timer.expire(second), Some(1));
        assert_eq!(timer.quarter(), second / 2);
        timer.measured(second * 7);
        timer.answered();
        assert_eq!(timer.quarter(), second / 4);
    }
}
