//! The time of a world, for its clients' engines.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tessera::{Clock, Time};

/// A clock with the time of the world.
#[derive(Debug)]
pub struct WorldClock(Mutex<Time>);

impl WorldClock {
    /// Creates a clock with this time.
    pub fn new(now: Time) -> Self {
        Self(Mutex::new(now))
    }

    /// Advances the time.
    pub fn advance(&self, tick: Duration) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        now.monotonic += tick;
        now.unix = now.unix.map(|unix| unix + tick);
    }
}

impl Clock for WorldClock {
    fn now(&self) -> Time {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
