//! The links of a report's cells.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tessera_link::LinkParameters;

use crate::numbers::{count, plain, rate};

/// A link of the experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LinkName {
    pub(crate) rtt_ms: f64,
    /// Bits a second in each direction; `None`: no limit.
    pub(crate) rate_bps: Option<u64>,
    pub(crate) mtu: u16,
    pub(crate) loss: f64,
}

impl LinkName {
    /// Returns the link's parameters; random numbers start at this seed.
    pub(crate) fn parameters(&self, seed: u64) -> LinkParameters {
        let Self { rtt_ms, rate_bps, mtu, loss } = *self;
        LinkParameters {
            rtt: Duration::from_secs_f64(rtt_ms / 1e3),
            rate: rate_bps,
            mtu,
            loss,
            seed,
            ..LinkParameters::default()
        }
    }

    /// Describes a link: its rate, round-trip time and losses.
    pub(crate) fn words(&self) -> String {
        let Self { rtt_ms, rate_bps, mtu, loss } = *self;
        let parts = [
            rate_bps.map(rate),
            (rtt_ms > 0.0).then(|| format!("{} ms", plain(rtt_ms))),
            Some(format!("MTU {}", count(mtu))),
            (loss > 0.0).then(|| format!("loss {} %", plain(loss * 1e2))),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_described_in_words() {
        let link = LinkName { rtt_ms: 20.0, rate_bps: Some(250_000), mtu: 127, loss: 0.01 };
        assert_eq!(link.words(), "250 kbit/s, 20 ms, MTU 127, loss 1 %");
        let link = LinkName { rtt_ms: 0.0, rate_bps: None, mtu: 576, loss: 0.0 };
        assert_eq!(link.words(), "MTU 576");
    }
}
