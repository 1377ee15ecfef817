//! The time that stores are told.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Since the Unix epoch.
pub(super) fn unix() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
