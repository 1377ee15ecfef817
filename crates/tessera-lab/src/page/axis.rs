//! A linear axis that begins at zero.

/// From zero to a bit more than the largest value.
pub(crate) struct Axis {
    end: f64,
    step: f64,
}

/// The most intervals of an axis that fit on a phone.
const INTERVALS: f64 = 6.0;

impl Axis {
    /// Creates an axis for values up to `largest`.
    pub(crate) fn up_to(largest: f64) -> Self {
        let largest = if largest.is_finite() && largest > 0.0 { largest } else { 1.0 };
        let magnitude = 10_f64.powf((largest / INTERVALS).log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .map(|factor| factor * magnitude)
            .into_iter()
            .find(|step| largest <= step * INTERVALS)
            .unwrap_or(largest);
        Self { end: (largest / step).ceil() * step, step }
    }

    /// Returns the position of a value, from 0 to 1. Values beyond the end are at the end.
    pub(crate) fn place(&self, value: f64) -> f64 {
        (value / self.end).clamp(0.0, 1.0)
    }

    /// Whether a value is on the axis.
    pub(crate) fn holds(&self, value: f64) -> bool {
        value <= self.end
    }

    /// Returns the round values along the axis.
    pub(crate) fn ticks(&self) -> impl Iterator<Item = f64> {
        let count = (self.end / self.step).round() as u32;
        (0..=count).map(|tick| f64::from(tick) * self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ticks_of_an_axis_are_round_numbers() {
        for (largest, expected) in [
            (101.7, vec![0.0, 20.0, 40.0, 60.0, 80.0, 100.0, 120.0]),
            (3.4, vec![0.0, 1.0, 2.0, 3.0, 4.0]),
            (6.0, vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
            (5_404.0, vec![0.0, 1e3, 2e3, 3e3, 4e3, 5e3, 6e3]),
            (0.0, vec![0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        ] {
            let ticks: Vec<_> = Axis::up_to(largest).ticks().collect();
            assert_eq!(ticks.len(), expected.len(), "{largest}: {ticks:?}");
            for (tick, expected) in ticks.iter().zip(expected) {
                assert!((tick - expected).abs() < 1e-9, "{largest}: {ticks:?}");
            }
        }
    }

    #[test]
    fn an_axis_places_values_between_its_ends() {
        let axis = Axis::up_to(100.0);
        assert_eq!(axis.place(0.0), 0.0);
        assert_eq!(axis.place(50.0), 0.5);
        assert_eq!(axis.place(1e9), 1.0);
    }
}
