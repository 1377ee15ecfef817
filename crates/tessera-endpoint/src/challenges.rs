//! The challenges of one check of a path (RFC 9853 §5.5).

use std::time::Duration;

use tessera::PathCookie;

/// Challenges on one path, one each round trip, and the time for their answers.
pub(crate) struct Challenges {
    cookies: Vec<PathCookie>,
    /// How many could not be sent.
    skipped: usize,
    began: Duration,
    timeout: Duration,
}

impl Challenges {
    /// Begins, with three round trips for an answer.
    pub(crate) fn begin(now: Duration, timeout: Duration) -> Self {
        Self { cookies: Vec::with_capacity(MAX_CHALLENGES), skipped: 0, began: now, timeout }
    }

    /// Begins again: earlier cookies are worth nothing.
    pub(crate) fn begin_again(&mut self, now: Duration) {
        self.cookies.clear();
        self.skipped = 0;
        self.began = now;
    }

    /// Notes one that was sent; `None`: it could not be, and isn't due again before the next.
    pub(crate) fn note(&mut self, sent: Option<PathCookie>) {
        self.skipped += usize::from(sent.is_none());
        self.cookies.extend(sent);
    }

    /// Returns whether one of them had this cookie.
    pub(crate) fn have(&self, cookie: &PathCookie) -> bool {
        self.cookies.contains(cookie)
    }

    /// Returns whether another one is due.
    pub(crate) fn is_due(&self, now: Duration) -> bool {
        self.next_challenge().is_some_and(|at| at <= now)
    }

    /// Returns when the next one, or the end, is due.
    pub(crate) fn deadline(&self) -> Duration {
        self.next_challenge().unwrap_or(self.ends())
    }

    /// Returns how long an answer may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Returns when it is too late for an answer.
    pub(crate) fn ends(&self) -> Duration {
        self.began + self.timeout
    }

    fn next_challenge(&self) -> Option<Duration> {
        let earlier = self.cookies.len() + self.skipped;
        let at = self.began + self.timeout * earlier as u32 / MAX_CHALLENGES as u32;
        (earlier < MAX_CHALLENGES).then_some(at)
    }
}

/// How many challenges an address gets.
const MAX_CHALLENGES: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gets_three_challenges_those_included_that_could_not_be_sent() {
        let third = Duration::from_secs(1);
        let begun = Duration::from_secs(7);
        let mut challenges = Challenges::begin(begun, third * 3);
        for turn in 0..3 {
            let at = begun + third * turn;
            assert_eq!(challenges.deadline(), at);
            assert!(challenges.is_due(at));
            challenges.note((turn != 1).then_some([turn as u8; 8]));
            assert!(!challenges.is_due(at));
        }
        assert_eq!(challenges.deadline(), challenges.ends());
        assert!(!challenges.is_due(challenges.ends()));
        challenges.begin_again(begun);
        assert!(challenges.is_due(begun) && !challenges.have(&[0; 8]));
    }
}
