//! One-time keys: how many there are, and the outcome of lookups.

use std::fmt;
use std::sync::Arc;

use tessera::crypto::KeyForm;
use tessera::handshake::Reply;
use tessera::resume::{
    Absence, FlightHandle, Incarnation, PutRefused, PutSecret, TakeAnswer, TakePurpose, TakeSecret,
    Vault,
};
use tessera_proxy::admin::prometheus_client::collector::Collector;
use tessera_proxy::admin::prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use tessera_proxy::admin::prometheus_client::metrics::gauge::ConstGauge;

use super::{Metrics, TicketResult};

/// A vault that counts its takes. Answers that a remote vault sends later are counted there.
pub(crate) struct CountedVault {
    inner: Arc<dyn Vault>,
    metrics: Metrics,
}

impl CountedVault {
    pub(crate) fn new(inner: Arc<dyn Vault>, metrics: Metrics) -> Self {
        Self { inner, metrics }
    }

    fn count(&self, question: &TakeSecret, taken: &TakeAnswer) {
        if question.purpose != TakePurpose::Accept {
            return;
        }
        let own = self.inner.incarnation().map(|own| own.vault);
        let is_foreign =
            question.incarnation.is_some_and(|of| own.is_some_and(|own| own != of.vault));
        let result = match taken {
            TakeAnswer::Taken(_) => TicketResult::Ok,
            TakeAnswer::Absent(Absence::Used) => TicketResult::Replay,
            _ if is_foreign => TicketResult::ForeignShard,
            _ => TicketResult::Unknown,
        };
        self.metrics.ticket(result);
    }
}

impl Vault for CountedVault {
    fn put(&self, put: PutSecret<'_>) -> Result<(), PutRefused> {
        self.inner.put(put)
    }

    fn take(&self, question: &TakeSecret) -> Reply<TakeAnswer> {
        let reply = self.inner.take(question);
        if let Reply::Now(taken) = &reply {
            self.count(question, taken);
        }
        reply
    }

    fn burn(&self, handle: &FlightHandle) {
        self.inner.burn(handle);
    }

    fn key_form(&self) -> KeyForm {
        self.inner.key_form()
    }

    fn incarnation(&self) -> Option<Incarnation> {
        self.inner.incarnation()
    }

    fn len(&self) -> usize {
        self.inner.len()
    }
}

/// The number of keys in a vault, determined when metrics are read.
pub(super) struct Entries(pub(super) Arc<dyn Vault>);

impl fmt::Debug for Entries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Entries").finish()
    }
}

impl Collector for Entries {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let entries = ConstGauge::new(self.0.len() as u64);
        let help = "One-time keys that the vault holds now.";
        let name = "sepp_ticket_store_entries";
        entries.encode(encoder.encode_descriptor(name, help, None, entries.metric_type())?)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tessera_proxy::admin;
    use tessera_vault::MemoryVault;

    use super::*;

    #[test]
    fn a_key_that_was_never_put_is_unknown_and_burning_is_not_counted() {
        let registry = admin::Metrics::new();
        let metrics = Metrics::register(&registry);
        let vault = Arc::new(CountedVault::new(Arc::new(MemoryVault::new(4)), metrics.clone()));
        metrics.tell_entries(&registry, vault.clone());
        let now = Some(Duration::from_secs(1));
        for purpose in [TakePurpose::Accept, TakePurpose::Burn] {
            let question = TakeSecret::new(FlightHandle([7; 32]), purpose, now);
            assert!(matches!(vault.take(&question), Reply::Now(TakeAnswer::Absent(_))));
        }
        let text = registry.text();
        for line in [
            "sepp_ticket_consume_total{result=\"unknown\"} 1\n",
            "sepp_ticket_consume_total{result=\"ok\"} 0\n",
            "sepp_ticket_store_entries 0\n",
        ] {
            assert!(text.contains(line), "{line} in\n{text}");
        }
    }
}
