//! Medians, and how well they are known.

/// A median with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Median {
    pub(crate) value: f64,
    /// The 95 % confidence interval; `None` if there are too few samples for one (under 6).
    pub(crate) interval: Option<(f64, f64)>,
}

impl Median {
    /// The median of some samples; `None` without any.
    pub(crate) fn of(samples: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = samples.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let middle = *sorted.get(count / 2)?;
        let value = if count % 2 == 1 { middle } else { (sorted[count / 2 - 1] + middle) / 2.0 };
        let interval = rank(count).map(|rank| (sorted[rank - 1], sorted[count - rank]));
        Some(Self { value, interval })
    }

    /// The longer way from the median to an end of the interval.
    pub(crate) fn uncertainty(&self) -> Option<f64> {
        self.interval.map(|(low, high)| (self.value - low).max(high - self.value))
    }
}

/// The smallest sample that at least this share of the samples do not exceed; `None` without any.
pub(crate) fn quantile(samples: impl IntoIterator<Item = f64>, share: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = samples.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    // Of 100 samples the 99th, although 0.99 is a little more than its double.
    let rank = (share * sorted.len() as f64 - 1e-9).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied()
}

/// The rank k for which the k-th smallest and the k-th largest sample enclose the median with a
/// confidence of at least 95 %, whatever the distribution: each sample is below the median with
/// probability ½, so the number of those that are is binomial.
fn rank(count: usize) -> Option<usize> {
    // From here on the normal distribution is as good, and 0.5ⁿ soon becomes 0.
    if count > 1_000 {
        let rank = ((count as f64 - 1.96 * (count as f64).sqrt()) / 2.0).floor();
        return Some(rank as usize);
    }
    let mut probability = 0.5_f64.powi(i32::try_from(count).ok()?);
    let mut below = 0.0;
    for k in 0..count {
        below += probability;
        if below > 0.025 {
            return Some(k).filter(|k| *k > 0);
        }
        probability *= (count - k) as f64 / (k + 1) as f64;
    }
    None
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

    /// Against the tables of order-statistic intervals for the median.
    #[test]
    fn the_ranks_of_median_intervals_are_those_of_the_tables() {
        for (count, expected) in
            [(5, None), (6, Some(1)), (8, Some(1)), (9, Some(2)), (20, Some(6)), (35, Some(12))]
        {
            assert_eq!(rank(count), expected, "{count} samples");
        }
    }

    /// Where one way to find them takes the other's place, and where 0.5ⁿ is 0.
    #[test]
    fn many_samples_have_an_interval_too() {
        assert_eq!(rank(1_000), Some(469));
        assert_eq!(rank(1_001), Some(469));
        assert_eq!(rank(20_000), Some(9_861));
    }

    #[test]
    fn the_interval_of_a_median_encloses_it() {
        let median = Median::of((1..=35).map(f64::from)).unwrap();
        assert_eq!(median.value, 18.0);
        assert_eq!(median.interval, Some((12.0, 24.0)));
        assert_eq!(median.uncertainty(), Some(6.0));
    }
}
