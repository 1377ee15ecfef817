//! Where datagrams come from and go to.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use tessera::face::{Reader, Writer};

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
pub(crate) enum Source {
    V4(Ipv4Addr),
    /// The first half.
    V6([u8; 8]),
}

impl Path {
    pub(crate) fn source(&self) -> Source {
        match self.remote.ip().to_canonical() {
            IpAddr::V4(address) => Source::V4(address),
            IpAddr::V6(address) => {
                let [prefix @ .., _, _, _, _, _, _, _, _] = address.octets();
                Source::V6(prefix)
            }
        }
    }

    /// Appends it, for another endpoint.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        write_address(self.remote, out);
        out.u8(u8::from(self.local.is_some()));
        if let Some(local) = self.local {
            write_address(local, out);
        }
    }

    /// Reads what [`write`](Self::write) wrote.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let remote = read_address(reader)?;
        let local = match reader.u8().ok()? {
            0 => None,
            _ => Some(read_address(reader)?),
        };
        Some(Self { remote, local })
    }
}

impl Source {
    /// Appends it, for another endpoint.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        out.vec8(|out| match self {
            Self::V4(address) => out.bytes(&address.octets()),
            Self::V6(prefix) => out.bytes(&prefix),
        });
    }

    /// Reads what [`write`](Self::write) wrote.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let bytes = reader.vec8().ok()?;
        let v4 = || <[u8; 4]>::try_from(bytes).map(|it| Self::V4(it.into()));
        v4().or_else(|_| <[u8; 8]>::try_from(bytes).map(Self::V6)).ok()
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

fn write_address(address: SocketAddr, out: &mut Vec<u8>) {
    write_ip(address.ip(), out);
    out.u16(address.port());
    if let SocketAddr::V6(address) = address {
        // A link-local address names a host on one interface alone (RFC 4007 §6).
        out.u32(address.scope_id());
    }
}

fn read_address(reader: &mut Reader<'_>) -> Option<SocketAddr> {
    let (ip, port) = (read_ip(reader)?, reader.u16().ok()?);
    Some(match ip {
        IpAddr::V4(_) => SocketAddr::new(ip, port),
        IpAddr::V6(ip) => SocketAddrV6::new(ip, port, 0, reader.u32().ok()?).into(),
    })
}

fn write_ip(ip: IpAddr, out: &mut Vec<u8>) {
    match ip {
        IpAddr::V4(ip) => out.vec8(|out| out.bytes(&ip.octets())),
        IpAddr::V6(ip) => out.vec8(|out| out.bytes(&ip.octets())),
    }
}

fn read_ip(reader: &mut Reader<'_>) -> Option<IpAddr> {
    let octets = reader.vec8().ok()?;
    match octets.len() {
        4 => <[u8; 4]>::try_from(octets).ok().map(|it| Ipv4Addr::from(it).into()),
        _ => <[u8; 16]>::try_from(octets).ok().map(|it| Ipv6Addr::from(it).into()),
    }
}
