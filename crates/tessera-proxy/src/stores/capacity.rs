//! How many one-time keys a server keeps, and for how long.

use std::time::Duration;

/// No one-time key lives longer: the lifetime of tickets.
pub(super) const LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// The most one-time keys; each takes a few hundred bytes once it exists.
pub(super) const CAPACITY: usize = 1_000_000;
