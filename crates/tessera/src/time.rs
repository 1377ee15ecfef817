//! Time, as the caller gives it.

use core::time::Duration;

/// A moment. The engine has no clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time {
    /// Since any fixed moment; never goes back. Deadlines are counted in it.
    pub monotonic: Duration,
    /// Since the Unix epoch, where it is known. Without it certificates can't be judged, and tickets
    /// are neither given nor taken.
    pub unix: Option<Duration>,
}

impl Time {
    /// Seconds since the Unix epoch.
    pub(crate) fn unix_secs(&self) -> Option<u64> {
        self.unix.map(|unix| unix.as_secs())
    }
}
