//! NATs in front of the client: what they do to its UDP datagrams, in the terms of RFC 4787.

mod table;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

pub(crate) use self::table::NatTable;
use crate::error::LinkError;

/// A NAT between the client and its link: the server receives UDP datagrams from an external address and port.
///
/// External ports are drawn from the link's seed; the port of the client's socket is not preserved (RFC 4787 §4.2.1).
/// A NAT keeps at most 4,096 mappings, and sends to at most as many peers from each; what goes beyond is dropped. It
/// drops fragments, as well as packets to its external address that are not UDP, ICMP errors included. All other
/// protocols, TCP among them, pass unchanged, between the client's own address and the server's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nat {
    /// Which datagrams pass, from which ports.
    pub kind: NatKind,
    /// How long a mapping lives after the last datagram from the client; those to it don't prolong it (RFC 4787 §4.3).
    /// The next datagram then gets another external port. `None`: it does not expire.
    pub lifetime: Option<Duration>,
}

/// A kind of NAT, by its mapping and filtering behaviour (RFC 4787 §4.1, §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NatKind {
    /// Endpoint-independent mapping and filtering: once a socket has sent, any address reaches it.
    FullCone,
    /// Endpoint-independent mapping, address-dependent filtering: addresses to which a socket has sent reach it.
    AddressRestricted,
    /// Endpoint-independent mapping, address- and port-dependent filtering: addresses and ports to which a socket has
    /// sent reach it.
    PortRestricted,
    /// Address- and port-dependent mapping and filtering: each destination sees another external port, and only it
    /// reaches that port.
    Symmetric,
    /// No UDP passes.
    Blocked,
}

impl NatKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [
        Self::FullCone,
        Self::AddressRestricted,
        Self::PortRestricted,
        Self::Symmetric,
        Self::Blocked,
    ];

    fn mapping(self) -> Dependence {
        match self {
            Self::Symmetric | Self::Blocked => Dependence::AddressAndPort,
            _ => Dependence::None,
        }
    }

    fn filtering(self) -> Dependence {
        match self {
            Self::FullCone => Dependence::None,
            Self::AddressRestricted => Dependence::Address,
            _ => Dependence::AddressAndPort,
        }
    }
}

impl fmt::Display for NatKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::FullCone => "full-cone",
            Self::AddressRestricted => "address-restricted",
            Self::PortRestricted => "port-restricted",
            Self::Symmetric => "symmetric",
            Self::Blocked => "blocked",
        })
    }
}

impl FromStr for NatKind {
    type Err = LinkError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let kind = Self::ALL.into_iter().find(|kind| kind.to_string() == text);
        kind.ok_or(LinkError::Parameters(
            "a NAT must be full-cone, address-restricted, port-restricted, symmetric or blocked",
        ))
    }
}

impl From<NatKind> for Nat {
    /// Returns a NAT whose mappings don't expire.
    fn from(kind: NatKind) -> Self {
        Self { kind, lifetime: None }
    }
}

/// What a mapping or a filter depends on.
#[derive(Clone, Copy)]
enum Dependence {
    None,
    Address,
    AddressAndPort,
}

impl Dependence {
    /// Returns the part of a peer's address that matters.
    fn of(self, peer: SocketAddr) -> SocketAddr {
        match self {
            Self::None => SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
            Self::Address => SocketAddr::new(peer.ip(), 0),
            Self::AddressAndPort => peer,
        }
    }
}
