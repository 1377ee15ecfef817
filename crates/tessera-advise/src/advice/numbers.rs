//! Formats numbers for people.

/// Formats microseconds as a readable time.
pub(super) fn milliseconds(us: f64) -> String {
    match us.abs() {
        ..1e3 => format!("{us:.0} µs"),
        1e3..1e5 => format!("{:.2} ms", us / 1e3),
        1e5..1e6 => format!("{:.1} ms", us / 1e3),
        _ => format!("{:.2} s", us / 1e6),
    }
}

/// Formats a rate per hour; rare events by the time between two of them.
pub(super) fn rate(per_hour: f64) -> String {
    match per_hour.recip() {
        ..1.0 => format!("{per_hour:.1} times an hour"),
        hours @ 1.0..48.0 => format!("once in {hours:.0} hours"),
        hours => format!("once in {:.0} days", hours / 24.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units_that_people_read() {
        assert_eq!(
            [50.4, 1_284.0, 134_400.0, 2e6, -84.0].map(milliseconds),
            ["50 µs", "1.28 ms", "134.4 ms", "2.00 s", "-84 µs"]
        );
        assert_eq!(
            [12.0, 0.1, 8.5e-4].map(rate),
            ["12.0 times an hour", "once in 10 hours", "once in 49 days"]
        );
    }
}
