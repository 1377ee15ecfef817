//! The deadlines of all associations.

use std::collections::BTreeSet;
use std::time::Duration;

/// When each association must be woken, in order.
#[derive(Debug, Default)]
pub(crate) struct Timers(BTreeSet<(Duration, u64)>);

impl Timers {
    /// Replaces an association's deadline.
    pub(crate) fn set(&mut self, id: u64, earlier: Option<Duration>, now: Option<Duration>) {
        if earlier == now {
            return;
        }
        if let Some(earlier) = earlier {
            self.0.remove(&(earlier, id));
        }
        if let Some(now) = now {
            self.0.insert((now, id));
        }
    }

    /// Returns the first deadline.
    pub(crate) fn first(&self) -> Option<Duration> {
        self.0.first().map(|(at, _)| *at)
    }

    /// Returns an association whose deadline has come.
    pub(crate) fn due(&self, now: Duration) -> Option<u64> {
        self.0.first().filter(|(at, _)| *at <= now).map(|(_, id)| *id)
    }
}
