//! The report of the experiment `sites`: every sample, as JSON.

use serde::Serialize;
use tessera_link::LinkKind;
use tessera_reports::{LinkReport, Machine, Mode};

use super::path::Path;
use crate::control::EarlyDataOutcome;

/// Describes the link between the sites.
pub(crate) fn between_sites(kind: LinkKind) -> &'static str {
    match kind {
        LinkKind::Tun => {
            "mutual TLS between two processes, over an emulated link that only has a round-trip time"
        }
        _ => "mutual TLS between two processes, over loopback",
    }
}

/// The experiment with its results.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) experiment: &'static str,
    pub(crate) seed: u64,
    pub(crate) machine: Machine,
    /// Between the client and each site.
    pub(crate) link: LinkReport,
    pub(crate) between_sites: &'static str,
    pub(crate) rows: Vec<Row>,
}

/// One path at one pair of round-trip times.
#[derive(Serialize)]
pub(crate) struct Row {
    pub(crate) path: Path,
    pub(crate) mode: Mode,
    /// The client's verdict on its early data, in every sample.
    pub(crate) told: Option<EarlyDataOutcome>,
    pub(crate) rtt_ms: f64,
    pub(crate) site_rtt_ms: f64,
    /// How long a site waits for an acknowledgement.
    pub(crate) patience_ms: f64,
    pub(crate) samples: Vec<Sample>,
    /// How often one request was executed at both sites together, its first flight having been
    /// recorded and sent home and to the other site; measured.
    pub(crate) replay_executions: u32,
}

/// One connection, in microseconds since before connect().
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Sample {
    /// connect() returned.
    pub(crate) tcp_us: f64,
    /// A server's application had the first byte of the request; `None` if it was given up.
    pub(crate) first_byte_us: Option<f64>,
    /// The client had its verdict.
    pub(crate) verdict_us: Option<f64>,
    /// The client's handshake was complete.
    pub(crate) handshake_us: f64,
    /// The client held the first byte of the response.
    pub(crate) response_us: Option<f64>,
}
