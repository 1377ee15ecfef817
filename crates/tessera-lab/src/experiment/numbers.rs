//! Numbers in tables.

use crate::statistics::Median;

/// Formats a median with its uncertainty.
pub(crate) fn spread(median: &Median) -> String {
    let value = number(median.value);
    match median.uncertainty() {
        // No more digits than the median has, and fewer if they carry no information.
        Some(uncertainty) if uncertainty >= 10.0 => format!("{value}±{uncertainty:.0}"),
        Some(uncertainty) if median.value < 10.0 => format!("{value}±{uncertainty:.3}"),
        Some(uncertainty) => format!("{value}±{uncertainty:.2}"),
        None => value,
    }
}

/// Three or four significant digits.
pub(crate) fn number(value: f64) -> String {
    match value {
        ..10.0 => format!("{value:.3}"),
        10.0..100.0 => format!("{value:.2}"),
        _ => format!("{value:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_values_are_printed_with_significant_digits_only() {
        let median = |value, around| Median { value, interval: Some((value - around, value)) };
        assert_eq!(spread(&median(0.4129, 0.0111)), "0.413±0.011");
        assert_eq!(spread(&median(82.614, 0.07)), "82.61±0.07");
        assert_eq!(spread(&median(302.5, 784.59)), "302.5±785");
        assert_eq!(spread(&Median { value: 1.0, interval: None }), "1.000");
    }
}
