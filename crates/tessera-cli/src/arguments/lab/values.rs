//! Values of a link's options: times, shares and rates with their units.

use std::time::Duration;

use tessera_kit::times::{positive, split, with_unit};
use tessera_link::Congestion;

/// A link's time, with a unit; zero needs none.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    const RIGHT: &str = "a time is a number with a unit, such as 33ms, 500us or 1s";
    match with_unit(text) {
        Some((duration, _)) if duration > Duration::from_secs(60) => {
            Err("a link's times are at most 60s".to_owned())
        }
        Some((duration, unit)) if !unit.is_empty() || duration.is_zero() => Ok(duration),
        Some(_) => Err(format!("{RIGHT}; did you mean {text}ms?")),
        None => Err(RIGHT.to_owned()),
    }
}

/// Parses a share: a percentage, or a number from 0 to 1.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = split(text);
    let share = match (positive(number), unit) {
        (Some(number), "%") => Some(number / 100.0),
        (Some(number), "") => Some(number),
        _ => None,
    };
    share
        .filter(|share| *share <= 1.0)
        .ok_or_else(|| "a share is a percentage such as 1%, or a number from 0 to 1".to_owned())
}

/// Parses congestion: a share of the round-trip time, or a time.
pub(crate) fn congestion(text: &str) -> Result<Congestion, String> {
    let (number, unit) = split(text);
    if positive(number) == Some(0.0) && matches!(unit, "" | "%") {
        return Ok(Congestion::None);
    }
    match (unit, duration(text)) {
        ("%", _) => share(text).map(Congestion::Share),
        (_, Ok(mean)) if mean.is_zero() => Ok(Congestion::None),
        (_, Ok(mean)) => Ok(Congestion::Mean(mean)),
        _ => {
            Err("congestion is a percentage of the round-trip time such as 5%, or a time such as \
                  2ms, at most 60s"
                .to_owned())
        }
    }
}

/// Parses the mean length of a burst of losses, in packets.
pub(crate) fn burst(text: &str) -> Result<f64, String> {
    positive(text)
        .filter(|packets| (1.0..=10_000.0).contains(packets))
        .ok_or_else(|| "a burst is a number of packets from 1 to 10000, such as 3".to_owned())
}

/// Parses a rate, in bits per second.
pub(crate) fn rate(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let factor = match unit {
        "bit" => Some(1.0),
        "kbit" => Some(1e3),
        "mbit" => Some(1e6),
        "gbit" => Some(1e9),
        _ => None,
    };
    positive(number)
        .zip(factor)
        .map(|(number, factor)| number * factor)
        .filter(|rate| (1.0..1e12).contains(rate))
        .map(|rate| rate as u64)
        .ok_or_else(|| {
            "a rate is a number with a unit, such as 500kbit, 10mbit or 1gbit".to_owned()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_with_their_units() {
        assert_eq!(duration("0"), Ok(Duration::ZERO));
        assert_eq!(duration("33ms"), Ok(Duration::from_millis(33)));
        assert_eq!(duration("0.5ms"), Ok(Duration::from_micros(500)));
        assert_eq!(duration("250us"), Ok(Duration::from_micros(250)));
        assert_eq!(duration("1s"), Ok(Duration::from_secs(1)));
        assert!(duration("33").unwrap_err().contains("33ms?"));
        for wrong in ["", "ms", "-1ms", "1h", "2m", "61s", "1e3ms", "nan", "1.2.3ms"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn shares_are_parsed_as_percent_and_as_fraction() {
        assert_eq!(share("1%"), Ok(0.01));
        assert_eq!(share("0.01"), Ok(0.01));
        assert_eq!(share("100%"), Ok(1.0));
        for wrong in ["", "%", "101%", "1.1", "-1%", "1 %", "one"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn congestion_is_parsed_as_a_share_and_as_a_time() {
        assert_eq!(congestion("5%"), Ok(Congestion::Share(0.05)));
        assert_eq!(congestion("2ms"), Ok(Congestion::Mean(Duration::from_millis(2))));
        for none in ["0", "0%", "0ms"] {
            assert_eq!(congestion(none), Ok(Congestion::None), "{none}");
        }
        // Includes a bare number, which is ambiguous.
        for wrong in ["", "5", "0.05", "101%", "-1%", "61s", "ms", "%"] {
            assert!(congestion(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn bursts_are_parsed_as_numbers_of_packets() {
        assert_eq!((burst("1"), burst("2.5")), (Ok(1.0), Ok(2.5)));
        for wrong in ["", "0", "0.9", "-3", "10001", "nan", "3x"] {
            assert!(burst(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rates_are_parsed_with_their_units() {
        assert_eq!(rate("10mbit"), Ok(10_000_000));
        assert_eq!(rate("1.5kbit"), Ok(1_500));
        assert_eq!(rate("1gbit"), Ok(1_000_000_000));
        for wrong in ["", "10", "10mb", "0mbit", "mbit", "-1mbit"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }
}
