//! What a process tells its operator: metrics, and whether it is well.

mod health;
mod metrics;
mod process;

/// The metric types that [`Metrics`] takes.
pub use prometheus_client;

pub use self::health::{Condition, Health};
pub use self::metrics::Metrics;
