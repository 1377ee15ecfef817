//! The ways between a client's addresses and the server: two directions and perhaps a NAT each.
//!
//! This has no I/O and no clock. The emulated link and the virtual one differ only in what a packet is.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::LinkStatistics;
use crate::error::LinkError;
use crate::nat::NatTable;
use crate::parameters::{End, LinkAddresses, LinkParameters};
use crate::scheduler::{Fate, Scheduler};

/// The most addresses that a client has at a time.
const MOST: u8 = 100;

/// What the paths need to know about a packet.
pub(crate) trait Packet: Clone {
    /// Returns the length of the IP packet.
    fn bytes(&self) -> usize;
    /// Returns the addresses of the sender and the receiver; `None` if this is no packet of the endpoints.
    fn addresses(&self) -> Option<[IpAddr; 2]>;
    /// Returns what a NAT does with it.
    fn transport(&self) -> Transport;
    /// Changes the address and port of the sender of a [`Transport::Udp`].
    fn set_source(&mut self, source: SocketAddr);
    /// Changes the address and port of the receiver of a [`Transport::Udp`].
    fn set_destination(&mut self, destination: SocketAddr);
    /// Whether this is a SYN that carries data (RFC 7413).
    fn is_syn_with_data(&self) -> bool;
}

/// What a NAT does with a packet.
pub(crate) enum Transport {
    /// It translates one of these ports, the sender's and the receiver's.
    Udp([u16; 2]),
    /// It drops a fragment, which need not contain the ports.
    Fragment,
    /// It passes others unchanged.
    Other,
}

/// All paths of a link.
pub(crate) struct Paths<P> {
    /// The number of the link in its network.
    link: u8,
    paths: Vec<Path<P>>,
    /// The number of the latest path.
    latest: u8,
}

/// The path of one of the client's addresses.
struct Path<P> {
    client: Ipv4Addr,
    external: Ipv4Addr,
    number: u8,
    to_server: Scheduler<P>,
    to_client: Scheduler<P>,
    nat: Option<NatTable>,
}

impl<P: Packet> Paths<P> {
    /// Creates the path of the client's first address.
    pub(crate) fn new(link: u8, parameters: &LinkParameters) -> Self {
        Self { link, paths: vec![Path::new(link, 0, Duration::ZERO, parameters)], latest: 0 }
    }

    /// Adds a path; returns the client's address, which was not in use lately.
    pub(crate) fn add(
        &mut self,
        now: Duration,
        parameters: &LinkParameters,
    ) -> Result<IpAddr, LinkError> {
        if self.paths.len() >= usize::from(MOST) {
            return Err(LinkError::Parameters("a client has at most 100 addresses"));
        }
        let mut next = self.latest;
        loop {
            next = (next + 1) % MOST;
            if self.paths.iter().all(|path| path.number != next) {
                break;
            }
        }
        self.latest = next;
        let path = Path::new(self.link, next, now, parameters);
        let client = IpAddr::V4(path.client);
        self.paths.push(path);
        Ok(client)
    }

    /// Removes a path, with the packets in flight; returns its address in IPv4.
    pub(crate) fn remove(&mut self, client: IpAddr) -> Result<IpAddr, LinkError> {
        let found = self.paths.iter().position(|path| path.is_client(client));
        let path = self.paths.remove(found.ok_or(LinkError::NoAddress(client))?);
        Ok(path.client.into())
    }

    /// Starts all paths over with these parameters.
    pub(crate) fn set(&mut self, now: Duration, parameters: &LinkParameters) {
        self.paths.iter_mut().for_each(|path| path.set(now, parameters));
    }

    /// Sets a path down, or up again.
    pub(crate) fn set_down(&mut self, client: IpAddr, is_down: bool) -> Result<(), LinkError> {
        let path = self.path_mut(client)?;
        path.to_server.set_down(is_down);
        path.to_client.set_down(is_down);
        Ok(())
    }

    /// Makes a path's NAT forget its mappings.
    pub(crate) fn rebind(&mut self, client: IpAddr) -> Result<(), LinkError> {
        if let Some(nat) = &mut self.path_mut(client)?.nat {
            nat.rebind();
        }
        Ok(())
    }

    /// Returns the address that the server sees.
    pub(crate) fn external(&self, client: IpAddr) -> Result<IpAddr, LinkError> {
        let path = self.path(client)?;
        let address = if path.nat.is_some() { path.external } else { path.client };
        Ok(in_family_of(client, address))
    }

    /// Returns the client's addresses.
    pub(crate) fn clients(&self) -> Vec<IpAddr> {
        self.paths.iter().map(|path| path.client.into()).collect()
    }

    /// Returns what a path counted.
    pub(crate) fn statistics(&self, client: IpAddr) -> Result<LinkStatistics, LinkError> {
        self.path(client).map(Path::statistics)
    }

    /// Returns what all paths counted.
    pub(crate) fn all_statistics(&self) -> LinkStatistics {
        self.paths.iter().map(Path::statistics).fold(LinkStatistics::default(), |all, path| {
            LinkStatistics {
                to_server: all.to_server + path.to_server,
                to_client: all.to_client + path.to_client,
            }
        })
    }

    /// Returns towards which end a packet goes; `None` if no address of the client's is in it.
    pub(crate) fn towards(&self, packet: &P) -> Option<End> {
        let [from, to] = packet.addresses()?;
        let of = |address| self.paths.iter().any(|path| path.is_client(address));
        if of(from) {
            return Some(End::Server);
        }
        let is_external = |path: &Path<P>| path.is_external(to);
        (of(to) || self.paths.iter().any(is_external)).then_some(End::Client)
    }

    /// Decides on a packet towards one end; one of an address without a path is dropped.
    pub(crate) fn offer(&mut self, now: Duration, towards: End, packet: P) -> Fate {
        let Some([from, to]) = packet.addresses() else { return Fate::NoPath };
        let is_its = |path: &&mut Path<P>| match towards {
            End::Server => path.is_client(from),
            End::Client => path.is_client(to) || path.is_external(to),
        };
        match self.paths.iter_mut().find(is_its) {
            Some(path) => path.offer(now, towards, packet),
            None => Fate::NoPath,
        }
    }

    /// Returns when the next packet towards an end is due, if one is in flight.
    pub(crate) fn next_due(&self, towards: End) -> Option<Duration> {
        self.paths.iter().filter_map(|path| path.direction(towards).next_due()).min()
    }

    /// Removes the next packet towards an end that is due at `now` or before.
    pub(crate) fn take_due(&mut self, now: Duration, towards: End) -> Option<P> {
        loop {
            let due = self.next_due(towards).filter(|due| *due <= now)?;
            let is_next = |path: &&mut Path<P>| path.direction(towards).next_due() == Some(due);
            let path = self.paths.iter_mut().find(is_next)?;
            if let Some(packet) = path.take_due(now, towards) {
                return Some(packet);
            }
        }
    }

    /// Counts that the receiving end refused a packet that was just taken.
    pub(crate) fn refused(&mut self, towards: End, packet: &P) {
        let Some([from, to]) = packet.addresses() else { return };
        let is_its = |path: &&mut Path<P>| match towards {
            End::Server => path.is_client(from) || path.is_external(from),
            End::Client => path.is_client(to),
        };
        if let Some(path) = self.paths.iter_mut().find(is_its) {
            path.direction_mut(towards).refused();
        }
    }

    fn path(&self, client: IpAddr) -> Result<&Path<P>, LinkError> {
        self.paths.iter().find(|path| path.is_client(client)).ok_or(LinkError::NoAddress(client))
    }

    fn path_mut(&mut self, client: IpAddr) -> Result<&mut Path<P>, LinkError> {
        let found = self.paths.iter_mut().find(|path| path.is_client(client));
        found.ok_or(LinkError::NoAddress(client))
    }
}

impl<P: Packet> Path<P> {
    fn new(link: u8, number: u8, now: Duration, parameters: &LinkParameters) -> Self {
        let mut path = Self {
            client: LinkAddresses::client(link, number),
            external: LinkAddresses::external(link, number),
            number,
            to_server: Scheduler::new(parameters, End::Server),
            to_client: Scheduler::new(parameters, End::Client),
            nat: None,
        };
        path.set(now, parameters);
        path
    }

    fn set(&mut self, now: Duration, parameters: &LinkParameters) {
        self.to_server.set(now, parameters);
        self.to_client.set(now, parameters);
        self.nat = parameters.nat.map(|nat| NatTable::new(nat, parameters.seed));
    }

    fn is_client(&self, address: IpAddr) -> bool {
        address == in_family_of(address, self.client)
    }

    fn is_external(&self, address: IpAddr) -> bool {
        self.nat.is_some() && address == in_family_of(address, self.external)
    }

    fn direction(&self, towards: End) -> &Scheduler<P> {
        match towards {
            End::Server => &self.to_server,
            End::Client => &self.to_client,
        }
    }

    fn direction_mut(&mut self, towards: End) -> &mut Scheduler<P> {
        match towards {
            End::Server => &mut self.to_server,
            End::Client => &mut self.to_client,
        }
    }

    fn statistics(&self) -> LinkStatistics {
        LinkStatistics {
            to_server: self.to_server.statistics(),
            to_client: self.to_client.statistics(),
        }
    }

    fn offer(&mut self, now: Duration, towards: End, mut packet: P) -> Fate {
        let bytes = packet.bytes();
        let direction = match towards {
            End::Server => &mut self.to_server,
            End::Client => &mut self.to_client,
        };
        if packet.is_syn_with_data() && direction.loses_syn_data(bytes) {
            return Fate::Lost;
        }
        // The NAT is at the client's end.
        if towards == End::Server
            && let Some(nat) = &mut self.nat
            && !translate_source(nat, now, self.external, &mut packet)
        {
            direction.filtered_on_offer(bytes);
            return Fate::Filtered;
        }
        direction.offer(now, bytes, packet)
    }

    fn take_due(&mut self, now: Duration, towards: End) -> Option<P> {
        let Self { client, to_server, to_client, nat, .. } = self;
        match (towards, nat) {
            (End::Client, Some(nat)) => to_client
                .take_admitted(now, |packet| translate_destination(nat, now, *client, packet)),
            (End::Client, None) => to_client.take_due(now),
            (End::Server, _) => to_server.take_due(now),
        }
    }
}

/// Returns an address, or the one of IPv6 that belongs to it, if the other is one.
fn in_family_of(other: IpAddr, address: Ipv4Addr) -> IpAddr {
    match other {
        IpAddr::V4(_) => address.into(),
        IpAddr::V6(_) => LinkAddresses::in_ipv6(address.into()),
    }
}

/// Makes a packet come from the external address; returns whether it passes.
fn translate_source<P: Packet>(
    nat: &mut NatTable,
    now: Duration,
    external: Ipv4Addr,
    packet: &mut P,
) -> bool {
    let (Transport::Udp([from_port, to_port]), Some([from, to])) =
        (packet.transport(), packet.addresses())
    else {
        return matches!(packet.transport(), Transport::Other);
    };
    let [client, peer] = [(from, from_port), (to, to_port)].map(SocketAddr::from);
    let Some(port) = nat.outbound(now, client, peer) else { return false };
    packet.set_source(SocketAddr::new(in_family_of(from, external), port));
    true
}

/// Makes a packet go to the client's socket; returns whether it passes.
fn translate_destination<P: Packet>(
    nat: &NatTable,
    now: Duration,
    client: Ipv4Addr,
    packet: &mut P,
) -> bool {
    let Some([from, to]) = packet.addresses() else { return false };
    let client = in_family_of(to, client);
    match packet.transport() {
        // One that was sent to the client's own address does not get there.
        Transport::Udp([from_port, to_port]) if to != client => {
            let socket = nat.inbound(now, SocketAddr::new(from, from_port), to_port);
            socket.map(|socket| packet.set_destination(socket)).is_some()
        }
        Transport::Other => to == client,
        Transport::Udp(_) | Transport::Fragment => false,
    }
}
