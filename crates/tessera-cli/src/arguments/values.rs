//! Values of options: addresses and names.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::ops::RangeInclusive;

use tessera_kit::KeySource;
pub(crate) use tessera_kit::times::within as time;

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
        return Err(format!(
            "{RIGHT}; did you mean 0.0.0.0:{port}, which other machines can reach?"
        ));
    }
    let found = (host, port).to_socket_addrs();
    let found: Vec<_> = found.map_err(|error| format!("{host}: {error}; {RIGHT}"))?.collect();
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    first.copied().ok_or_else(|| format!("{host}: this name has no address"))
}

/// Parses the address of another server. A bare port is on this machine.
pub(crate) fn target(text: &str) -> Result<SocketAddr, String> {
    match address(text)? {
        target if target.port() == 0 => Err("a server has a port from 1 to 65535".to_owned()),
        target => Ok(target),
    }
}

/// Parses a range of ports.
pub(crate) fn ports(text: &str) -> Result<RangeInclusive<u16>, &'static str> {
    let range = text.split_once('-').and_then(|(first, last)| {
        let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
        (first > 0 && first <= last).then_some(first..=last)
    });
    range.ok_or("two ports, the lower one first, such as 50000-59999")
}

/// Parses how many tickets a handshake issues.
pub(crate) fn tickets(text: &str) -> Result<u8, &'static str> {
    let number = text.parse().ok().filter(|number| *number <= 32);
    number.ok_or("a whole number from 0 to 32")
}

/// Parses an application protocol (RFC 7301 §3.1).
pub(crate) fn protocol(text: &str) -> Result<String, String> {
    match text.len() {
        1..=255 => Ok(text.to_owned()),
        _ => Err("a protocol is a name of 1 to 255 bytes, such as h2 or http/1.1".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn tickets_are_a_whole_number_within_bounds() {
        assert_eq!([tickets("0"), tickets("32")], [Ok(0), Ok(32)]);
        for wrong in ["33", "-1", "many", ""] {
            assert_eq!(tickets(wrong), Err("a whole number from 0 to 32"), "{wrong}");
        }
    }

    #[test]
    fn protocols_are_parsed_within_their_length() {
        assert_eq!(protocol("h2"), Ok("h2".to_owned()));
        assert!(protocol("").is_err());
        assert!(protocol(&"x".repeat(256)).is_err());
    }
}
