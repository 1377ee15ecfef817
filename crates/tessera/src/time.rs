//! Time: passed by the caller, except for one judgement that reads a clock.

use core::fmt::Debug;
use core::time::Duration;

/// A moment. The engine reads no clock, except for a client's [`Clock`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time {
    /// Since any fixed moment; never goes back. Used for deadlines.
    pub monotonic: Duration,
    /// Since the Unix epoch, if known. Without it certificates can't be judged, and servers neither issue nor accept
    /// tickets. Clients keep them, and use them until the monotonic clock starts again.
    pub unix: Option<Duration>,
}

impl Time {
    /// Returns the seconds since the Unix epoch.
    pub(crate) fn unix_secs(&self) -> Option<u64> {
        self.unix.map(|unix| unix.as_secs())
    }

    /// Returns the time on the date's clock, or on the monotonic one.
    pub(crate) fn on(&self, is_monotonic: bool) -> Option<Duration> {
        if is_monotonic { Some(self.monotonic) } else { self.unix }
    }
}

/// Both clocks of a client's machine, which the engine itself reads: when a connection begins, and when it
/// judges a flight whose key was lost in a restart of the server (`docs/0rtt-fs.md`, section 10).
///
/// That judgement doesn't use the times that a caller passes: they may have been read before the
/// input arrived, as event loops do, and a span that is too short turns a flight that was executed into
/// `burned`. So an implementation must read its clocks on every call, and cache nothing:
///
/// ```
/// use std::time::{Instant, SystemTime, UNIX_EPOCH};
/// use tessera::{Clock, Time};
///
/// #[derive(Debug)]
/// struct MachineClock {
///     began: Instant,
/// }
///
/// impl Clock for MachineClock {
///     fn now(&self) -> Time {
///         let unix = SystemTime::now().duration_since(UNIX_EPOCH).ok();
///         Time { monotonic: self.began.elapsed(), unix }
///     }
/// }
/// ```
pub trait Clock: Debug + Send + Sync {
    /// Returns the current time. Without `unix`, no lost flight is judged: a monotonic clock alone may stop while
    /// the machine sleeps.
    fn now(&self) -> Time;
}
