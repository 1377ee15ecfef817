//! The metrics of gates, collected at each request.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::gauge::ConstGauge;

use super::{Gate, GateCounts};
use crate::admin::Labels;

/// The gates of a process, for [`Metrics::register_collector`](crate::admin::Metrics::register_collector):
/// `PREFIX_refused_connections_total{reason}`, `PREFIX_timed_out_connections_total{limit}`,
/// `PREFIX_accept_errors_total`, `PREFIX_open_handshakes`.
#[derive(Clone)]
pub struct Gates {
    prefix: &'static str,
    watched: Arc<Mutex<Vec<MonitoredGate>>>,
}

/// A gate, with its later refusals.
struct MonitoredGate {
    labels: Labels,
    gate: Gate,
    refused: Vec<(&'static str, Counter)>,
}

impl Gates {
    /// Creates it without gates. The prefix includes its `_`.
    #[must_use]
    pub fn new(prefix: &'static str) -> Self {
        Self { prefix, watched: Arc::default() }
    }

    /// Exposes this gate's counters, replacing an earlier gate with the same labels, and the connections refused behind
    /// it, by reason.
    pub fn watch(&self, labels: &Labels, gate: Gate, refused: Vec<(&'static str, Counter)>) {
        let mut all = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|watched| watched.labels != *labels);
        all.push(MonitoredGate { labels: labels.clone(), gate, refused });
    }
}

impl fmt::Debug for Gates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gates").finish_non_exhaustive()
    }
}

impl Collector for Gates {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let all = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let counts: Vec<_> = all.iter().map(|watched| (watched, watched.gate.counts())).collect();
        let mut tell = |name: &str, help: &str, series: &[(Labels, Value)]| {
            let Some((_, first)) = series.first() else { return Ok(()) };
            let name = format!("{}{name}", self.prefix);
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
        tell(
            "timed_out_connections",
            "Connections that had no requests, or moved no data, for too long.",
            &timed_out,
        )?;
        let help =
            "How often the system could not accept a connection, for lack of files or memory.";
        tell("accept_errors", help, &each(|now| Value::counter(now.since_start.accept_errors)))?;
        let help = "Handshakes with clients in progress now.";
        tell(
            "open_handshakes",
            help,
            &each(|now| Value::Gauge(ConstGauge::new(now.handshakes as u64))),
        )
    }
}

impl MonitoredGate {
    fn refused(&self, now: &GateCounts) -> Vec<(Labels, Value)> {
        let own = [
            // Its address has too many connections.
            ("connections_per_address", now.since_start.refused_connections),
            // Its address has too many handshakes in progress.
            ("handshakes_per_address", now.since_start.refused_handshakes),
            // Its address opens connections too fast.
            ("rate", now.refused_rate),
        ];
        let behind = self.refused.iter().map(|(reason, counter)| (*reason, counter.get()));
        let series = |(reason, count)| (self.labelled("reason", reason), Value::counter(count));
        own.into_iter().chain(behind).map(series).collect()
    }

    fn timed_out(&self, now: &GateCounts) -> [(Labels, Value); 2] {
        let idle = now.since_start.idle + now.without_requests;
        let write = now.since_start.stalled;
        [("idle", idle), ("write", write)]
            .map(|(limit, count)| (self.labelled("limit", limit), Value::counter(count)))
    }

    fn labelled(&self, key: &'static str, value: &str) -> Labels {
        let mut labels = self.labels.clone();
        labels.push((key, value.to_owned()));
        labels
    }
}

/// The value of a counter or a gauge.
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
