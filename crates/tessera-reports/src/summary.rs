//! Many samples in five numbers.

use serde::{Deserialize, Serialize};

/// Statistics of samples of one quantity, in their unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The number of samples.
    pub samples: usize,
    /// Their median.
    pub median: f64,
    /// The 95 % confidence interval of the median, from its order statistics; `None` with fewer than 6 samples, or if
    /// too many failed for an upper end.
    pub interval: Option<(f64, f64)>,
    /// The 99th percentile: the smallest sample that at least 99 % of them don't exceed.
    pub p99: f64,
}

impl Summary {
    /// Summarises these samples; `None` without any.
    #[must_use]
    pub fn of(samples: impl IntoIterator<Item = f64>) -> Option<Self> {
        Self::beside_failed(samples, 0)
    }

    /// Summarises the samples of connections that succeeded, when others failed; `None` without any samples.
    ///
    /// Failed ones took longer than all that succeeded: the interval is that of all, while the median and the
    /// percentile are of those that succeeded.
    #[must_use]
    pub fn beside_failed(samples: impl IntoIterator<Item = f64>, failed: usize) -> Option<Self> {
        let mut sorted: Vec<f64> = samples.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let (upper, lower) = (sorted.get(count / 2)?, sorted.get((count - 1) / 2)?);
        // With fewer than six successes nothing is known of them either; and if half of all failed, the median is that
        // of a failure.
        let is_known = median_rank(count).is_some() && failed < count;
        let asked = is_known.then(|| count + failed);
        let interval = asked.and_then(|asked| {
            let rank = median_rank(asked)?;
            Some((*sorted.get(rank - 1)?, *sorted.get(asked - rank)?))
        });
        // In integers: 0.99 has no exact double.
        let p99 = *sorted.get((count * 99).div_ceil(100) - 1)?;
        Some(Self { samples: count, median: f64::midpoint(*lower, *upper), interval, p99 })
    }

    /// Returns the larger distance from the median to an end of the interval; `None` with too few samples for one, or
    /// too many failures.
    #[must_use]
    pub fn uncertainty(&self) -> Option<f64> {
        self.interval.map(|(low, high)| (self.median - low).abs().max((high - self.median).abs()))
    }
}

/// Returns the greatest k for which the k-th smallest and the k-th largest of `count` samples enclose the median with a
/// confidence of at least 95 %, whatever the distribution; counted from 1.
///
/// `None` with fewer than 6 samples, of which not even the outermost do.
///
/// A sample is below the median with probability ½, so the number of samples below it is binomial (order statistics;
/// David and Nagaraja, Order Statistics, 3rd edition, section 7.1).
#[must_use]
pub fn median_rank(count: usize) -> Option<usize> {
    // C(n, k) / 2ⁿ, by logarithms: 2ⁿ overflows from 1,024 samples on.
    let mut log_term = -(count as f64) * std::f64::consts::LN_2;
    let mut tail = 0.0;
    for k in 0..count {
        tail += log_term.exp();
        if tail > 0.025 {
            return Some(k).filter(|k| *k > 0);
        }
        log_term += ((count - k) as f64).ln() - ((k + 1) as f64).ln();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_of_the_samples() {
        assert_eq!(Summary::of([]), None);
        let one = Summary::of([3.0]).unwrap();
        assert_eq!((one.median, one.p99, one.interval), (3.0, 3.0, None));
        let even = Summary::of([4.0, 1.0, 2.0, 3.0]).unwrap();
        assert_eq!((even.samples, even.median, even.p99), (4, 2.5, 4.0));
        let hundred = Summary::of((1..=100).map(f64::from)).unwrap();
        assert_eq!((hundred.median, hundred.p99), (50.5, 99.0));
    }

    #[test]
    fn a_failure_counts_as_later_than_every_success() {
        let beside =
            |count: u32, failed| Summary::beside_failed((1..=count).map(f64::from), failed);
        let none = beside(20, 0).unwrap();
        assert_eq!((none.interval, none.uncertainty()), (Some((6.0, 15.0)), Some(4.5)));
        let some = beside(20, 5).unwrap();
        assert_eq!((some.samples, some.median, some.p99), (20, 10.5, 20.0));
        assert_eq!((some.interval, some.uncertainty()), (Some((8.0, 18.0)), Some(7.5)));
        // The interval ends in a failure.
        let many = beside(20, 10).unwrap();
        assert_eq!((many.interval, many.uncertainty()), (None, None));
        assert_eq!(beside(5, 1).unwrap().interval, None);
        assert_eq!(beside(6, usize::MAX).unwrap().interval, None);
        assert_eq!(beside(0, 20), None);
    }

    /// Compares with the tables of order-statistic intervals for the median.
    #[test]
    fn intervals_are_those_of_the_tables() {
        for (count, rank) in
            [(5, None), (6, Some(1)), (8, Some(1)), (9, Some(2)), (20, Some(6)), (35, Some(12))]
        {
            assert_eq!(median_rank(count), rank, "{count} samples");
        }
        assert_eq!(median_rank(0), None);
        // Compares with sums of exact binomial coefficients, where 2⁻ⁿ is still a double and where it is 0.
        for (count, rank) in
            [(1_000, 469), (1_001, 470), (1_100, 518), (10_000, 4_902), (20_000, 9_861)]
        {
            assert_eq!(median_rank(count), Some(rank), "{count} samples");
        }
        let summary = Summary::of((1..=35).map(f64::from)).unwrap();
        let one = Summary::of([1.0]).unwrap();
        assert_eq!(summary.interval, Some((12.0, 24.0)));
        assert_eq!((summary.uncertainty(), one.uncertainty()), (Some(6.0), None));
    }
}
