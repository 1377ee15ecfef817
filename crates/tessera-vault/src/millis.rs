//! Times as stored: milliseconds or seconds since the Unix epoch.

use std::time::Duration;

/// Truncates a time to milliseconds, saturating.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Truncates a time to seconds, which makes it earlier; saturates from 2106 on.
pub(crate) fn seconds(time: Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}
