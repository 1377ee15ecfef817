//! The metrics of a process.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::{Metric, Registry, Unit};

use super::process::Process;

/// All metrics of a process, including its own (`process_…`). Clones share the same metrics.
///
/// Names follow OpenMetrics: a counter gets `_total`, a unit its suffix such as `_seconds`, a help text its full stop.
/// Use labels only for what the configuration names: a label value taken from a peer makes the metrics grow with every
/// peer.
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
    /// Creates the metrics of the process, which begins now.
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

    /// Adds a metric with its unit, which becomes its suffix.
    pub fn register_with_unit(&self, name: &str, help: &str, unit: Unit, metric: impl Metric) {
        self.with(|registry| registry.register_with_unit(name, help, unit, metric));
    }

    /// Adds metrics that are collected at each request.
    pub fn register_collector(&self, collector: impl Collector) {
        self.with(|registry| registry.register_collector(Box::new(collector)));
    }

    /// Returns all of them in OpenMetrics' text format, version 1.0.0.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // A String accepts everything, and collectors omit what they can't read.
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
