//! The rows of the experiment `reconnect`.

use serde::{Deserialize, Serialize};

use crate::keys::{Continuation, KeyExchange, OneTimeKey};
use crate::mode::Mode;
use crate::sample::Sample;
use crate::sides::Sides;
use crate::verdicts::Verdicts;

/// One way of connecting at one round-trip time. `N` is what whole numbers are read as.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row<N = u64> {
    /// The mode.
    pub mode: Mode,
    /// How the handshake agrees a key; `None`, which this report writes as `none`, if it doesn't.
    #[serde(with = "or_none")]
    pub kx: Option<KeyExchange>,
    /// The kind of the one-time key.
    pub ticket_key: Option<OneTimeKey>,
    /// How the handshake continues after forward-secret early data.
    pub continuation: Option<Continuation>,
    /// What the SYNs carried, in rows with TCP Fast Open.
    pub fast_open: Option<SynData>,
    /// The round-trip time, in milliseconds.
    pub rtt_ms: f64,
    /// One for each connection.
    pub samples: Vec<Sample>,
    /// The client's bytes of TCP before it received anything: the median.
    pub first_flight: N,
    /// The bytes of a connection, including request, response, one new ticket and close_notify: the medians of what
    /// each side sent.
    pub bytes: Sides<N>,
    /// The memory of an idle connection at each side, in bytes: the medians. `None` if the program didn't measure it.
    pub heap: Option<Sides<N>>,
    /// What the adversary achieved.
    pub verdicts: Verdicts,
}

/// What the SYNs of a row carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SynData {
    /// How many bytes of the first flight: the median.
    pub bytes: u64,
    /// In how many of the connections the server accepted it: in all, unless packets are lost.
    pub taken: usize,
}

mod or_none {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::KeyExchange;

    #[derive(Serialize, Deserialize)]
    enum Word {
        #[serde(rename = "none")]
        None,
        #[serde(untagged)]
        Some(KeyExchange),
    }

    pub(super) fn serialize<S: Serializer>(
        kx: &Option<KeyExchange>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        kx.map_or(Word::None, Word::Some).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<KeyExchange>, D::Error> {
        Ok(match Word::deserialize(deserializer)? {
            Word::None => None,
            Word::Some(kx) => Some(kx),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The names that other programs rely on.
    #[test]
    fn the_reconnect_report_has_the_form_that_readers_expect() {
        let expected = json!({
            "mode": "psk-only", "kx": "none", "ticket_key": null, "continuation": null,
            "fast_open": { "bytes": 1, "taken": 2 }, "rtt_ms": 33.0,
            "samples": [{
                "tcp_us": 1.0, "first_byte_us": 2.0, "handshake_us": 3.0, "response_us": 4.0,
                "client_engine_us": 5.0, "server_engine_us": 6.0, "client_cpu_us": 7.0, "server_cpu_us": 8.0,
            }],
            "first_flight": 3, "bytes": { "client": 4, "server": 5 }, "heap": null,
            "verdicts": {
                "first_byte_fs": "none", "session_fs": "handshake", "replay_executions": 6,
                "pq_confidentiality": true,
            },
        });
        let row: Row = serde_json::from_value(expected.clone()).unwrap();
        assert_eq!(
            (row.mode, row.kx, row.samples[0].response_us),
            (Mode::PskOnly, None, Some(4.0))
        );
        assert_eq!(serde_json::to_value(&row).unwrap(), expected);
    }
}
