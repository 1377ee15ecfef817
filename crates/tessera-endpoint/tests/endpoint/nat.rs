//! NATs, as RFC 4787 and older texts name them.

use std::net::SocketAddr;

/// What a NAT maps, and what it admits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NatKind {
    /// Admits all.
    FullCone,
    /// Admits what comes from an address that was asked.
    AddressRestricted,
    /// Admits what comes from an address and port that were asked.
    PortRestricted,
    /// The same, and each address and port that is asked has a mapping of its own.
    Symmetric,
}

pub(crate) struct Nat {
    kind: NatKind,
    mappings: Vec<Mapping>,
    /// The port of the next mapping.
    pub(crate) next_port: u16,
}

struct Mapping {
    internal: SocketAddr,
    external: SocketAddr,
    asked: Vec<SocketAddr>,
}

impl Nat {
    pub(crate) fn new(kind: NatKind) -> Self {
        Self { kind, mappings: Vec::new(), next_port: 40_000 }
    }

    /// Returns the address from which a datagram leaves.
    pub(crate) fn leaves(&mut self, internal: SocketAddr, to: SocketAddr) -> SocketAddr {
        let is_of = |it: &&mut Mapping| {
            it.internal == internal && (self.kind != NatKind::Symmetric || it.asked == [to])
        };
        if let Some(mapping) = self.mappings.iter_mut().find(is_of) {
            mapping.asked.push(to);
            mapping.asked.dedup();
            return mapping.external;
        }
        let external = SocketAddr::from(([198, 51, 100, 1], self.next_port));
        self.next_port += 1;
        self.mappings.push(Mapping { internal, external, asked: vec![to] });
        external
    }

    /// Returns where a datagram goes, if it is admitted.
    pub(crate) fn arrives(&self, external: SocketAddr, from: SocketAddr) -> Option<SocketAddr> {
        let mapping = self.mappings.iter().rev().find(|it| it.external == external)?;
        let is_admitted = match self.kind {
            NatKind::FullCone => true,
            NatKind::AddressRestricted => mapping.asked.iter().any(|it| it.ip() == from.ip()),
            NatKind::PortRestricted | NatKind::Symmetric => mapping.asked.contains(&from),
        };
        is_admitted.then_some(mapping.internal)
    }

    /// All mappings expire.
    pub(crate) fn forget(&mut self) {
        self.mappings.clear();
    }
}
