//! The time that stores are told.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Since the Unix epoch; zero on a machine whose clock is before it.
#[must_use]
pub fn unix() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
