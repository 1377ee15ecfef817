//! Which requests may be sent before the handshake completes, and which may be repeated.

use http::Method;

use crate::config::{EarlyData, Reconnection};

/// Returns whether a request may be in a first flight to a peer: only methods in the configuration (default: GET), and
/// never one that isn't idempotent, even if configured (RFC 8470 §4: a server that doesn't keep its promise may process
/// early data twice).
pub fn may_be_early(method: &Method, reconnection: &Reconnection) -> bool {
    reconnection.early_data != EarlyData::Never && may_come_early(method, reconnection)
}

/// Returns whether a peer's request may be processed before the handshake completes.
pub fn may_come_early(method: &Method, reconnection: &Reconnection) -> bool {
    can_be_early(method) && reconnection.early_methods.contains(method)
}

/// Returns whether a method can be early. Not POST, and not PATCH, which RFC 5789 §2 calls neither safe nor idempotent.
pub fn can_be_early(method: &Method) -> bool {
    method.is_idempotent()
}

/// Returns whether a request may be repeated if it is unknown whether the first was processed: a GET in the
/// configuration. `path` is without its query.
pub fn is_repeatable(method: &Method, path: &str, reconnection: &Reconnection) -> bool {
    *method == Method::GET
        && reconnection.repeatable.iter().any(|operation| operation.allows(method, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(methods: &[Method]) -> Reconnection {
        Reconnection {
            early_data: EarlyData::Fs,
            early_methods: methods.to_vec(),
            repeatable: vec![
                "GET /nnrf-disc/*".parse().unwrap(),
                "PUT /nudm-uecm/*".parse().unwrap(),
            ],
            ..Reconnection::default()
        }
    }

    #[test]
    fn only_configured_requests_are_early_and_never_post() {
        assert!(!may_be_early(&Method::GET, &Reconnection::default()));
        let replayable =
            Reconnection { risky_replayable_early_data: true, ..Reconnection::default() };
        assert!(!may_be_early(&Method::GET, &replayable));
        let named = with(&[Method::GET]);
        assert!(may_be_early(&Method::GET, &named) && !may_be_early(&Method::PUT, &named));
        let all = with(&[Method::GET, Method::PUT, Method::DELETE, Method::POST, Method::PATCH]);
        assert!(may_be_early(&Method::PUT, &all) && may_be_early(&Method::DELETE, &all));
        assert!(!may_be_early(&Method::POST, &all) && !may_be_early(&Method::PATCH, &all));
        assert!(!may_be_early(&Method::CONNECT, &all));
        assert!(may_come_early(&Method::GET, &replayable));
        assert!(!may_come_early(&Method::DELETE, &replayable));
        assert!(!may_come_early(&Method::POST, &all));
    }

    #[test]
    fn twice_goes_a_get_that_is_named_and_nothing_else() {
        let named = with(&[]);
        assert!(is_repeatable(&Method::GET, "/nnrf-disc/v1/nf-instances", &named));
        assert!(!is_repeatable(&Method::GET, "/nudm-sdm/v2/x", &named));
        assert!(!is_repeatable(&Method::PUT, "/nudm-uecm/v1/x", &named));
    }
}
