//! Values of options: times, shares and rates with their units; addresses and names.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

use tessera_kit::KeySource;
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

/// A time within bounds, both included; without a unit in seconds.
pub(crate) fn time(text: &str, [least, most]: [&str; 2]) -> Result<Duration, String> {
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
fn with_unit(text: &str) -> Option<(Duration, &str)> {
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

/// A file, or a credential by its name.
pub(crate) fn state_key(text: &str) -> Result<KeySource, &'static str> {
    KeySource::try_from(text.to_owned())
}

/// Where to listen. A port alone is this machine's: others can't reach it, and whoever wants that says so.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    const RIGHT: &str = "a port, such as 4433 (this machine alone), or an address with a port, such as \
                         0.0.0.0:443, [::]:443 or localhost:4433";
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    if let Ok(port) = text.parse::<u16>() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    if let Ok(address) = text.parse::<IpAddr>() {
        return Err(format!("{RIGHT}; did you mean {}?", SocketAddr::new(address, 4433)));
    }
    let (host, port) = text.rsplit_once(':').ok_or(RIGHT)?;
    let port: u16 = port.parse().map_err(|_| RIGHT)?;
    if host.is_empty() {
        return Err(format!("{RIGHT}; did you mean 0.0.0.0:{port}, which everybody can reach?"));
    }
    let found = (host, port).to_socket_addrs();
    let found: Vec<_> = found.map_err(|error| format!("{host}: {error}; {RIGHT}"))?.collect();
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    first.copied().ok_or_else(|| format!("{host}: this name has no address"))
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

/// How long packets wait for those of others: a share of the round-trip time, or a time.
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

/// The mean length of a burst of losses, in packets.
pub(crate) fn burst(text: &str) -> Result<f64, String> {
    positive(text)
        .filter(|packets| (1.0..=10_000.0).contains(packets))
        .ok_or_else(|| "a burst is a number of packets from 1 to 10000, such as 3".to_owned())
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
        for wrong in ["", "ms", "-1ms", "1h", "2m", "61s", "1e3ms", "nan", "1.2.3ms"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_are_seconds_or_have_units() {
        let time = |text| time(text, ["1ms", "7d"]);
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

    #[test]
    fn addresses_are_parsed_with_ports_and_names() {
        let local = |port| Ok(SocketAddr::from(([127, 0, 0, 1], port)));
        assert_eq!(address("127.0.0.1:0"), local(0));
        assert_eq!(address("4433"), local(4433));
        assert_eq!(address("0"), local(0));
        assert_eq!(address("localhost:4433"), local(4433));
        assert!(address("[::1]:443").is_ok());
        assert!(address("127.0.0.1").unwrap_err().contains("did you mean 127.0.0.1:4433?"));
        assert!(address("::1").unwrap_err().contains("did you mean [::1]:4433?"));
        assert!(address(":4433").unwrap_err().contains("did you mean 0.0.0.0:4433"));
        for wrong in ["", "localhost", "localhost:", "65536", "127.0.0.1:65536", "localhost:https"]
        {
            assert!(address(wrong).unwrap_err().contains("[::]:443"), "{wrong}");
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
    fn congestion_is_parsed_as_a_share_and_as_a_time() {
        assert_eq!(congestion("5%"), Ok(Congestion::Share(0.05)));
        assert_eq!(congestion("2ms"), Ok(Congestion::Mean(Duration::from_millis(2))));
        for none in ["0", "0%", "0ms"] {
            assert_eq!(congestion(none), Ok(Congestion::None), "{none}");
        }
        // A number alone might be meant as either.
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
