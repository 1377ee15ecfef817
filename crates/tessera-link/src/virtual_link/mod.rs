//! A link without the kernel, for ends in one process.

mod fragment;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use self::fragment::{Fragment, fragments};
use crate::LinkStatistics;
use crate::error::LinkError;
use crate::parameters::{End, LinkAddresses, LinkParameters};
use crate::paths::Paths;
use crate::scheduler::Fate;

/// A UDP datagram, and the sockets between which it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Whence it comes, as its receiver sees it.
    pub from: SocketAddr,
    /// Where it goes: the socket that receives it.
    pub to: SocketAddr,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// A link that carries UDP datagrams in virtual time, without I/O and without a clock: callers pass times, as durations
/// since any fixed point, and never an earlier one than before.
///
/// It does to datagrams what the emulated link of a [`Link`](crate::Link) does, with the same code: delay, losses,
/// copies, outages, NATs, fragments of IP. Each of the client's addresses has a path with its own parameters. The server
/// is at every other address.
///
/// ```
/// use std::net::SocketAddr;
/// use std::time::Duration;
/// use tessera_link::{LinkParameters, NatKind, VirtualLink};
///
/// # fn main() -> Result<(), tessera_link::LinkError> {
/// let parameters = LinkParameters {
///     rtt: Duration::from_millis(60),
///     nat: Some(NatKind::PortRestricted.into()),
///     ..LinkParameters::default()
/// };
/// let mut link = VirtualLink::open(&parameters)?;
/// let client = SocketAddr::new(link.addresses().client, 5000);
/// let server = SocketAddr::new(link.addresses().server, 4433);
/// link.offer(Duration::ZERO, client, server, b"question".to_vec());
/// let now = link.next_due().expect("it is on the way");
/// assert_eq!(now, Duration::from_millis(30));
/// let question = link.take_due(now).expect("it is there");
/// assert_eq!((question.from.ip(), question.to), (link.external_address(client.ip())?, server));
/// link.offer(now, server, question.from, b"answer".to_vec());
/// let answer = link.take_due(Duration::from_millis(60)).expect("the NAT admits it");
/// assert_eq!((answer.from, answer.to), (server, client));
/// # Ok(())
/// # }
/// ```
pub struct VirtualLink {
    paths: Paths<Fragment>,
    mtu: usize,
}

impl VirtualLink {
    /// Creates a link whose client has one address.
    ///
    /// # Errors
    ///
    /// [`LinkError::Parameters`] if a value is impossible.
    pub fn open(parameters: &LinkParameters) -> Result<Self, LinkError> {
        parameters.validate()?;
        Ok(Self { paths: Paths::new(0, parameters), mtu: parameters.mtu.into() })
    }

    /// Returns the addresses of the server and of the client at first, which are those of an emulated link.
    #[must_use]
    pub fn addresses(&self) -> LinkAddresses {
        LinkAddresses::tun(0)
    }

    /// Gives the client one more address, whose path has these parameters; outages count from `now`. An address returns
    /// only after 99 others.
    ///
    /// # Errors
    ///
    /// [`LinkError::Parameters`] if a value is impossible, if the mtu is another one, or for the 101st address at a time.
    pub fn add_client_address(
        &mut self,
        now: Duration,
        parameters: &LinkParameters,
    ) -> Result<IpAddr, LinkError> {
        parameters.validate()?;
        parameters.check_mtu(self.mtu)?;
        self.paths.add(now, parameters)
    }

    /// Takes an address from the client. Datagrams in flight to it and from it are lost, and its counts are forgotten.
    ///
    /// # Errors
    ///
    /// [`LinkError::NoAddress`] if the client does not have it.
    pub fn remove_client_address(&mut self, client: IpAddr) -> Result<(), LinkError> {
        self.paths.remove(client).map(drop)
    }

    /// Starts all paths over, as [`Link::set`](crate::Link::set) does; outages count from `now`.
    ///
    /// # Errors
    ///
    /// [`LinkError::Parameters`] if a value is impossible.
    pub fn set(&mut self, now: Duration, parameters: &LinkParameters) -> Result<(), LinkError> {
        parameters.validate()?;
        self.mtu = parameters.mtu.into();
        self.paths.set(now, parameters);
        Ok(())
    }

    /// Sets the client's interface with this address down, or up again.
    ///
    /// # Errors
    ///
    /// [`LinkError::NoAddress`] if the client does not have it.
    pub fn set_down(&mut self, client: IpAddr, is_down: bool) -> Result<(), LinkError> {
        self.paths.set_down(client, is_down)
    }

    /// Makes the NAT of this address, if there is one, forget its mappings, as after a restart: sockets get other
    /// external ports.
    ///
    /// # Errors
    ///
    /// [`LinkError::NoAddress`] if the client does not have it.
    pub fn rebind(&mut self, client: IpAddr) -> Result<(), LinkError> {
        self.paths.rebind(client)
    }

    /// Returns the address that the server sees instead of this one: that of the NAT, if there is one.
    ///
    /// # Errors
    ///
    /// [`LinkError::NoAddress`] if the client does not have it.
    pub fn external_address(&self, client: IpAddr) -> Result<IpAddr, LinkError> {
        self.paths.external(client)
    }

    /// Sends a datagram, in fragments of IP (RFC 791 §3.2) if it is longer than the mtu.
    ///
    /// Returns when it arrives if nothing happens to it, or what happened to the first fragment that does not. It comes
    /// from the client if the client has the address `from`, else from the server.
    pub fn offer(
        &mut self,
        now: Duration,
        from: SocketAddr,
        to: SocketAddr,
        payload: Vec<u8>,
    ) -> Fate {
        let mut all = Fate::Held(now);
        for fragment in fragments(Datagram { from, to, payload }, self.mtu) {
            let Some(towards) = self.paths.towards(&fragment) else { return Fate::NoPath };
            let fate = self.paths.offer(now, towards, fragment);
            all = match (all, fate) {
                (Fate::Held(one), Fate::Held(other)) => Fate::Held(one.max(other)),
                (Fate::Held(_), lost) => lost,
                (lost, _) => lost,
            };
        }
        all
    }

    /// Returns when to call [`Self::take_due`] next, if something is in flight.
    #[must_use]
    pub fn next_due(&self) -> Option<Duration> {
        self.next().map(|(due, _)| due)
    }

    /// Removes the next datagram that is there at `now`.
    ///
    /// What is due can be a fragment, or what a NAT drops: then there is none.
    pub fn take_due(&mut self, now: Duration) -> Option<Datagram> {
        loop {
            let (due, towards) = self.next().filter(|(due, _)| *due <= now)?;
            if let Some(fragment) = self.paths.take_due(due, towards)
                && let Some(datagram) = fragment.arrive()
            {
                return Some(datagram);
            }
        }
    }

    /// Returns what the path of an address counted.
    ///
    /// # Errors
    ///
    /// [`LinkError::NoAddress`] if the client does not have it.
    pub fn path_statistics(&self, client: IpAddr) -> Result<LinkStatistics, LinkError> {
        self.paths.statistics(client)
    }

    fn next(&self) -> Option<(Duration, End)> {
        let next = |towards| self.paths.next_due(towards).map(|due| (due, towards));
        // At equal times, the server's first.
        [End::Server, End::Client].into_iter().filter_map(next).min_by_key(|(due, _)| *due)
    }
}
