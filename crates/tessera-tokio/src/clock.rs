//! The clock of a client's engine.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tessera::{Clock, Time};

/// The machine's two clocks; tokio's may be paused by a test.
#[derive(Debug)]
pub(crate) struct MachineClock {
    began: Instant,
}

impl MachineClock {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now() }
    }
}

impl Clock for MachineClock {
    fn now(&self) -> Time {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        Time { monotonic: self.began.elapsed(), unix }
    }
}
