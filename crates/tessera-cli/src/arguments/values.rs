//! Values of options: times with their units, addresses and names.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

use tessera_kit::KeySource;

/// Parses a time within bounds, both included; without a unit in seconds.
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

/// Parses a number and its unit, seconds by default.
pub(super) fn with_unit(text: &str) -> Option<(Duration, &str)> {
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

/// Parses a file, or a credential by its name.
pub(crate) fn state_key(text: &str) -> Result<KeySource, &'static str> {
    KeySource::try_from(text.to_owned())
}

/// Parses the address to listen on. A bare port is on loopback: other machines reach the server only if the option
/// names an address.
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

/// Parses an application protocol (RFC 7301 §3.1).
pub(crate) fn protocol(text: &str) -> Result<String, String> {
    match text.len() {
        1..=255 => Ok(text.to_owned()),
        _ => Err("a protocol is a name of 1 to 255 bytes, such as h2 or http/1.1".to_owned()),
    }
}

/// Splits off the leading number.
pub(super) fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text.split_at(end)
}

pub(super) fn positive(number: &str) -> Option<f64> {
    number.parse::<f64>().ok().filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
