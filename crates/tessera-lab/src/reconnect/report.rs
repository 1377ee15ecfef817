//! The report of the experiment `reconnect`: every sample, as JSON.

use serde::{Serialize, Serializer};

use crate::experiment::LinkReport;
use crate::machine::Machine;
use crate::verdicts::Verdicts;
use crate::ways::{Agreement, Continuation, Mode, OneTimeKind, Way};

/// An experiment with its results.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) experiment: &'static str,
    pub(crate) seed: u64,
    pub(crate) machine: Machine,
    pub(crate) link: LinkReport,
    pub(crate) rows: Vec<Row>,
}

/// One way of connecting at one round-trip time.
#[derive(Serialize)]
pub(crate) struct Row {
    pub(crate) mode: Mode,
    #[serde(serialize_with = "or_none")]
    pub(crate) kx: Option<Agreement>,
    pub(crate) ticket_key: Option<OneTimeKind>,
    pub(crate) continuation: Option<Continuation>,
    /// What the SYNs carried, in rows with TCP Fast Open.
    pub(crate) fast_open: Option<SynData>,
    pub(crate) rtt_ms: f64,
    pub(crate) samples: Vec<Sample>,
    /// The client's bytes of TCP before it received anything: the median.
    pub(crate) first_flight: u64,
    /// The bytes of a connection, including request, response, one new ticket and close_notify: the medians of what
    /// each side sent.
    pub(crate) bytes: Sides<u64>,
    /// The memory of an idle connection at each side, in bytes: the medians. `None` if the program didn't measure it.
    pub(crate) heap: Option<Sides<u64>>,
    pub(crate) verdicts: Verdicts,
}

impl Row {
    /// Returns the way that was measured.
    pub(crate) fn way(&self) -> Way {
        let Self { mode, kx, ticket_key, continuation, fast_open, .. } = *self;
        Way { mode, kx, ticket_key, continuation, fast_open: fast_open.is_some() }
    }
}

/// What the SYNs of a row carried.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct SynData {
    /// How many bytes of the first flight: the median.
    pub(crate) bytes: u64,
    /// In how many of the connections the server accepted it: in all, unless packets are lost.
    pub(crate) taken: usize,
}

/// Returns what each way protects: the same at every round-trip time, unless an attack was more successful at one,
/// which then counts.
pub(crate) fn verdicts_by_way(rows: &[Row]) -> Vec<(Way, Verdicts)> {
    let mut ways: Vec<(Way, Verdicts)> = Vec::new();
    for row in rows {
        match ways.iter_mut().find(|(way, _)| *way == row.way()) {
            Some((_, verdicts)) => {
                let other = row.verdicts;
                verdicts.first_byte_fs = other.first_byte_fs.max(verdicts.first_byte_fs);
                verdicts.session_fs = other.session_fs.max(verdicts.session_fs);
                verdicts.replay_executions =
                    other.replay_executions.max(verdicts.replay_executions);
            }
            None => ways.push((row.way(), row.verdicts)),
        }
    }
    ways
}

/// Both sides of something.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Sides<T> {
    pub(crate) client: T,
    pub(crate) server: T,
}

/// One connection, in microseconds: since before connect() for the first four, and of processor
/// time for the others.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Sample {
    /// connect() returned.
    pub(crate) tcp_us: f64,
    /// The server's application held the first byte of an accepted request.
    pub(crate) first_byte_us: f64,
    /// The client's handshake was complete.
    pub(crate) handshake_us: f64,
    /// The client held the first byte of the response.
    pub(crate) response_us: f64,
    /// In the client's calls of the engine.
    pub(crate) client_engine_us: f64,
    /// In the server's calls of the engine.
    pub(crate) server_engine_us: f64,
    /// In the client's process, with the kernel's work for it.
    pub(crate) client_cpu_us: f64,
    /// In the server's process, with the kernel's work for it.
    pub(crate) server_cpu_us: f64,
}

fn or_none<S: Serializer>(kx: &Option<Agreement>, serializer: S) -> Result<S::Ok, S::Error> {
    match kx {
        Some(kx) => kx.serialize(serializer),
        None => serializer.serialize_str("none"),
    }
}
