//! Header fields of the service-based interface that a SEPP reads or writes (TS 29.500 §5.2.3).

use http::HeaderMap;
use http::header::HeaderName;

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

/// Removes headers of a single connection (RFC 9110 §7.6.1), for HTTP/1.1 on either side. `TE: trailers` is the
/// exception in HTTP/2 (RFC 9113 §8.2.2).
pub fn remove_hop_by_hop(headers: &mut HeaderMap) {
    use http::header::{CONNECTION, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, UPGRADE};
    if let Some(named) = headers.remove(CONNECTION) {
        let named = named.to_str().unwrap_or_default().split(',').map(str::trim);
        for name in named.filter_map(|name| HeaderName::from_bytes(name.as_bytes()).ok()) {
            // RFC 9110 §7.6.1: these concern the message itself.
            if name != TARGET_API_ROOT && name != ORIGINATING_NETWORK_ID && name != TE {
                headers.remove(name);
            }
        }
    }
    for name in [KEEP_ALIVE, PROXY_CONNECTION, TRANSFER_ENCODING, UPGRADE] {
        headers.remove(name);
    }
    headers.remove(PROXY_AUTHENTICATE);
    headers.remove(PROXY_AUTHORIZATION);
    if headers.get(TE).is_some_and(|te| te != "trailers") {
        headers.remove(TE);
    }
}

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const TRANSFER_ENCODING: HeaderName = http::header::TRANSFER_ENCODING;

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
            ("x-mine", "1"),
            ("te", "gzip, trailers"),
            ("transfer-encoding", "chunked"),
            ("3gpp-sbi-target-apiroot", "http://a"),
            ("accept", "*/*"),
        ]);
        remove_hop_by_hop(&mut headers);
        assert_eq!(headers.len(), 2);
        assert!(headers.contains_key(TARGET_API_ROOT) && headers.contains_key("accept"));
    }
}
