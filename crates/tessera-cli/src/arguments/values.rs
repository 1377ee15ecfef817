//! Values of options: times, shares and rates with their units; addresses and names.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// A time with a unit; zero needs none.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    const RIGHT: &str = "a time is a number with a unit, such as 33ms, 500us or 1s";
    let (number, unit) = split(text);
    let number = positive(number).ok_or(RIGHT)?;
    let seconds = match unit {
        "" if number == 0.0 => 0.0,
        "us" | "µs" => number / 1e6,
        "ms" => number / 1e3,
        "s" => number,
        "" => return Err(format!("{RIGHT}; did you mean {text}ms?")),
        _ => return Err(RIGHT.to_owned()),
    };
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|duration| *duration <= Duration::from_secs(60))
        .ok_or_else(|| "a link's times are at most 60s".to_owned())
}

/// Where to listen.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    let right = "an address and a port, such as 127.0.0.1:4433, 0.0.0.0:443 or [::1]:4433; names are not \
                 looked up";
    text.parse().map_err(|_| match text.parse::<IpAddr>() {
        Ok(address) => format!("{right}; did you mean {}?", SocketAddr::new(address, 4433)),
        Err(_) => right.to_owned(),
    })
}

/// An application protocol (RFC 7301 §3.1).
pub(crate) fn protocol(text: &str) -> Result<String, String> {
    match text.len() {
        1..=255 => Ok(text.to_owned()),
        _ => Err("a protocol is a name of 1 to 255 bytes, such as h2 or http/1.1".to_owned()),
    }
}

/// A share: a percentage, or a number from 0 to 1.
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

/// A rate, in bits a second.
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

/// The number in front, and what follows it.
fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text.split_at(end)
}

fn positive(number: &str) -> Option<f64> {
    number.parse::<f64>().ok().filter(|number| number.is_finite())
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
        for wrong in ["", "ms", "-1ms", "1h", "61s", "1e3ms", "nan", "1.2.3ms"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn addresses_are_parsed_and_need_a_port() {
        assert_eq!(address("127.0.0.1:0"), Ok(SocketAddr::from(([127, 0, 0, 1], 0))));
        assert!(address("[::1]:443").is_ok());
        assert!(address("127.0.0.1").unwrap_err().contains("did you mean 127.0.0.1:4433?"));
        assert!(address("::1").unwrap_err().contains("did you mean [::1]:4433?"));
        for wrong in ["", "4433", ":4433", "localhost:4433", "127.0.0.1:65536"] {
            assert!(address(wrong).unwrap_err().contains("[::1]:4433"), "{wrong}");
        }
    }

    #[test]
    fn protocols_are_parsed_within_their_length() {
        assert_eq!(protocol("h2"), Ok("h2".to_owned()));
        assert!(protocol("").is_err());
        assert!(protocol(&"x".repeat(256)).is_err());
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
    fn rates_are_parsed_with_their_units() {
        assert_eq!(rate("10mbit"), Ok(10_000_000));
        assert_eq!(rate("1.5kbit"), Ok(1_500));
        assert_eq!(rate("1gbit"), Ok(1_000_000_000));
        for wrong in ["", "10", "10mb", "0mbit", "mbit", "-1mbit"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }
}
