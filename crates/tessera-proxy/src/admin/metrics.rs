//! The metrics of a process.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::{Metric, Registry, Unit};

use super::process::Process;

/// All metrics of a process, its own (`process_…`) among them. A clone is the same ones.
///
/// Names follow OpenMetrics: a counter's `_total` and a unit's `_seconds` are added, a help gets its full stop.
/// Whoever takes a label's value from a peer makes the metrics grow with its peers: labels are for what the
/// configuration names.
///
/// ```
/// use tessera_proxy::admin::Metrics;
/// use tessera_proxy::admin::prometheus_client::metrics::counter::Counter;
///
/// let metrics = Metrics::new();
/// let connections: Counter = Counter::default();
/// metrics.register("example_connections", "Connections that were accepted", connections.clone());
/// connections.inc();
/// assert!(metrics.text().contains("\nexample_connections_total 1\n"));
/// ```
#[derive(Clone)]
pub struct Metrics(Arc<Mutex<Registry>>);

impl Metrics {
    /// With those of the process, which begins now.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Process::new()));
        Self(Arc::new(Mutex::new(registry)))
    }

    /// Adds a metric, or a family of them.
    pub fn register(&self, name: &str, help: &str, metric: impl Metric) {
        self.with(|registry| registry.register(name, help, metric));
    }

    /// Adds a metric with its unit, which becomes the end of its name.
    pub fn register_with_unit(&self, name: &str, help: &str, unit: Unit, metric: impl Metric) {
        self.with(|registry| registry.register_with_unit(name, help, unit, metric));
    }

    /// Adds metrics that are looked up whenever someone asks for them.
    pub fn register_collector(&self, collector: impl Collector) {
        self.with(|registry| registry.register_collector(Box::new(collector)));
    }

    /// All of them in OpenMetrics' text format, version 1.0.0.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // A String takes everything, and collectors leave out what they can't find.
        let encoded = self.with(|registry| encode(&mut text, registry));
        encoded.map(|()| text).unwrap_or_else(|_| "# EOF\n".to_owned())
    }

    fn with<T>(&self, change: impl FnOnce(&mut Registry) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}
