//! Quantities as functions of the round-trip time.

/// A quantity that hardly depends on the link, such as processor time: linear between the measured round-trip times,
/// and constant before the first and after the last.
///
/// It is never below 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve(Vec<(f64, f64)>);

impl Curve {
    /// Creates a curve from pairs of a round-trip time in milliseconds and the quantity there; `None` without any, or
    /// with a negative or non-finite one.
    ///
    /// Of two with the same round-trip time the first counts.
    #[must_use]
    pub fn new(mut points: Vec<(f64, f64)>) -> Option<Self> {
        let is_number = |number: f64| number.is_finite() && number >= 0.0;
        if points.is_empty() || !points.iter().all(|(rtt, it)| is_number(*rtt) && is_number(*it)) {
            return None;
        }
        points.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        points.dedup_by(|(later, _), (earlier, _)| later == earlier);
        Some(Self(points))
    }

    /// Creates a curve that is the same at every round-trip time.
    #[must_use]
    pub fn constant(value: f64) -> Self {
        Self(vec![(0.0, value)])
    }

    /// Returns the quantity at this round-trip time.
    #[must_use]
    pub fn at(&self, rtt_ms: f64) -> f64 {
        let next = self.0.partition_point(|(rtt, _)| *rtt < rtt_ms);
        let before = next.checked_sub(1).and_then(|before| self.0.get(before));
        match (before, self.0.get(next)) {
            (Some((from, low)), Some((to, high))) => {
                (low + (high - low) * (rtt_ms - from) / (to - from)).max(0.0)
            }
            (Some((_, nearest)), None) | (None, Some((_, nearest))) => *nearest,
            (None, None) => 0.0,
        }
    }

    /// Returns the curve, raised by `more`.
    #[must_use]
    pub fn plus(self, more: f64) -> Self {
        Self(self.0.into_iter().map(|(rtt, value)| (rtt, value + more)).collect())
    }

    /// Returns where it was measured, in milliseconds.
    pub fn measured(&self) -> impl Iterator<Item = f64> + '_ {
        self.0.iter().map(|(rtt, _)| *rtt)
    }
}

/// Microseconds until a response, measured at two round-trip times at least.
///
/// Linear between them; before the first and after the last it changes by whole round trips, which is what a longer
/// link adds.
#[derive(Clone, Debug, PartialEq)]
pub struct ResponseCurve {
    measured: Curve,
    first: (f64, f64),
    last: (f64, f64),
}

impl ResponseCurve {
    /// Creates it from pairs of a round-trip time in milliseconds and the time until the response in microseconds;
    /// `None` without two different round-trip times, or with a negative or non-finite number.
    #[must_use]
    pub fn new(points: Vec<(f64, f64)>) -> Option<Self> {
        let measured = Curve::new(points)?;
        let (first, last) = (*measured.0.first()?, *measured.0.last()?);
        (first.0 < last.0).then_some(Self { measured, first, last })
    }

    /// Returns how many round trips the response takes: the nearest whole number, and at least one.
    #[must_use]
    pub fn round_trips(&self) -> f64 {
        let ((near, sooner), (far, later)) = (self.first, self.last);
        ((later - sooner) / (far - near) / US_OF_A_MS).round().max(1.0)
    }

    /// Returns the time at this round-trip time, in microseconds; never below 0.
    #[must_use]
    pub fn at(&self, rtt_ms: f64) -> f64 {
        let nearest = rtt_ms.clamp(self.first.0, self.last.0);
        let further = US_OF_A_MS * self.round_trips() * (rtt_ms - nearest);
        (self.measured.at(nearest) + further).max(0.0)
    }

    /// Returns where it was measured, in milliseconds.
    pub fn measured(&self) -> impl Iterator<Item = f64> + '_ {
        self.measured.measured()
    }
}

pub(super) const US_OF_A_MS: f64 = 1e3;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{value}");
    }

    #[test]
    fn a_curve_goes_through_what_was_measured_and_stays_at_its_ends() {
        assert_eq!(Curve::new(Vec::new()), None);
        assert_eq!(Curve::new(vec![(0.0, f64::NAN)]), None);
        assert_eq!(Curve::new(vec![(f64::INFINITY, 1.0)]), None);
        assert_eq!(Curve::new(vec![(0.0, -1.0)]), None);
        let points = vec![(33.0, 66.0), (5.0, 10.0), (134.0, 268.0), (33.0, 9.0)];
        let curve = Curve::new(points).unwrap();
        assert_eq!(curve.measured().collect::<Vec<_>>(), [5.0, 33.0, 134.0]);
        for (rtt, value) in
            [(0.0, 10.0), (5.0, 10.0), (19.0, 38.0), (33.0, 66.0), (134.0, 268.0), (235.0, 268.0)]
        {
            near(curve.at(rtt), value);
        }
        near(Curve::constant(3.0).at(1e3), 3.0);
    }

    /// By noise, less work on the longer link: a straight line would go below 0.
    #[test]
    fn processor_time_is_never_below_what_was_measured() {
        let work = Curve::new(vec![(33.0, 1_380.0), (134.0, 1_195.0)]).unwrap();
        for rtt in [0.0, 1.0, 33.0, 100.0, 134.0, 1e3, 1e6] {
            assert!((1_195.0..=1_380.0).contains(&work.at(rtt)), "{} at {rtt}", work.at(rtt));
        }
    }

    #[test]
    fn a_response_changes_by_whole_round_trips_outside_of_what_was_measured() {
        // 2.99 round trips and a remainder.
        let waiting = ResponseCurve::new(vec![(33.0, 100_965.0), (134.0, 402_900.0)]).unwrap();
        near(waiting.round_trips(), 3.0);
        near(waiting.at(33.0), 100_965.0);
        near(waiting.at(134.0), 402_900.0);
        near(waiting.at(83.5), f64::midpoint(100_965.0, 402_900.0));
        near(waiting.at(1_000.0), 402_900.0 + 3_000.0 * 866.0);
        near(waiting.at(3.0), 100_965.0 - 3_000.0 * 30.0);
        // No response arrives before its request.
        let fast = ResponseCurve::new(vec![(33.0, 50_000.0), (134.0, 252_000.0)]).unwrap();
        near(fast.round_trips(), 2.0);
        assert_eq!(fast.at(0.0), 0.0);
    }

    #[test]
    fn one_round_trip_time_is_no_evidence_about_others() {
        assert_eq!(ResponseCurve::new(vec![(33.0, 67_710.0)]), None);
        assert_eq!(ResponseCurve::new(vec![(33.0, 67_710.0), (33.0, 67_720.0)]), None);
        assert_eq!(ResponseCurve::new(Vec::new()), None);
    }
}
