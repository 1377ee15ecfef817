//! Limits how many requests a client may cancel.

use tokio::time::Instant;

/// A connection's budget for what costs the server more than the client (CVE-2023-44487). Each cancelled request costs
/// one; each that the client lets finish earns one, and so does time.
pub(super) struct Credit {
    left: u32,
    most: u32,
    refilled: Instant,
}

impl Credit {
    /// Allows all of a connection's requests to be cancelled at once, twice.
    pub(super) fn new(streams: u32) -> Self {
        let most = streams.saturating_mul(2).max(50);
        Self { left: most, most, refilled: Instant::now() }
    }

    pub(super) fn finished(&mut self) {
        self.left = self.left.saturating_add(1).min(self.most);
    }

    /// Counts a cancelled request; returns whether the client exceeded its budget.
    pub(super) fn taken_back(&mut self, now: Instant) -> bool {
        // A twentieth each second.
        let tenths = now.saturating_duration_since(self.refilled).as_millis() / 100;
        let gain = (u128::from(self.most) * tenths / 200).min(u128::from(self.most)) as u32;
        if gain > 0 {
            self.left = self.left.saturating_add(gain).min(self.most);
            self.refilled = now;
        }
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => return true,
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn all_requests_may_be_taken_back_twice_and_more_by_and_by() {
        let mut credit = Credit::new(100);
        let start = Instant::now();
        assert!((0..200).all(|_| !credit.taken_back(start)));
        assert!(credit.taken_back(start));
        let later = start + Duration::from_secs(1);
        assert!((0..10).all(|_| !credit.taken_back(later)));
        assert!(credit.taken_back(later));
    }

    #[test]
    fn requests_that_finish_pay_for_those_that_do_not() {
        let mut credit = Credit::new(100);
        let start = Instant::now();
        for _ in 0..10_000 {
            credit.finished();
            assert!(!credit.taken_back(start));
        }
    }
}
