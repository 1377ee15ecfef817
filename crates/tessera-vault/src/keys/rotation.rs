//! When a ring needs its next key: one policy for rings in memory, in a directory and in a fleet.

use std::time::Duration;

/// How a ring rotates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    /// How long a key seals; more than zero. The next key is made after half of it.
    pub issue_for: Duration,
    /// How long it opens after that: the lifetime of tickets, or more.
    pub open_for: Duration,
    /// How much two clocks may differ.
    pub skew: Duration,
}

impl Rotation {
    /// The default of [`skew`](Self::skew), for clocks that are wrong by five minutes each, in opposite directions:
    /// generous for synchronised ones.
    pub const SKEW: Duration = Duration::from_secs(900);

    /// Returns how long a key seals and opens.
    #[must_use]
    pub fn lifetime(&self) -> Duration {
        self.issue_for.saturating_add(self.open_for)
    }

    /// Returns whether a new key is needed at `now` (since the Unix epoch). Each pair holds the times from
    /// which and until which a key seals: a new one is needed if less than half of the current one's time is
    /// left. A key whose time lies far ahead was made by a wrong clock, and doesn't count.
    pub fn is_due(
        &self,
        keys: impl IntoIterator<Item = (Duration, Duration)>,
        now: Duration,
    ) -> bool {
        let seals = keys.into_iter().filter(|(from, _)| *from <= now.saturating_add(self.skew));
        let until = seals.map(|(_, until)| until).max();
        until.is_none_or(|until| until < now.saturating_add(self.issue_for / 2))
    }
}

/// Keys seal for 12 hours and open for another 24, the longest that a ticket lives by default.
impl Default for Rotation {
    fn default() -> Self {
        const HOUR: Duration = Duration::from_secs(3600);
        Self { issue_for: HOUR * 12, open_for: HOUR * 24, skew: Self::SKEW }
    }
}
