//! The engine's time.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tessera::{Clock, Time};

/// Returns the time of a connection: tokio's clock counts from when it `started`.
pub(crate) fn since(started: tokio::time::Instant) -> Time {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    Time { monotonic: started.elapsed(), unix }
}

/// The machine's two clocks, for a client's engine; tokio's may be paused by a test.
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
