//! Durations.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tessera_proxy::admin::prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use tessera_proxy::admin::prometheus_client::metrics::{MetricType, TypedMetric};

/// A histogram that takes no lock, since every request is recorded. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Durations(Arc<Buckets>);

#[derive(Debug, Default)]
struct Buckets {
    /// One for each of [`BOUNDS`], and one for everything above.
    counts: [AtomicU64; BOUNDS.len() + 1],
    micros: AtomicU64,
}

/// Upper bounds in microseconds: from a quarter of a millisecond, a relay on one machine, to 16 seconds.
const BOUNDS: [u64; 17] = {
    let mut bounds = [250; 17];
    let mut index = 1;
    while index < bounds.len() {
        bounds[index] = bounds[index - 1] * 2;
        index += 1;
    }
    bounds
};

impl Durations {
    pub(super) fn observe(&self, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let index = BOUNDS.partition_point(|bound| *bound < micros);
        if let Some(count) = self.0.counts.get(index) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.0.micros.fetch_add(micros, Ordering::Relaxed);
    }
}

impl EncodeMetric for Durations {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        let counts = self.0.counts.iter().map(|count| count.load(Ordering::Relaxed));
        let bounds = BOUNDS.iter().map(|bound| *bound as f64 / 1e6).chain([f64::MAX]);
        let buckets: Vec<_> = bounds.zip(counts).collect();
        let count = buckets.iter().map(|(_, count)| count).sum();
        let seconds = self.0.micros.load(Ordering::Relaxed) as f64 / 1e6;
        encoder.encode_histogram::<NoLabelSet>(seconds, count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

impl TypedMetric for Durations {
    const TYPE: MetricType = MetricType::Histogram;
}
