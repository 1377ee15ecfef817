//! Times as they are stored: milliseconds or seconds since the Unix epoch.

use std::time::Duration;

/// Cuts a time to milliseconds; what no clock will ever show becomes the largest value.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Cuts a time to seconds, which makes it earlier; from 2106 on it is the largest value.
pub(crate) fn seconds(time: Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}
