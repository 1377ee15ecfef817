//! Samples as the cells of tables.

use tessera_reports::Sample;
use tessera_reports::median_rank;
use tessera_reports::roaming::Cell;

use crate::load::Histogram;
use crate::numbers::{NOTHING, number};
use crate::statistics::{Median, quantile};

/// A value of a sample, in the unit in which it is shown.
pub(super) type Field = fn(&Sample) -> Option<f64>;

/// Returns the median of this value over the samples of a cell.
pub(super) fn median(cell: &Cell, field: Field) -> Option<Median> {
    Median::of(cell.samples.iter().filter_map(field))
}

/// Returns the maximum of this value over the samples of a cell.
pub(super) fn longest(cell: &Cell, field: Field) -> Option<f64> {
    quantile(cell.samples.iter().filter_map(field), 1.0)
}

/// Returns a quantile if there are enough samples: on average at least one exceeds it. Of fewer it would be the maximum
/// under another name.
pub(super) fn known_quantile(times: &Histogram, share: f64) -> Option<f64> {
    let beyond = times.count() as f64 * (1.0 - share);
    // 1,000 · (1 - 0.999) is a little less than 1.
    (beyond > 1.0 - 1e-9).then(|| times.quantile(share)).flatten()
}

/// Returns the median of a histogram with its 95 % confidence interval, as wide as its buckets make it: a time is known
/// to half a percent. There is none of fewer than six samples.
pub(super) fn median_of(times: &Histogram) -> Option<Median> {
    const BUCKET: f64 = 1.005;
    let count = usize::try_from(times.count()).ok()?;
    let at = |rank: usize| times.quantile(rank as f64 / count as f64);
    let interval = median_rank(count)
        .and_then(|rank| Some((at(rank)? / BUCKET, at(count - rank + 1)? * BUCKET)));
    Some(Median { value: times.quantile(0.5)?, interval })
}

/// Formats a number that may be missing.
pub(super) fn short(value: Option<f64>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), number)
}

/// Formats a ratio.
pub(super) fn factor(value: Option<f64>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), |value| format!("{value:.2}×"))
}

/// Formats a share, in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Formats a share of connections that succeeded, in percent. Only all of them are 100 %.
pub(super) fn success(share: f64) -> String {
    // 0.9993 · 10,000 is a little less than 9,993.
    let percent = (share * 1e4 + 1e-6).floor() / 100.0;
    format!("{percent:.2} %")
}

/// Milliseconds until the server's application held the first byte of the request.
pub(super) const FIRST_BYTE_MS: Field = |sample| sample.first_byte_us.map(ms);
/// Milliseconds until the client's handshake was complete.
pub(super) const HANDSHAKE_MS: Field = |sample| sample.handshake_us.map(ms);
/// Milliseconds until the client's application held the response.
pub(super) const RESPONSE_MS: Field = |sample| sample.response_us.map(ms);
/// Milliseconds until TCP was connected.
pub(super) const TCP_MS: Field = |sample| sample.tcp_us.map(ms);

fn ms(us: f64) -> f64 {
    us / 1e3
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_median_of_a_histogram_is_that_of_its_samples() {
        let mut times = Histogram::default();
        assert_eq!(median_of(&times), None);
        let samples = || (1..=35_u32).map(|n| f64::from(n * 1_000));
        for us in samples() {
            times.add(Duration::from_secs_f64(us / 1e6));
        }
        let (exact, found) = (Median::of(samples()).unwrap(), median_of(&times).unwrap());
        assert!((found.value / exact.value - 1.0).abs() < 0.0051, "{found:?}");
        let ((low, high), (from, to)) = (found.interval.unwrap(), exact.interval.unwrap());
        // It has the true one in it, and is a bucket longer at most.
        assert!(low <= from && low * 1.0101 >= from, "{low} {from}");
        assert!(high >= to && high <= to * 1.0101, "{high} {to}");

        let mut few = Histogram::default();
        (0..5).for_each(|_| few.add(Duration::from_millis(1)));
        assert_eq!(median_of(&few).unwrap().interval, None);
    }

    #[test]
    fn only_all_are_all() {
        assert_eq!(success(1.0), "100.00 %");
        assert_eq!(success(1.0 - 1.0 / 1e6), "99.99 %");
        assert_eq!(success(0.999), "99.90 %");
        assert_eq!(success(0.0), "0.00 %");
    }
}
