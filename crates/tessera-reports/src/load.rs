//! The cells of the experiment `load`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::named::named;
use crate::variant::Variant;

/// One way of connecting under one load. `H` is a histogram: pairs of a time in microseconds and a count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell<H> {
    /// The variant.
    #[serde(flatten)]
    pub variant: Variant,
    /// How users come.
    pub kind: Kind,
    /// How many users reconnect repeatedly, or how many connections come back once.
    pub users: usize,
    /// Which of the storms of this size, from 1: each runs several times. 1 for users.
    #[serde(default = "first")]
    pub round: usize,
    /// The round-trip time, in milliseconds.
    pub rtt_ms: f64,
    /// How many reconnections each of them makes.
    pub reconnections: usize,
    /// How many of all reconnections failed, or were not of the row's way.
    pub failed: u64,
    /// How many failed for which reason.
    pub why_failed: BTreeMap<String, u64>,
    /// How many requests were answered.
    pub requests: u64,
    /// From the beginning, before the first connect(), until the last user had ended.
    pub seconds: f64,
    /// All requests over this time.
    pub requests_per_second: f64,
    /// When the server's application had an accepted request: since the user, or the storm, began.
    pub first_accepted_us: H,
    /// When the client had the response to it.
    pub response_us: H,
    /// When the last response of a registration was there. Storms make none.
    pub registration_us: H,
    /// Processor time of the server's process, including the kernel's work for it, over all requested reconnections;
    /// without the cost of measuring TLS.
    pub server_cpu_us_per_connection: f64,
    /// The part of it that is TLS: in calls of the stream, minus the socket's own calls. Reconnections issue no
    /// tickets: those that they use were made beforehand.
    pub server_tls_us_per_connection: f64,
    /// Processor time of the client's process, which has all users.
    pub client_cpu_us_per_connection: f64,
    /// The memory of all open connections of the cell on the server's heap: what closing them frees. It excludes keys
    /// and tickets that they used. `None` if the program didn't measure it.
    pub server_memory_bytes: Option<i64>,
    /// The memory of the prepared tickets there: in a vault, and 0 if the way has none. `None` if the program didn't
    /// measure it.
    pub vault_bytes: Option<i64>,
    /// How many these are: they come in packs.
    pub tickets: u64,
}

impl<H> Cell<H> {
    /// Whether it is a valid measure of its load: at most one in 1,000 reconnections failed. A failed one may have cost
    /// next to nothing, or a minute of patience.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        let asked = self.users.saturating_mul(self.reconnections) as u64;
        asked > 0 && self.failed.saturating_mul(1_000) <= asked
    }
}

/// Reports of one round don't number it.
fn first() -> usize {
    1
}

named! {
    /// How users come.
    Kind.name {
        /// Each user reconnects repeatedly, and registers each time.
        Users = "users",
        /// All had a connection, and come back at once.
        Storm = "storm",
    }
}
