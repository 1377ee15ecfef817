//! Every sample of something, in buckets of 1 %.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How much wider each bucket is than the one before.
const WIDTH: f64 = 1.01;

/// A histogram of times. Its resolution is half a percent: a time is that of the middle of its bucket. Times below 1 µs
/// count as 1 µs.
///
/// As JSON: pairs of a bucket's middle, in µs, and its count, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Histogram {
    counts: BTreeMap<u16, u64>,
}

impl Histogram {
    /// Adds one sample.
    pub(crate) fn add(&mut self, time: Duration) {
        *self.counts.entry(bucket(time.as_nanos() as f64 / 1e3)).or_default() += 1;
    }

    /// Returns a histogram of all their samples.
    pub(crate) fn merge<'h>(all: impl IntoIterator<Item = &'h Self>) -> Self {
        let mut counts = BTreeMap::new();
        for (bucket, count) in all.into_iter().flat_map(|it| &it.counts) {
            let of_bucket: &mut u64 = counts.entry(*bucket).or_default();
            *of_bucket = of_bucket.saturating_add(*count);
        }
        Self { counts }
    }

    /// Returns how many samples there are.
    pub(crate) fn count(&self) -> u64 {
        self.counts.values().copied().fold(0, u64::saturating_add)
    }

    /// Returns the time, in µs, that this share of the samples does not exceed; `None` without samples.
    pub(crate) fn quantile(&self, share: f64) -> Option<f64> {
        // A share such as 0.999 of 1,000 is 999, whatever the digits of its product.
        let rank = (share * self.count() as f64 - 1e-9).ceil().max(1.0) as u64;
        let mut below = 0;
        self.counts.iter().find_map(|(bucket, count)| {
            below += count;
            (below >= rank).then(|| middle(*bucket))
        })
    }
}

/// Returns the bucket of a time in µs.
fn bucket(us: f64) -> u16 {
    (us.max(1.0).ln() / WIDTH.ln()).floor() as u16
}

/// Returns the middle of a bucket, in µs, rounded so that distinct buckets stay distinct.
fn middle(bucket: u16) -> f64 {
    let us = WIDTH.powf(f64::from(bucket) + 0.5);
    (us * 1e3).round() / 1e3
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.counts.iter().map(|(bucket, count)| (middle(*bucket), count)))
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pairs = Vec::<(f64, u64)>::deserialize(deserializer)?;
        let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
        for (us, count) in pairs {
            if us < 0.0 {
                return Err(D::Error::custom(format!("no time is {us} µs")));
            }
            let of_bucket = counts.entry(bucket(us)).or_default();
            *of_bucket = of_bucket.saturating_add(count);
        }
        Ok(Self { counts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_known_to_half_a_bucket_and_samples_to_half_a_percent() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        for us in 1..=10_000 {
            histogram.add(Duration::from_micros(us));
        }
        assert_eq!(histogram.count(), 10_000);
        for (share, exact) in [(0.5, 5_000.0), (0.99, 9_900.0), (0.999, 9_990.0), (1.0, 10_000.0)] {
            let found = histogram.quantile(share).unwrap();
            assert!((found / exact - 1.0).abs() < 0.0101, "{share}: {found}");
        }
        let mut one = Histogram::default();
        one.add(Duration::from_millis(134));
        for share in [0.0, 0.5, 1.0] {
            let found = one.quantile(share).unwrap();
            assert!((found / 134_000.0 - 1.0).abs() < 0.0051, "{found}");
        }
    }

    #[test]
    fn merged_histograms_have_the_samples_of_each() {
        let of = |times: &[u64]| {
            let mut histogram = Histogram::default();
            times.iter().for_each(|us| histogram.add(Duration::from_micros(*us)));
            histogram
        };
        let both = Histogram::merge([&of(&[5, 9_000]), &of(&[5, 7])]);
        assert_eq!(both, of(&[5, 5, 7, 9_000]));
    }

    /// Every bucket that a report can have, up to an hour.
    #[test]
    fn buckets_stay_themselves_through_json() {
        for index in 0..bucket(3_600e6) {
            assert_eq!(bucket(middle(index)), index);
        }
        let mut histogram = Histogram::default();
        for us in [0, 1, 3, 3, 70_000, 134_500, 60_000_000] {
            histogram.add(Duration::from_micros(us));
        }
        let json = serde_json::to_string(&histogram).unwrap();
        assert_eq!(serde_json::from_str::<Histogram>(&json).unwrap(), histogram);
        assert!(json.starts_with("[[1.005,2],[3."), "{json}");
    }
}
