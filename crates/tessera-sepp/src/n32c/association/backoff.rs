//! Delays of retries.

use std::time::Duration;

use fastrand::Rng;

/// Delays that double from a second to a minute, each randomly shortened by up to half, so that peers that lost each
/// other at the same time don't retry at the same time.
#[derive(Debug, Clone)]
pub(crate) struct Backoff {
    failures: u32,
    rng: Rng,
}

impl Backoff {
    /// The longest first delay.
    pub const FIRST: Duration = Duration::from_secs(1);
    const LONGEST: Duration = Duration::from_secs(60);
    /// The longest delay that is accepted from a peer.
    const LONGEST_ASKED: Duration = Duration::from_secs(300);

    pub fn new(rng: Rng) -> Self {
        Self { failures: 0, rng }
    }

    /// Returns the delay after another failure, at least as long as the peer asked for.
    pub fn after_failure(&mut self, asked: Option<Duration>) -> Duration {
        let doubled = Self::FIRST.saturating_mul(1 << self.failures.min(10)).min(Self::LONGEST);
        self.failures = self.failures.saturating_add(1);
        let wait = self.shortened(doubled);
        asked.map_or(wait, |asked| asked.min(Self::LONGEST_ASKED).max(wait))
    }

    /// Returns the delay before contacting a peer that ended the association.
    pub fn after_termination(&mut self) -> Duration {
        self.failures = 0;
        self.shortened(Duration::from_secs(20))
    }

    /// Returns the delay before contacting a peer that lost the association.
    pub fn after_loss(&mut self) -> Duration {
        self.shortened(Self::FIRST)
    }

    /// Returns whether an attempt failed since the last success.
    pub fn has_failed(&self) -> bool {
        self.failures > 0
    }

    pub fn succeeded(&mut self) {
        self.failures = 0;
    }

    fn shortened(&mut self, wait: Duration) -> Duration {
        wait.mul_f64(1.0 - self.rng.f64() / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute_and_differ() {
        let mut backoff = Backoff::new(Rng::with_seed(1));
        let waits: Vec<_> = (0..40).map(|_| backoff.after_failure(None)).collect();
        for (failures, wait) in waits.iter().enumerate() {
            let longest = Duration::from_secs(1 << failures.min(6)).min(Backoff::LONGEST);
            assert!(*wait <= longest && *wait >= longest / 2, "{failures}: {wait:?}");
        }
        let last: std::collections::HashSet<_> = waits[10..].iter().collect();
        assert!(last.len() > 20);
        backoff.succeeded();
        assert!(backoff.after_failure(None) <= Backoff::FIRST);
    }

    #[test]
    fn a_peer_is_obeyed_that_asks_for_time_but_not_for_ever() {
        let mut backoff = Backoff::new(Rng::with_seed(2));
        let asked = Duration::from_secs(120);
        assert_eq!(backoff.after_failure(Some(asked)), asked);
        assert_eq!(backoff.after_failure(Some(Duration::MAX)), Backoff::LONGEST_ASKED);
    }
}
