//! How often to warn that no key pair can be made.

use std::time::{Duration, Instant};

/// Limits warnings to one a minute.
#[derive(Debug, Default)]
pub(super) struct Warnings(Option<Instant>);

impl Warnings {
    /// Whether to warn now.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let is_due = self
            .0
            .is_none_or(|last| now.saturating_duration_since(last) >= Duration::from_secs(60));
        if is_due {
            self.0 = Some(now);
        }
        is_due
    }
}
