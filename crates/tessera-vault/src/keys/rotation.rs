//! When a ring needs its next key: one policy for rings in memory, in a directory and in a fleet.

use std::time::Duration;

/// How a ring rotates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    /// How long a key seals, more than zero. After half of it the next one is made.
    pub issue_for: Duration,
    /// How long it opens after that: the lifetime of tickets, or more.
    pub open_for: Duration,
}

impl Rotation {
    /// How much two clocks may differ, with some to spare: five minutes each from the true time, in
    /// different directions.
    pub const SKEW: Duration = Duration::from_secs(900);

    /// How long a key seals and opens.
    #[must_use]
    pub fn lifetime(&self) -> Duration {
        self.issue_for.saturating_add(self.open_for)
    }

    /// Whether a new key is needed at `now` (since the Unix epoch), where keys seal from the first time
    /// of each pair until the second: what seals has less than half its time left. A key whose time lies
    /// far ahead was made by a wrong clock, and counts for nothing.
    pub fn is_due(
        &self,
        keys: impl IntoIterator<Item = (Duration, Duration)>,
        now: Duration,
    ) -> bool {
        let seals = keys.into_iter().filter(|(from, _)| *from <= now.saturating_add(Self::SKEW));
        let until = seals.map(|(_, until)| until).max();
        until.is_none_or(|until| until < now.saturating_add(self.issue_for / 2))
    }
}

/// Keys that seal for 12 hours and open for another 24, the longest that a ticket lives by default.
impl Default for Rotation {
    fn default() -> Self {
        const HOUR: Duration = Duration::from_secs(3600);
        Self { issue_for: HOUR * 12, open_for: HOUR * 24 }
    }
}
