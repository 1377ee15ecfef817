//! Medians, and how well they are known.

use tessera_reports::Summary;

/// A median with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Median {
    pub(crate) value: f64,
    /// The 95 % confidence interval; `None` if there are too few samples for one (under 6).
    pub(crate) interval: Option<(f64, f64)>,
}

impl Median {
    /// Returns the median of some samples; `None` without any.
    pub(crate) fn of(samples: impl IntoIterator<Item = f64>) -> Option<Self> {
        Summary::of(samples).map(Self::from)
    }

    /// Returns it in another unit.
    pub(crate) fn divided_by(&self, divisor: f64) -> Self {
        let interval = self.interval.map(|(low, high)| (low / divisor, high / divisor));
        Self { value: self.value / divisor, interval }
    }

    /// Returns the longer way from the median to an end of the interval.
    pub(crate) fn uncertainty(&self) -> Option<f64> {
        self.interval.map(|(low, high)| (self.value - low).max(high - self.value))
    }

    /// Whether the samples show that it is below another.
    pub(crate) fn is_below(&self, other: &Self) -> bool {
        match (self.interval, other.interval) {
            (Some((_, most)), Some((least, _))) => most < least,
            _ => self.value < other.value,
        }
    }
}

impl From<Summary> for Median {
    fn from(Summary { median: value, interval, .. }: Summary) -> Self {
        Self { value, interval }
    }
}

/// Returns the median of counts, rounded; `None` without any.
pub(crate) fn median_count(samples: impl IntoIterator<Item = f64>) -> Option<u64> {
    Median::of(samples).map(|median| median.value.round() as u64)
}

/// Returns the smallest sample that at least this share of the samples do not exceed; `None` without any.
pub(crate) fn quantile(samples: impl IntoIterator<Item = f64>, share: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = samples.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    // Of 100 samples the 99th, although 0.99 is a little more than its double.
    let rank = (share * sorted.len() as f64 - 1e-9).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_of_the_samples() {
        assert_eq!(Median::of([]), None);
        assert_eq!(Median::of([3.0]).unwrap().value, 3.0);
        assert_eq!(Median::of([4.0, 1.0, 2.0, 3.0]).unwrap().value, 2.5);
        assert_eq!(Median::of([9.0, 1.0, 2.0]).unwrap().value, 2.0);
    }

    #[test]
    fn a_quantile_is_a_sample() {
        let hundred = || (1..=100).map(f64::from);
        let found =
            [0.0, 0.01, 0.011, 0.5, 0.99, 0.999, 1.0].map(|share| quantile(hundred(), share));
        assert_eq!(found, [1.0, 1.0, 2.0, 50.0, 99.0, 100.0, 100.0].map(Some));
        assert_eq!(quantile([], 0.5), None);
        assert_eq!(quantile([7.0], 0.99), Some(7.0));
    }

    /// For few samples, for many, and where 0.5ⁿ is 0.
    #[test]
    fn the_same_samples_give_the_same_advice() {
        for count in [1, 5, 6, 35, 1_000, 1_001, 1_100] {
            let samples = || (0..count).map(f64::from);
            let median = Median::of(samples()).unwrap();
            let summary = Summary::of(samples()).unwrap();
            assert_eq!((median.value, median.interval), (summary.median, summary.interval));
        }
    }

    #[test]
    fn the_interval_of_a_median_encloses_it() {
        let median = Median::of((1..=35).map(f64::from)).unwrap();
        assert_eq!(median.value, 18.0);
        assert_eq!(median.interval, Some((12.0, 24.0)));
        assert_eq!(median.uncertainty(), Some(6.0));
    }
}
