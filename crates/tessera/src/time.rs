//! Time: told by the caller, and, for one judgement, asked of a clock.

use core::fmt::Debug;
use core::time::Duration;

/// A moment. The engine reads no clock, but for a client's [`Clock`].
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

/// Both clocks of a client's machine, asked by the engine itself: when a connection begins, and when it
/// judges a flight whose key was lost with an earlier life of the server (`docs/0rtt-fs.md`, section 10).
///
/// The times that a caller passes have no part in that judgement. They may have been read before the
/// input came, as event loops do; and a span that is too short makes `burned` of a flight that was
/// executed. So an implementation reads its clocks when it is asked, and keeps nothing it read before:
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
    /// Now. Without `unix`, nothing that was lost is judged: a monotonic clock alone may stand still while
    /// the machine sleeps.
    fn now(&self) -> Time;
}
