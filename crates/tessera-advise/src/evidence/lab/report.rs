//! The lab's reports, as far as advice uses them.

use serde::Deserialize;

use super::samples::{self, Sample};
use crate::evidence::ways::{Continuation, KeyExchange, Letter, OneTimeKey, Store, Way};
use crate::evidence::{ForwardSecrecy, IssuingCost, Link, Setup};

/// The common head of all reports.
#[derive(Deserialize)]
pub(super) struct Head {
    pub(super) experiment: String,
    pub(super) seed: u64,
    pub(super) machine: Machine,
    pub(super) revision: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Machine {
    pub(super) cpu: String,
    pub(super) cores: usize,
    pub(super) kernel: String,
}

#[derive(Deserialize)]
pub(super) struct Reconnect {
    pub(super) link: CommonLink,
    pub(super) rows: Vec<Row>,
}

/// The link's parameters in all rows, except for the round-trip time. Those without effect are null.
#[derive(Deserialize)]
pub(super) struct CommonLink {
    pub(super) loss: f64,
    pub(super) loss_burst: f64,
    #[serde(deserialize_with = "Option::deserialize")]
    pub(super) congestion: Option<f64>,
    #[serde(deserialize_with = "Option::deserialize")]
    pub(super) congestion_ms: Option<f64>,
    pub(super) jitter_ms: f64,
    #[serde(deserialize_with = "Option::deserialize")]
    pub(super) rate_bps: Option<u64>,
    pub(super) mtu: u16,
}

impl CommonLink {
    /// Whether the link only adds delay. 1,500 bytes is the MTU of Ethernet, and the lab's default.
    pub(super) fn is_plain(&self) -> bool {
        let Self { loss, loss_burst: _, congestion, congestion_ms, jitter_ms, rate_bps, mtu } =
            *self;
        let congested = [congestion, congestion_ms].into_iter().flatten().any(|mean| mean > 0.0);
        loss == 0.0 && !congested && jitter_ms == 0.0 && rate_bps.is_none() && mtu == 1_500
    }
}

#[derive(Deserialize)]
pub(super) struct Row {
    #[serde(flatten)]
    pub(super) way: WayInReport,
    pub(super) fast_open: Option<SynData>,
    pub(super) rtt_ms: f64,
    pub(super) samples: Vec<Sample>,
    pub(super) first_flight: f64,
    pub(super) bytes: Sides,
    pub(super) verdicts: Verdicts,
}

#[derive(Deserialize)]
pub(super) struct SynData {}

#[derive(Deserialize)]
pub(super) struct Sides {
    pub(super) client: f64,
    pub(super) server: f64,
}

#[derive(Deserialize)]
pub(super) struct Verdicts {
    pub(super) first_byte_fs: ForwardSecrecy,
    pub(super) session_fs: ForwardSecrecy,
    pub(super) replay_executions: u32,
    pub(super) pq_confidentiality: bool,
}

#[derive(Deserialize)]
pub(super) struct RoamingReport {
    pub(super) cells: Vec<RoamingCell>,
}

#[derive(Deserialize)]
pub(super) struct RoamingCell {
    pub(super) option: Letter,
    #[serde(flatten)]
    pub(super) way: WayInReport,
    pub(super) suite: String,
    pub(super) through: Setup,
    pub(super) link: Link,
    #[serde(deserialize_with = "samples::of_columns")]
    pub(super) samples: Vec<Sample>,
    pub(super) failed: usize,
    pub(super) bytes: Bytes,
    pub(super) issuing: Option<IssuingCost>,
}

#[derive(Deserialize)]
pub(super) struct Bytes {
    pub(super) client: Option<f64>,
    pub(super) server: Option<f64>,
    pub(super) first_flight: Option<f64>,
}

#[derive(Deserialize)]
pub(super) struct LoadReport {
    pub(super) cells: Vec<LoadCell>,
}

#[derive(Deserialize)]
pub(super) struct LoadCell {
    pub(super) option: Letter,
    #[serde(flatten)]
    pub(super) way: WayInReport,
    pub(super) suite: String,
    pub(super) kind: Kind,
    pub(super) users: usize,
    pub(super) rtt_ms: f64,
    /// Per user.
    pub(super) reconnections: u64,
    /// How many tickets were made beforehand, which a vault holds. They come in packs: more than are used.
    pub(super) tickets: u64,
    pub(super) failed: u64,
    pub(super) first_accepted_us: Vec<(f64, u64)>,
    pub(super) server_cpu_us_per_connection: f64,
    pub(super) server_tls_us_per_connection: f64,
    pub(super) vault_bytes: Option<f64>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Users,
    Storm,
}

/// A way, as in reports.
#[derive(Deserialize)]
pub(super) struct WayInReport {
    pub(super) mode: Mode,
    pub(super) kx: Option<KxInReport>,
    pub(super) ticket_key: Option<OneTimeKey>,
    pub(super) continuation: Option<Continuation>,
    #[serde(default)]
    pub(super) store: Store,
}

/// `reconnect` writes `none` where the others write `null`.
#[derive(Deserialize)]
pub(super) enum KxInReport {
    #[serde(rename = "none")]
    None,
    #[serde(untagged)]
    Some(KeyExchange),
}

/// The lab's names of the ways.
#[derive(Clone, Copy, Deserialize)]
pub(super) enum Mode {
    #[serde(rename = "full")]
    Full,
    #[serde(rename = "psk-only")]
    PskOnly,
    #[serde(rename = "psk-dhe")]
    PskDhe,
    #[serde(rename = "0rtt")]
    ZeroRtt,
    #[serde(rename = "0rtt-unguarded")]
    ZeroRttUnguarded,
    #[serde(rename = "0rtt-fs", alias = "0rtt-fs-psk")]
    ZeroRttFs,
}

impl WayInReport {
    pub(super) fn of_mode(self) -> Way {
        let option = match self.mode {
            Mode::Full => Letter::A,
            Mode::PskOnly => Letter::B,
            Mode::PskDhe => Letter::C,
            Mode::ZeroRttUnguarded => Letter::D,
            Mode::ZeroRtt => Letter::DSingleUse,
            Mode::ZeroRttFs => Letter::E,
        };
        self.of_option(option)
    }

    pub(super) fn of_option(self, option: Letter) -> Way {
        let kx = match self.kx {
            Some(KxInReport::Some(kx)) => Some(kx),
            Some(KxInReport::None) | None => None,
        };
        let Self { ticket_key, continuation, store, .. } = self;
        Way { option, kx, ticket_key, continuation, store }
    }
}
