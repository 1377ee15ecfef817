//! What counts as one address.

use std::net::IpAddr;

/// The origin of a client, as [`Limits`](super::Limits) count it.
///
/// It is derived from an address: an IPv4 address, or an IPv6 network of 64 bits, since the holder of one of
/// its addresses has all (RFC 4291 §2.5.4). Many subscribers have several such networks (RFC 6177 §2);
/// counting larger networks as one would count neighbours as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Origin(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    V4([u8; 4]),
    V6([u8; 8]),
    Local,
    Trusted,
}

impl Origin {
    /// The programs of this machine, connected through Unix sockets: all count as one address.
    pub const LOCAL: Self = Self(Kind::Local);

    /// A peer that forwards the clients of others, such as a load balancer: the limits per address don't
    /// apply to it, only those for all. [`ClientSocket::move_to`](super::ClientSocket::move_to) later sets
    /// the client's own address.
    pub const TRUSTED: Self = Self(Kind::Trusted);

    pub(super) fn is_limited(self) -> bool {
        self != Self::TRUSTED
    }
}

impl From<IpAddr> for Origin {
    fn from(address: IpAddr) -> Self {
        // A dual-stack listener shows IPv4 clients as ::ffff:0:0/96 (RFC 4291 §2.5.5.2), which is a single
        // network.
        Self(match address.to_canonical() {
            IpAddr::V4(address) => Kind::V4(address.octets()),
            IpAddr::V6(address) => {
                let [a, b, c, d, e, f, g, h, ..] = address.octets();
                Kind::V6([a, b, c, d, e, f, g, h])
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_ipv6_network_is_one_address() {
        let origin = |text: &str| Origin::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(origin("2001:db8:1:2::1"), origin("2001:db8:1:2:ffff:ffff:ffff:ffff"));
        assert_ne!(origin("2001:db8:1:2::1"), origin("2001:db8:1:3::1"));
        assert_eq!(origin("::ffff:192.0.2.1"), origin("192.0.2.1"));
        assert_ne!(origin("::ffff:192.0.2.1"), origin("::ffff:192.0.2.2"));
    }
}
