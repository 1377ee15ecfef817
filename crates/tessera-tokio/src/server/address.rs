//! What counts as one address.

use std::net::IpAddr;

/// An IPv4 address, or an IPv6 network of 64 bits: whoever has one address of it has all (RFC 4291
/// §2.5.4). Many subscribers have several such networks (RFC 6177 §2); to count larger ones as one would
/// count neighbours as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Address {
    V4([u8; 4]),
    V6([u8; 8]),
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Self {
        // A listener for both families shows IPv4 clients as ::ffff:0:0/96 (RFC 4291 §2.5.5.2), which is
        // a single network.
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address.octets()),
            IpAddr::V6(address) => {
                let [a, b, c, d, e, f, g, h, ..] = address.octets();
                Self::V6([a, b, c, d, e, f, g, h])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_ipv6_network_is_one_address() {
        let address = |text: &str| Address::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(address("2001:db8:1:2::1"), address("2001:db8:1:2:ffff:ffff:ffff:ffff"));
        assert_ne!(address("2001:db8:1:2::1"), address("2001:db8:1:3::1"));
        assert_eq!(address("::ffff:192.0.2.1"), address("192.0.2.1"));
        assert_ne!(address("::ffff:192.0.2.1"), address("::ffff:192.0.2.2"));
    }
}
