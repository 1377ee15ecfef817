//! The link of all rows of a report.

use serde::{Deserialize, Serialize};

/// The link's parameters, except for the round-trip time. Those without effect are null, never absent.
#[derive(Serialize, Deserialize)]
pub struct LinkReport {
    /// How it was made: `tun` or `loopback`.
    pub kind: String,
    /// The share of packets that is lost.
    pub loss: f64,
    /// The mean length of a burst of losses, in packets; 1 for independent losses.
    pub loss_burst: f64,
    /// The mean delay of a packet by others in each direction, as a share of the round-trip time, or as a time; `None`
    /// for both without congestion.
    #[serde(deserialize_with = "Option::deserialize")]
    pub congestion: Option<f64>,
    /// The same delay as a time, in milliseconds.
    #[serde(deserialize_with = "Option::deserialize")]
    pub congestion_ms: Option<f64>,
    /// The jitter, in milliseconds.
    pub jitter_ms: f64,
    /// The rate, in bits a second; `None` for any.
    #[serde(deserialize_with = "Option::deserialize")]
    pub rate_bps: Option<u64>,
    /// The largest packet, in bytes.
    pub mtu: u16,
}

impl LinkReport {
    /// Whether the link only adds delay. 1,500 bytes is the MTU of Ethernet, and the lab's default.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        let Self { kind: _, loss, loss_burst: _, congestion, congestion_ms, .. } = *self;
        let congested = [congestion, congestion_ms].into_iter().flatten().any(|mean| mean > 0.0);
        let is_fast = self.jitter_ms == 0.0 && self.rate_bps.is_none() && self.mtu == 1_500;
        loss == 0.0 && !congested && is_fast
    }
}
