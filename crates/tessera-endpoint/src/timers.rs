//! The deadlines of all associations.

use std::collections::BTreeSet;
use std::time::Duration;

/// When each association must be woken, in order.
#[derive(Debug, Default)]
pub(crate) struct Timers(BTreeSet<(Duration, u64)>);

impl Timers {
    /// Replaces an association's deadline.
    pub(crate) fn set(&mut self, id: u64, before: Option<Duration>, after: Option<Duration>) {
        if before == after {
            return;
        }
        if let Some(before) = before {
            self.0.remove(&(before, id));
        }
        if let Some(after) = after {
            self.0.insert((after, id));
        }
    }

    /// Returns the first deadline.
    pub(crate) fn first(&self) -> Option<Duration> {
        self.0.first().map(|(at, _)| *at)
    }

    /// Removes a deadline that has come; returns its association.
    pub(crate) fn pop_due(&mut self, now: Duration) -> Option<u64> {
        self.first().filter(|at| *at <= now)?;
        self.0.pop_first().map(|(_, id)| id)
    }
}
