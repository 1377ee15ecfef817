//! Where datagrams come from and go to.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The addresses of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Path {
    /// The peer's.
    pub remote: SocketAddr,
    /// This side's address, if the socket has several and reports it: answers must come from it.
    pub local: Option<IpAddr>,
}

/// A source for which bounds are counted: an IPv4 address, or an IPv6 /64, which is one subscriber's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Source(pub(crate) IpAddr);

impl Path {
    pub(crate) fn source(&self) -> Source {
        Source(match self.remote.ip().to_canonical() {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => {
                Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()
            }
        })
    }
}
