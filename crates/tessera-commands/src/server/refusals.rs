//! What the limits refused, reported to the server's owner.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tessera_kit::report::{Fact, Report};
use tessera_tokio::{Counts, ServerCounts};
use tokio::time::interval;

/// Reports what the limits refused.
pub(super) struct Refusals {
    counts: ServerCounts,
    report: Arc<Report>,
    /// The sums reported last.
    told: Mutex<LimitSums>,
}

impl Refusals {
    pub(super) fn new(counts: ServerCounts, report: Arc<Report>) -> Self {
        let told = Mutex::new(LimitSums::new(&counts.now()));
        Self { counts, report, told }
    }

    /// Reports at intervals: an attacker must not be able to flood the report.
    pub(super) async fn tell(self: Arc<Self>) {
        let mut interval = interval(PAUSE);
        loop {
            interval.tick().await;
            self.tell_news();
        }
    }

    /// Reports the sums if they have changed.
    pub(super) fn tell_news(&self) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let now = LimitSums::new(&self.counts.now());
        if now != *told {
            self.report.print(&now);
            *told = now;
        }
    }
}

/// Connections refused or ended by limits since the server began.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct LimitSums {
    refused_connections_of_address: u64,
    refused_handshakes_of_address: u64,
    ended_idle: u64,
    ended_not_reading: u64,
    accept_errors: u64,
}

impl Fact for LimitSums {
    const EVENT: &'static str = "limits";
}

impl LimitSums {
    fn new(counts: &Counts) -> Self {
        Self {
            refused_connections_of_address: counts.refused_connections,
            refused_handshakes_of_address: counts.refused_handshakes,
            ended_idle: counts.idle,
            ended_not_reading: counts.stalled,
            accept_errors: counts.accept_errors,
        }
    }

    fn parts(&self) -> [(u64, &'static str); 5] {
        [
            (self.refused_connections_of_address, "refused, too many connections from one address"),
            (self.refused_handshakes_of_address, "refused, too many handshakes from one address"),
            (self.ended_idle, "ended, idle for too long"),
            (self.ended_not_reading, "ended, didn't read for too long"),
            (self.accept_errors, "times there was no file or memory for a connection"),
        ]
    }
}

/// One line for people.
impl fmt::Display for LimitSums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("limits, since the start")?;
        let parts = self.parts().into_iter().filter(|(count, _)| *count > 0);
        for (index, (count, what)) in parts.enumerate() {
            let before = if index == 0 { ": " } else { "; " };
            write!(f, "{before}{count} {what}")?;
        }
        Ok(())
    }
}

/// The interval between two lines.
const PAUSE: Duration = Duration::from_secs(10);
