//! Header fields of the service-based interface that a SEPP reads or writes (TS 29.500 §5.2.3).

use http::HeaderMap;
use http::header::{HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION};
use tessera_proxy::http::hop_by_hop::remove_hop_by_hop_but;

/// The final target of a request: `https://nrf.5gc.mnc001.mcc001.3gppnetwork.org/prefix` (§5.2.3.2.4).
pub const TARGET_API_ROOT: HeaderName = HeaderName::from_static("3gpp-sbi-target-apiroot");
/// The network a request comes from (§5.2.3.2.15).
pub const ORIGINATING_NETWORK_ID: HeaderName =
    HeaderName::from_static("3gpp-sbi-originating-network-id");
/// How many more proxies a request may pass (§5.2.3.2.14).
pub const MAX_FORWARD_HOPS: HeaderName = HeaderName::from_static("3gpp-sbi-max-forward-hops");
/// How long the client waits, in milliseconds (§5.2.3.3.3).
pub const MAX_RSP_TIME: HeaderName = HeaderName::from_static("3gpp-sbi-max-rsp-time");
/// When the message was sent, in milliseconds (§5.2.3.3.2).
pub const SENDER_TIMESTAMP: HeaderName = HeaderName::from_static("3gpp-sbi-sender-timestamp");

/// The prefix of headers with which an NF asks its own SCP for discovery (§5.2.3.2.7).
const DISCOVERY: &str = "3gpp-sbi-discovery-";

/// The NRF that an SCP queries for its NF (§5.2.3).
const NRF: &str = "3gpp-sbi-nrf-uri";

/// Removes headers that only serve routing to this SEPP: the target, and discovery parameters and NRF for an SCP.
pub fn remove_routing(headers: &mut HeaderMap) {
    headers.remove(TARGET_API_ROOT);
    let is_discovery =
        |name: &HeaderName| [DISCOVERY, NRF].iter().any(|start| name.as_str().starts_with(start));
    // Hardly any request has one, so don't collect.
    while let Some(name) = headers.keys().find(|name| is_discovery(name)).cloned() {
        headers.remove(name);
    }
}

/// Removes headers of a single connection, for HTTP/1.1 on either side, and credentials for a proxy.
pub fn remove_hop_by_hop(headers: &mut HeaderMap) {
    // An NF can't have these removed by naming them in `Connection`.
    remove_hop_by_hop_but(headers, &[TARGET_API_ROOT, ORIGINATING_NETWORK_ID]);
    headers.remove(PROXY_AUTHENTICATE);
    headers.remove(PROXY_AUTHORIZATION);
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::HeaderValue;

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let field =
            |&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
        fields.iter().map(field).collect()
    }

    #[test]
    fn target_and_discovery_go_and_the_rest_stays() {
        let mut headers = headers(&[
            ("3gpp-sbi-target-apiroot", "http://a"),
            ("3gpp-sbi-discovery-target-nf-type", "UDM"),
            ("3gpp-sbi-nrf-uri", "nnrf-disc: \"http://nrf.inside\""),
            ("3gpp-sbi-discovery-service-names", "nudm-sdm"),
            ("3gpp-sbi-discovery-service-names", "nudm-uecm"),
            ("3gpp-sbi-originating-network-id", "001-01"),
        ]);
        remove_routing(&mut headers);
        assert_eq!(headers.len(), 1);
        assert!(headers.contains_key(ORIGINATING_NETWORK_ID));
    }

    #[test]
    fn connection_headers_are_not_passed_on() {
        let mut headers = headers(&[
            ("connection", "close, x-mine, 3gpp-sbi-target-apiroot"),
            ("connection", "x-other, 3gpp-sbi-originating-network-id"),
            ("x-mine", "1"),
            ("x-other", "1"),
            ("proxy-authorization", "Basic eA=="),
            ("3gpp-sbi-originating-network-id", "001-01"),
            ("te", "gzip, trailers"),
            ("transfer-encoding", "chunked"),
            ("3gpp-sbi-target-apiroot", "http://a"),
            ("accept", "*/*"),
        ]);
        remove_hop_by_hop(&mut headers);
        assert_eq!(headers.len(), 3, "{headers:?}");
        let kept = ["accept", "3gpp-sbi-target-apiroot", "3gpp-sbi-originating-network-id"];
        assert!(kept.iter().all(|name| headers.contains_key(*name)), "{headers:?}");
    }
}
