//! How messages are judged.

use std::num::NonZeroU32;

use serde::Deserialize;
use tessera_proxy::with_defaults;

use super::{ApiRule, KeySource, values};

with_defaults! {
    /// `[guard]`: for all peers.
    #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
    pub struct Guard {
        /// Rules that only log what they would refuse: `["plmn-in-json"]`. Default: none.
        pub log_only: Vec<String> = Vec::new(),
        /// The maximum length of inspected bodies (JSON, forms, multipart), in bytes or with a unit (`"256 KiB"`);
        /// longer ones are refused. Default: 256 KiB.
        #[serde(deserialize_with = "values::bytes")]
        pub inspected_body: u64 = 256 << 10,
        /// The maximum nesting of JSON. Default: 64.
        pub json_depth: u32 = 64,
        /// The key with which names of local network functions are hidden, the same in all instances of this SEPP.
        /// Default: a random one, so names that peers know become invalid when the process ends.
        #[serde(deserialize_with = "values::some_key")]
        pub hidden_names_key: Option<KeySource> = None,
    }
}

with_defaults! {
    /// `[peer.NAME.guard]`: for requests of one peer.
    #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
    pub struct PeerGuard {
        /// What it may request from local network functions: `["nnrf-disc", "nudm-sdm: GET"]`. Default: the services of
        /// roaming ([`PeerGuard::ROAMING`]).
        pub apis: Vec<ApiRule> = PeerGuard::ROAMING.into_iter().filter_map(|rule| rule.parse().ok()).collect(),
        /// Its rate limits.
        pub rate: Rate = Rate::default(),
        /// Whether addresses and names of local network functions are hidden from it. Default: yes.
        pub hide_topology: bool = true,
    }
}

impl PeerGuard {
    /// The services that visited and home networks request from each other (TS 23.501 §4.2.4), and `oauth2` for their
    /// access tokens.
    pub const ROAMING: [&str; 20] = [
        "nnrf-disc",
        // Networks subscribe to each other's profiles, and register none (TS 29.510 §5.2.2.5.3).
        "nnrf-nfm: POST, PATCH, DELETE /nnrf-nfm/v1/subscriptions/*",
        "nnrf-nfm: POST /nnrf-nfm/v1/nf-status-notify",
        "oauth2",
        "nausf-auth",
        // Not `nudm-ueau`, `nausf-sorprotection` or `nausf-upuprotection`: authentication vectors and protected
        // messages are for functions of the home network alone (TS 33.501 §6.1.3, §6.14, §6.15).
        "nudm-uecm",
        "nudm-sdm",
        // Only what AMFs ask of each other when a subscriber moves (TS 29.518 §5.2.2.2).
        "namf-comm: PUT /namf-comm/v1/ue-contexts/{ueContextId}",
        "namf-comm: POST /namf-comm/v1/ue-contexts/{ueContextId}/transfer",
        "namf-comm: POST /namf-comm/v1/ue-contexts/{ueContextId}/transfer-update",
        "namf-comm: POST /namf-comm/v1/ue-contexts/{ueContextId}/relocate",
        "namf-comm: POST /namf-comm/v1/ue-contexts/{ueContextId}/cancel-relocate",
        "namf-callback",
        // N16; `sm-contexts` are the AMF's, in the same network (TS 29.502 §5.2.2).
        "nsmf-pdusession: /nsmf-pdusession/v1/pdu-sessions/*",
        "nsmf-pdusession: POST /nsmf-pdusession/v1/vsmf-pdu-sessions/*",
        "nsmf-callback",
        "nnssf-nsselection",
        "npcf-ue-policy-control",
        "nudm-callback",
        "npcf-callback",
    ];
}

/// `rate = { requests = 2000, new-connections = 20 }`: per second, and also the burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Rate {
    /// Requests of the peer. Default: no limit.
    pub requests: Option<NonZeroU32>,
    /// Requests of the peer for each service. Default: no limit.
    pub requests_per_service: Option<NonZeroU32>,
    /// Its new connections, N32-c and N32-f together. Default: no limit but those of `[limits]`.
    pub new_connections: Option<NonZeroU32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_service_of_roaming_is_a_rule() {
        assert_eq!(PeerGuard::default().apis.len(), PeerGuard::ROAMING.len());
    }
}
