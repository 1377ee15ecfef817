//! Metrics with labels of known values.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Metric, Unit};

use super::Metrics;

/// The labels of a series.
pub type Labels = Vec<(&'static str, String)>;
/// Counters, by labels.
pub type Counters = Family<Labels, Counter>;

/// Gauges, by labels.
pub type Gauges = Family<Labels, Gauge>;

/// Registers families under a common prefix, including its `_`: each once in a process.
pub struct Families<'m>(pub &'m Metrics, pub &'static str);

impl Families<'_> {
    /// Registers counters.
    pub fn counters(&self, name: &str, help: &str) -> Counters {
        self.register(name, help, Counters::default())
    }

    /// Registers gauges.
    pub fn gauges(&self, name: &str, help: &str) -> Gauges {
        self.register(name, help, Gauges::default())
    }

    fn register<F: Metric + Clone>(&self, name: &str, help: &str, family: F) -> F {
        self.0.register(&format!("{}{name}", self.1), help, family.clone());
        family
    }

    /// Registers a family with its unit, which becomes its suffix.
    pub fn of_unit<F: Metric + Clone>(&self, name: &str, help: &str, unit: Unit, family: F) -> F {
        self.0.register_with_unit(&format!("{}{name}", self.1), help, unit, family.clone());
        family
    }
}

/// A label with a closed set of values, so that peers can't create series. [`label!`](crate::label) defines one.
pub trait Label: Copy + 'static {
    /// The label's name.
    const KEY: &'static str;
    /// All its values, by their index.
    const ALL: &'static [Self];

    /// The value as it is exposed.
    fn name(self) -> &'static str;

    /// Its index in [`ALL`](Self::ALL).
    fn index(self) -> usize;
}

/// Defines an enumeration that is a [`Label`](crate::admin::Label), each value with its name.
///
/// ```
/// use tessera_proxy::admin::Label;
///
/// tessera_proxy::label! {
///     /// What became of a reload.
///     ReloadResult: "result" {
///         /// It is in use.
///         Reloaded = "reloaded",
///         /// All goes on as it was.
///         Failed = "failed",
///     }
/// }
/// assert_eq!((ReloadResult::KEY, ReloadResult::Failed.name()), ("result", "failed"));
/// ```
#[macro_export]
macro_rules! label {
    ($(#[$doc:meta])* $label:ident: $key:literal { $($(#[$value_doc:meta])* $value:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $label { $($(#[$value_doc])* $value,)* }

        impl $crate::admin::Label for $label {
            const KEY: &'static str = $key;
            const ALL: &'static [Self] = &[$(Self::$value,)*];

            fn name(self) -> &'static str {
                match self { $(Self::$value => $name,)* }
            }

            fn index(self) -> usize {
                self as usize
            }
        }
    };
}

/// A counter for each value of a label. Counting takes no lock.
pub struct CounterFamily<L> {
    counters: Box<[Counter]>,
    label: std::marker::PhantomData<L>,
}

impl<L: Label> CounterFamily<L> {
    /// Creates all its series, starting at 0: a missing series could not be distinguished from an event that never
    /// happened.
    #[must_use]
    pub fn new(family: &Counters, labels: &Labels) -> Self {
        let counter = |value: &L| {
            let mut labels = labels.clone();
            labels.push((L::KEY, value.name().to_owned()));
            family.get_or_create_owned(&labels)
        };
        Self { counters: L::ALL.iter().map(counter).collect(), label: std::marker::PhantomData }
    }

    /// Counts one.
    pub fn count(&self, value: L) {
        self.counters[value.index()].inc();
    }

    /// Returns the count of a value.
    #[must_use]
    pub fn get(&self, value: L) -> u64 {
        self.counters[value.index()].get()
    }
}

/// Counts one in a gauge until dropped.
pub struct GaugeGuard(Gauge);

impl GaugeGuard {
    /// Adds one.
    #[must_use]
    pub fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}
