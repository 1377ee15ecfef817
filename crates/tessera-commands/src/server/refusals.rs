//! What the limits did, for the server's owner.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tessera_kit::report::Report;
use tessera_tokio::{Counts, ServerCounts};
use tokio::time::interval;

/// Tells from time to time what the limits did, if they did anything since: who attacks shall not write
/// the report.
pub(super) async fn tell(counts: ServerCounts, report: Arc<Report>) {
    let mut told = Refusals::new(&counts.now());
    let mut interval = interval(PAUSE);
    loop {
        interval.tick().await;
        let now = Refusals::new(&counts.now());
        if now != told {
            report.tell(&now);
            told = now;
        }
    }
}

/// The sums, at the end.
pub(super) fn tell_last(counts: &ServerCounts, report: &Report) {
    let now = Refusals::new(&counts.now());
    if now.any() {
        report.tell(&now);
    }
}

/// Connections that the limits refused or ended, since the server began.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Refusals {
    event: &'static str,
    refused_connections_of_address: u64,
    refused_handshakes_of_address: u64,
    ended_idle: u64,
    ended_not_reading: u64,
    accept_errors: u64,
}

impl Refusals {
    fn new(counts: &Counts) -> Self {
        Self {
            event: "limits",
            refused_connections_of_address: counts.refused_connections,
            refused_handshakes_of_address: counts.refused_handshakes,
            ended_idle: counts.idle,
            ended_not_reading: counts.stalled,
            accept_errors: counts.accept_errors,
        }
    }

    fn parts(&self) -> [(u64, &'static str); 5] {
        [
            (self.refused_connections_of_address, "refused, too many connections of one address"),
            (self.refused_handshakes_of_address, "refused, too many handshakes of one address"),
            (self.ended_idle, "ended, idle for too long"),
            (self.ended_not_reading, "ended, didn't read for too long"),
            (self.accept_errors, "times no file or memory for a connection"),
        ]
    }

    fn any(&self) -> bool {
        self.parts().iter().any(|(count, _)| *count > 0)
    }
}

/// One line for people.
impl fmt::Display for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("limits, since the beginning")?;
        let parts = self.parts().into_iter().filter(|(count, _)| *count > 0);
        for (index, (count, what)) in parts.enumerate() {
            let before = if index == 0 { ": " } else { "; " };
            write!(f, "{before}{count} {what}")?;
        }
        Ok(())
    }
}

/// How long it waits between two lines.
const PAUSE: Duration = Duration::from_secs(10);
