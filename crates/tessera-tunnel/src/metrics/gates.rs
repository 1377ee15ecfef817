//! What gates count, looked up when somebody asks for it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tessera_proxy::admin::prometheus_client::collector::Collector;
use tessera_proxy::admin::prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use tessera_proxy::admin::prometheus_client::metrics::counter::{ConstCounter, Counter};
use tessera_proxy::admin::prometheus_client::metrics::gauge::ConstGauge;
use tessera_proxy::gate::{Gate, GateCounts};

use super::labels::{Label, Refusal};
use super::{Labels, PREFIX};

/// The gates of all tunnels.
#[derive(Clone, Default)]
pub(super) struct Gates(Arc<Mutex<Vec<Watched>>>);

/// A tunnel's gate, with what is counted behind it.
struct Watched {
    labels: Labels,
    gate: Gate,
    proxy_header: Counter,
}

impl Gates {
    /// Tells what this gate counts, in the place of an earlier one with these labels.
    pub(super) fn watch(&self, labels: &Labels, gate: Gate, proxy_header: Counter) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|watched| watched.labels != *labels);
        all.push(Watched { labels: labels.clone(), gate, proxy_header });
    }
}

impl fmt::Debug for Gates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gates").finish_non_exhaustive()
    }
}

impl Collector for Gates {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counts: Vec<_> = all.iter().map(|watched| (watched, watched.gate.counts())).collect();
        let mut tell = |name: &str, help: &str, series: &[(Labels, Value)]| {
            let Some((_, first)) = series.first() else { return Ok(()) };
            let name = format!("{PREFIX}{name}");
            let metric_type = first.metric().metric_type();
            let mut family = encoder.encode_descriptor(&name, help, None, metric_type)?;
            series.iter().try_for_each(|(labels, value)| {
                value.metric().encode(family.encode_family(labels)?)
            })
        };
        let each = |value: fn(&GateCounts) -> Value| -> Vec<_> {
            counts.iter().map(|(watched, now)| (watched.labels.clone(), value(now))).collect()
        };
        let refused: Vec<_> =
            counts.iter().flat_map(|(watched, now)| watched.refused(now)).collect();
        tell("refused_connections", "Connections refused at once, by reason.", &refused)?;
        let timed_out: Vec<_> =
            counts.iter().flat_map(|(watched, now)| watched.timed_out(now)).collect();
        tell("timed_out_connections", "Connections that moved nothing for too long.", &timed_out)?;
        let help = "How often the system had no connection to give, for want of files or memory.";
        tell("accept_errors", help, &each(|now| Value::counter(now.since_start.accept_errors)))?;
        let help = "Handshakes with clients that are under way now.";
        tell(
            "open_handshakes",
            help,
            &each(|now| Value::Gauge(ConstGauge::new(now.handshakes as u64))),
        )
    }
}

impl Watched {
    fn refused(&self, now: &GateCounts) -> Vec<(Labels, Value)> {
        let refused = |reason: &Refusal| {
            let count = match reason {
                Refusal::ConnectionsPerAddress => now.since_start.refused_connections,
                Refusal::HandshakesPerAddress => now.since_start.refused_handshakes,
                Refusal::Rate => now.refused_rate,
                Refusal::ProxyHeader => self.proxy_header.get(),
            };
            (self.labelled(Refusal::KEY, reason.name()), Value::counter(count))
        };
        Refusal::ALL.iter().map(refused).collect()
    }

    fn timed_out(&self, now: &GateCounts) -> [(Labels, Value); 2] {
        let (idle, write) = (now.since_start.idle, now.since_start.stalled);
        [("idle", idle), ("write", write)]
            .map(|(limit, count)| (self.labelled("limit", limit), Value::counter(count)))
    }

    fn labelled(&self, key: &'static str, value: &str) -> Labels {
        let mut labels = self.labels.clone();
        labels.push((key, value.to_owned()));
        labels
    }
}

/// A number of either kind.
enum Value {
    Counter(ConstCounter<u64>),
    Gauge(ConstGauge<u64>),
}

impl Value {
    fn counter(count: u64) -> Self {
        Self::Counter(ConstCounter::new(count))
    }

    fn metric(&self) -> &dyn EncodeMetric {
        match self {
            Self::Counter(counter) => counter,
            Self::Gauge(gauge) => gauge,
        }
    }
}
