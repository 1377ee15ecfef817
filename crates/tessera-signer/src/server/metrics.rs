//! Metrics of a signer.

use tessera_proxy::admin::{Counters, Families, Gauges, Metrics};

use crate::wire::Refusal;

/// The metrics, by the conventions of Prometheus.
///
/// | metric | labels | value |
/// |---|---|---|
/// | `tessera_signer_signatures_total` | `key` | signatures |
/// | `tessera_signer_refusals_total` | `key` (empty if unknown), `reason` | requests that were refused |
/// | `tessera_signer_connections` | | connections of clients |
/// | `tessera_signer_failed_connections_total` | | failed handshakes, and connections that ended because of malformed input |
#[derive(Clone)]
pub(super) struct SignerMetrics {
    signatures: Counters,
    refusals: Counters,
    connections: Gauges,
    failed: Counters,
}

/// One connection among those counted.
pub(super) struct OpenConnection(Gauges);

impl SignerMetrics {
    pub(super) fn register(metrics: &Metrics) -> Self {
        let families = Families(metrics, "tessera_signer_");
        Self {
            signatures: families.counters("signatures", "Signatures"),
            refusals: families.counters("refusals", "Requests that were refused"),
            connections: families.gauges("connections", "Connections of clients"),
            failed: families.counters(
                "failed_connections",
                "Failed handshakes, and connections that ended because of malformed input",
            ),
        }
    }

    pub(super) fn signed(&self, key: &str) {
        self.signatures.get_or_create(&vec![("key", key.to_owned())]).inc();
    }

    pub(super) fn refused(&self, key: &str, refusal: Refusal) {
        let labels = vec![("key", key.to_owned()), ("reason", refusal.name().to_owned())];
        self.refusals.get_or_create(&labels).inc();
    }

    pub(super) fn failed(&self) {
        self.failed.get_or_create(&Vec::new()).inc();
    }

    pub(super) fn opened(&self) -> OpenConnection {
        self.connections.get_or_create(&Vec::new()).inc();
        OpenConnection(self.connections.clone())
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.get_or_create(&Vec::new()).dec();
    }
}
