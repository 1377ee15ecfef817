//! The client's interfaces on a link in virtual time.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tessera_link::{Datagram, LinkError, LinkParameters, VirtualLink};

use crate::mobile::measure::Traffic;

/// The headers of IPv4 and UDP, in bytes.
const HEADERS: usize = 20 + 8;

/// The network.
pub(super) struct Network {
    link: VirtualLink,
    parameters: LinkParameters,
    /// The addresses of the client's interfaces.
    interfaces: Vec<IpAddr>,
    /// How many addresses the client has had.
    addresses: u64,
    traffic: Traffic,
    delivered: u64,
}

impl Network {
    /// Creates one whose client has this many interfaces.
    pub(super) fn open(parameters: &LinkParameters, interfaces: u8) -> Result<Self, LinkError> {
        let link = VirtualLink::open(parameters)?;
        let mut network = Self {
            interfaces: vec![link.addresses().client],
            link,
            parameters: parameters.clone(),
            addresses: 1,
            traffic: Traffic::default(),
            delivered: 0,
        };
        for _ in 1..interfaces {
            let address = network.another_address(Duration::ZERO)?;
            network.interfaces.push(address);
        }
        Ok(network)
    }

    /// Returns the addresses of the client's interfaces.
    pub(super) fn interfaces(&self) -> &[IpAddr] {
        &self.interfaces
    }

    /// Returns the server's address.
    pub(super) fn server(&self) -> IpAddr {
        self.link.addresses().server
    }

    /// Whether an address is one of the client's.
    pub(super) fn is_client(&self, address: IpAddr) -> bool {
        self.interfaces.contains(&address)
    }

    pub(super) fn set_down(&mut self, index: usize) -> Result<(), LinkError> {
        let address = self.interfaces.get(index).copied();
        address.map_or(Ok(()), |address| self.link.set_down(address, true))
    }

    /// Sets an interface up again, perhaps with another address, which it returns.
    pub(super) fn set_up(
        &mut self,
        now: Duration,
        index: usize,
        changes: bool,
    ) -> Result<IpAddr, LinkError> {
        let before = self.interfaces[index];
        if !changes {
            self.link.set_down(before, false)?;
            return Ok(before);
        }
        let address = self.another_address(now)?;
        self.link.remove_client_address(before)?;
        self.interfaces[index] = address;
        Ok(address)
    }

    fn another_address(&mut self, now: Duration) -> Result<IpAddr, LinkError> {
        // Each path loses others of its datagrams.
        let seed = self.parameters.seed.wrapping_add(self.addresses);
        self.addresses += 1;
        self.link.add_client_address(now, &LinkParameters { seed, ..self.parameters.clone() })
    }

    /// The NATs of all interfaces forget.
    pub(super) fn rebind(&mut self) -> Result<(), LinkError> {
        self.interfaces.iter().try_for_each(|address| self.link.rebind(*address))
    }

    pub(super) fn send(&mut self, now: Duration, from: SocketAddr, to: SocketAddr, bytes: Vec<u8>) {
        self.traffic.datagrams += 1;
        self.traffic.bytes += (bytes.len() + HEADERS) as u64;
        // What is lost is known by what arrives.
        let _ = self.link.offer(now, from, to, bytes);
    }

    /// Returns when the next datagram arrives.
    pub(super) fn next_arrival(&self) -> Option<Duration> {
        self.link.next_due()
    }

    /// Returns the next datagram that is there by now.
    pub(super) fn receive(&mut self, now: Duration) -> Option<Datagram> {
        let datagram = self.link.take_due(now);
        self.delivered += u64::from(datagram.is_some());
        datagram
    }

    /// Returns what was sent, and lost, when the last datagram has arrived.
    pub(super) fn into_traffic(mut self) -> Traffic {
        while let Some(due) = self.next_arrival() {
            self.receive(due);
        }
        Traffic { lost: self.traffic.datagrams - self.delivered, ..self.traffic }
    }
}
