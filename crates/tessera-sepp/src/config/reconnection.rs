//! How N32-f connections to and from a peer come back.

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
        /// Whether later ones resume, with a fresh key agreement (psk_dhe_ke). Default: yes.
        pub resume: bool = true,
        /// Whether requests may go in the first flight of a resumed one. Default: never.
        pub early_data: EarlyData = EarlyData::Never,
        /// Which methods may. Default: GET alone; POST never.
        #[serde(deserialize_with = "values::methods")]
        pub early_methods: Vec<Method> = vec![Method::GET],
        /// Requests that are sent once more where nobody knows whether the first was processed:
        /// `["GET /nnrf-disc/*"]`. Default: none, and the network function gets 504.
        pub repeatable: Vec<Operation> = Vec::new(),
        /// Whether connections may resume without a key agreement (psk_ke): whoever gets the ticket key reads them later.
        /// Default: no.
        pub risky_psk_ke: bool = false,
        /// Whether early data is also taken where it can be replayed (TLS 1.3's own 0-RTT). None is sent. Default: no.
        pub risky_replayable_early_data: bool = false,
        /// How long a ticket of it lasts. Default: `[tickets] lifetime`.
        #[serde(deserialize_with = "values::some_duration")]
        pub ticket_lifetime: Option<Duration> = None,
    }
}

/// Whether requests go in a first flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EarlyData {
    /// None.
    #[default]
    Never,
    /// Forward-secret, processed at most once (docs/0rtt-fs.md).
    Fs,
}
