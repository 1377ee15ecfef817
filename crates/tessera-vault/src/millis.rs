//! Times as they are stored: milliseconds since the Unix epoch.

use std::time::Duration;

/// Cuts a time to milliseconds; what no clock will ever show becomes the largest value.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
