//! The clock by which a lease ends.

use std::time::Duration;

/// Returns the time since the machine started, with the time that it was suspended: the store's clock goes on meanwhile, and
/// [`Instant`](std::time::Instant) stands still on Linux.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn since_boot() -> Duration {
    use nix::time::{ClockId, clock_gettime};
    // Without a clock no lease is held.
    clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Duration::MAX, Duration::from)
}

/// Returns the time since the first call, on a system whose `Instant` may stand still while the machine is suspended.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn since_boot() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;
    static FIRST: OnceLock<Instant> = OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed()
}
