//! How N32-f connections to and from a peer are resumed.

use std::time::Duration;

use http::Method;
use serde::Deserialize;
use tessera_proxy::with_defaults;

use super::{Operation, values};

with_defaults! {
    /// `[peer.NAME.reconnection]`. The first connection of an association is always a full handshake with certificates,
    /// and N32-c never resumes.
    #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
    pub struct Reconnection {
        /// Whether later connections resume, with a fresh key agreement (psk_dhe_ke). Default: yes.
        pub resume: bool = true,
        /// Whether requests may go in the first flight of a resumed connection. Default: never.
        pub early_data: EarlyData = EarlyData::Never,
        /// Their allowed methods. Default: only GET; POST never.
        #[serde(deserialize_with = "values::methods")]
        pub early_methods: Vec<Method> = vec![Method::GET],
        /// Requests that are repeated if it is unknown whether the first was processed: `["GET /nnrf-disc/*"]`.
        /// Default: none; the network function gets 504.
        pub repeatable: Vec<Operation> = Vec::new(),
        /// Whether connections may resume without a key agreement (psk_ke): an attacker who gets the ticket key can
        /// decrypt them later. Default: no.
        pub risky_psk_ke: bool = false,
        /// Whether replayable early data (TLS 1.3's own 0-RTT) is also accepted. This SEPP never sends it. Default: no.
        pub risky_replayable_early_data: bool = false,
        /// The lifetime of its tickets. Default: `[tickets] lifetime`.
        #[serde(deserialize_with = "values::some_duration")]
        pub ticket_lifetime: Option<Duration> = None,
    }
}

/// Whether requests go in a first flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EarlyData {
    /// Never.
    #[default]
    Never,
    /// Forward-secret early data, processed at most once (docs/0rtt-fs.md).
    Fs,
}
