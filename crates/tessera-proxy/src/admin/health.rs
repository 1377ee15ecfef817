//! Readiness of a process.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

/// Named conditions: a process is ready while all of them hold. Clones share the same conditions.
///
/// ```
/// use tessera_proxy::admin::Health;
///
/// let health = Health::new();
/// let listening = health.condition("listener");
/// assert_eq!(health.reasons(), ["listener: not yet"]);
/// listening.holds();
/// assert!(health.is_ready());
/// listening.fails("the address is in use");
/// assert_eq!(health.reasons(), ["listener: the address is in use"]);
/// drop(listening);
/// assert!(health.is_ready());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Health(Arc<Mutex<Conditions>>);

#[derive(Debug, Default)]
struct Conditions {
    /// For each condition, the reason if it doesn't hold.
    reasons: BTreeMap<Id, Option<String>>,
    next: u64,
}

/// Two conditions may have the same name.
type Id = (String, u64);

/// A condition of a [`Health`]. Dropping it removes the condition.
#[derive(Debug)]
pub struct Condition {
    health: Health,
    id: Id,
}

impl Health {
    /// Creates it without conditions: ready.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a condition that doesn't hold yet.
    #[must_use = "a condition goes with its value"]
    pub fn condition(&self, name: impl Into<String>) -> Condition {
        let mut conditions = self.lock();
        let id = (name.into(), conditions.next);
        conditions.next += 1;
        conditions.reasons.insert(id.clone(), Some("not yet".to_owned()));
        drop(conditions);
        Condition { health: self.clone(), id }
    }

    /// Whether all conditions hold.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.lock().reasons.values().all(Option::is_none)
    }

    /// Returns the conditions that don't hold, each with its reason.
    #[must_use]
    pub fn reasons(&self) -> Vec<String> {
        let conditions = self.lock();
        let failing = conditions.reasons.iter().filter_map(|((name, _), reason)| {
            reason.as_ref().map(|reason| format!("{name}: {reason}"))
        });
        failing.collect()
    }

    fn lock(&self) -> MutexGuard<'_, Conditions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Condition {
    /// Marks it as holding.
    pub fn holds(&self) {
        self.set(None);
    }

    /// Marks it as not holding, with a reason for operators: one line.
    pub fn fails(&self, reason: impl fmt::Display) {
        self.set(Some(reason.to_string()));
    }

    fn set(&self, reason: Option<String>) {
        self.health.lock().reasons.insert(self.id.clone(), reason);
    }
}

impl Drop for Condition {
    fn drop(&mut self) {
        self.health.lock().reasons.remove(&self.id);
    }
}

/// For [`Metrics::register_collector`](super::Metrics::register_collector): `tessera_ready`, and
/// `tessera_condition_holds` by name.
impl Collector for Health {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut holding = BTreeMap::new();
        for ((name, _), reason) in &self.lock().reasons {
            *holding.entry(name.clone()).or_insert(true) &= reason.is_none();
        }
        let ready = ConstGauge::new(u64::from(holding.values().all(|holds| *holds)));
        let help = "Whether all conditions hold: 1, or 0.";
        ready.encode(encoder.encode_descriptor(
            "tessera_ready",
            help,
            None,
            ready.metric_type(),
        )?)?;
        if holding.is_empty() {
            return Ok(());
        }
        let help = "Whether the condition holds: 1, or 0.";
        let mut family =
            encoder.encode_descriptor("tessera_condition_holds", help, None, MetricType::Gauge)?;
        for (name, holds) in holding {
            let holds = ConstGauge::new(u64::from(holds));
            holds.encode(family.encode_family(&[("condition", name)])?)?;
        }
        Ok(())
    }
}
