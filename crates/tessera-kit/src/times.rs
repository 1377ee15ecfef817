//! Times as options have them, with their units.

use std::time::Duration;

/// A time within bounds, both included; without a unit in seconds.
///
/// # Errors
/// If it is none, or beyond them.
pub fn within(text: &str, [least, most]: [&str; 2]) -> Result<Duration, String> {
    let bound = |text| with_unit(text).map(|(bound, _)| bound);
    match with_unit(text) {
        Some((duration, _)) if Some(duration) < bound(least) || Some(duration) > bound(most) => {
            Err(format!("from {least} to {most}"))
        }
        Some((duration, _)) => Ok(duration),
        None => {
            Err("a time is a number of seconds, or with a unit: 500ms, 10s, 5m, 24h or 7d"
                .to_owned())
        }
    }
}

/// A number and its unit, which is seconds where there is none.
pub fn with_unit(text: &str) -> Option<(Duration, &str)> {
    let (number, unit) = split(text);
    let in_a_second = match unit {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    let duration = Duration::try_from_secs_f64(positive(number)? * in_a_second).ok()?;
    Some((duration, unit))
}

/// The number in front, and what follows it.
pub fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text.split_at(end)
}

/// A number that isn't infinite.
pub fn positive(number: &str) -> Option<f64> {
    number.parse::<f64>().ok().filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_or_have_units() {
        let time = |text| within(text, ["1ms", "7d"]);
        assert_eq!(time("10"), Ok(Duration::from_secs(10)));
        assert_eq!(time("10s"), time("10"));
        assert_eq!(time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(time("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(time("24h"), time("1d"));
        assert!(time("8d").unwrap_err().contains("from 1ms to 7d"));
        assert!(time("0").unwrap_err().contains("from 1ms to 7d"));
        for wrong in ["", "s", "-1s", "1 s", "1w", "1e3", "1h30m", "inf"] {
            assert!(time(wrong).unwrap_err().contains("10s"), "{wrong}");
        }
    }
}
