//! Where datagrams come from and go to.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The addresses of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Path {
    /// The peer's.
    pub remote: SocketAddr,
    /// This side's, from which answers must come: that of a [socket of an association](crate::OwnSockets), or one of
    /// several that the shared socket has, if it reports them. `None`: the shared socket's.
    pub local: Option<SocketAddr>,
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

/// How many of something each source has.
#[derive(Default)]
pub(crate) struct SourceCounts(HashMap<Source, usize>);

impl SourceCounts {
    pub(crate) fn of(&self, source: Source) -> usize {
        self.0.get(&source).copied().unwrap_or(0)
    }

    pub(crate) fn add(&mut self, source: Source) {
        *self.0.entry(source).or_default() += 1;
    }

    pub(crate) fn remove(&mut self, source: Source) {
        if let Some(count) = self.0.get_mut(&source) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&source);
            }
        }
    }
}
