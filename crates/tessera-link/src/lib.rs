//! An emulated link between two ends on one machine, for tests and experiments.
//!
//! A network namespace is a copy of the kernel's network stack with its own interfaces, addresses and connections: two
//! processes in two namespaces are, for TCP, on two machines. The link joins two such machines by a path with a chosen
//! round-trip time, loss and rate, so that reconnection is measured over the kernel's own TCP, and the processes under
//! test need not know.
//!
//! ```text
//!  client process                  this process                   server process
//!  ┌─ namespace ────┐   read    ┌──────────────┐   write   ┌─ namespace ────┐
//!  │ kernel's TCP ──┼─ link0 ─▶ │  scheduler   │ ─ link0 ─▶│ kernel's TCP   │
//!  │     10.77.0.1  │◀─ link0 ─ │  scheduler   │ ◀ link0 ──┼    10.77.0.2   │
//!  └────────────────┘   write   └──────────────┘   read    └────────────────┘
//! ```
//!
//! Namespaces need Linux and either root or a system that lets every user create them; elsewhere, both ends share the
//! loopback interface, and nothing is emulated.
//!
//! IPv4 and IPv6 are carried. Two links share nothing, and dropping a [`Link`] removes all of it. For more than two
//! ends, a [`Network`] has nodes, and links between any two of them; a [`Mesh`] is one whose nodes and links are
//! found by name.
//!
//! ```no_run
//! use std::net::{TcpListener, TcpStream};
//! use std::time::Duration;
//!
//! use tessera_link::{End, Link, LinkError, LinkKind, LinkParameters};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Before any other thread: users who are not root need a namespace of their own.
//! tessera_link::enter_user_namespace_if_needed()?;
//! let slow = LinkParameters { rtt: Duration::from_millis(50), ..LinkParameters::default() };
//! let link = Link::open(LinkKind::Tun, &slow)?;
//! let server = link.addresses().server;
//! let listening = link.spawn_thread(End::Server, move || TcpListener::bind((server, 4433)))?;
//! let listener = listening.join().expect("the thread ends")?;
//! // Sockets stay at the end at which they were made.
//! let client = link.spawn_thread(End::Client, move || TcpStream::connect((server, 4433)))?;
//! let (accepted, _) = listener.accept()?;
//! # drop((accepted, client));
//! # Ok(())
//! # }
//! ```
//!
//! A client that moves has more addresses ([`Link::add_client_address`]), outages, and a [`Nat`] in front of it.
//!
//! A [`VirtualLink`] carries the UDP datagrams of ends in one process, in virtual time, without the kernel, and does the
//! same to them. A [`Scheduler`] is one direction, whatever the packets are.
//!
//! Processes are started at an end by [`Link::spawn`]. The example `round_trips` of this crate shows
//! what loss and distance do to TCP.
#![forbid(unsafe_code)]

mod error;
mod mesh;
mod namespace;
mod nat;
mod netlink;
mod network;
mod packets;
mod parameters;
mod paths;
mod scheduler;
mod tun;
mod virtual_link;

use std::net::IpAddr;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::{fmt, io};

pub use self::error::{LinkError, Prerequisite};
pub use self::mesh::Mesh;
pub use self::namespace::{UserNamespace, enter_user_namespace_if_needed};
pub use self::nat::{Nat, NatKind};
pub use self::network::{Network, Node};
pub use self::parameters::{Congestion, End, LinkAddresses, LinkKind, LinkParameters, Outages};
pub use self::scheduler::{DirectionStatistics, Fate, Scheduler};
use self::tun::TunLink;
pub use self::virtual_link::{Datagram, VirtualLink};

/// Packet counts of both directions since the link was opened or last set.
///
/// A loopback link counts nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkStatistics {
    /// From the client to the server.
    pub to_server: DirectionStatistics,
    /// From the server to the client.
    pub to_client: DirectionStatistics,
}

/// A link between a client and a server, which lives until it is dropped.
///
/// Processes that still run then keep their namespace, but it is disconnected.
pub struct Link {
    medium: Medium,
    parameters: Mutex<LinkParameters>,
}

enum Medium {
    /// With the reason, if an emulated link was tried first.
    Loopback(Option<LinkError>),
    Tun(TunLink),
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("kind", &self.kind())
            .field("parameters", &*self.lock())
            .finish_non_exhaustive()
    }
}

impl Link {
    /// Makes a link.
    ///
    /// [`LinkKind::Auto`] becomes a loopback link only if the machine does not allow another; [`Link::fallback_reason`]
    /// then returns why, for the caller to print.
    ///
    /// # Errors
    ///
    /// - [`LinkError::Unavailable`] if the kind is [`LinkKind::Tun`] and the machine does not
    ///   allow it.
    /// - [`LinkError::NoEmulation`] if the parameters are not [plain](LinkParameters::is_plain)
    ///   and the link is or becomes a loopback one: a measurement must not pass for one at a
    ///   round-trip time that it never had. Open with plain parameters and [`Link::set`] others
    ///   once [`Link::emulates`] to do what can be done.
    /// - [`LinkError::Parameters`] if a value is impossible.
    /// - [`LinkError::System`] if something else fails.
    pub fn open(kind: LinkKind, parameters: &LinkParameters) -> Result<Self, LinkError> {
        parameters.validate()?;
        let medium = match kind {
            LinkKind::Loopback => Medium::Loopback(None),
            LinkKind::Tun => Medium::Tun(TunLink::open(parameters)?),
            LinkKind::Auto => match TunLink::open(parameters) {
                Ok(link) => Medium::Tun(link),
                Err(reason @ LinkError::Unavailable { .. }) => Medium::Loopback(Some(reason)),
                Err(error) => return Err(error),
            },
        };
        match medium {
            Medium::Loopback(reason) if !parameters.is_plain() => {
                Err(LinkError::NoEmulation { reason: reason.map(Box::new) })
            }
            medium => Ok(Self::of(medium, parameters)),
        }
    }

    fn of(medium: Medium, parameters: &LinkParameters) -> Self {
        Self { medium, parameters: Mutex::new(parameters.clone()) }
    }

    /// Returns the kind of the link: [`LinkKind::Tun`] or [`LinkKind::Loopback`].
    #[must_use]
    pub fn kind(&self) -> LinkKind {
        match self.medium {
            Medium::Loopback(_) => LinkKind::Loopback,
            Medium::Tun(_) => LinkKind::Tun,
        }
    }

    /// Returns why [`LinkKind::Auto`] became a loopback link, if it did.
    #[must_use]
    pub fn fallback_reason(&self) -> Option<&LinkError> {
        match &self.medium {
            Medium::Loopback(reason) => reason.as_ref(),
            Medium::Tun(_) => None,
        }
    }

    /// Whether the link can have parameters that are not [plain](LinkParameters::is_plain).
    #[must_use]
    pub fn emulates(&self) -> bool {
        matches!(self.medium, Medium::Tun(_))
    }

    /// Returns the addresses of the two ends when the link was opened, in IPv4; [`LinkAddresses::ipv6`] returns the others.
    #[must_use]
    pub fn addresses(&self) -> LinkAddresses {
        match &self.medium {
            Medium::Loopback(_) => LinkAddresses::LOOPBACK,
            Medium::Tun(link) => link.addresses(),
        }
    }

    /// Returns the present parameters.
    #[must_use]
    pub fn parameters(&self) -> LinkParameters {
        self.lock().clone()
    }

    /// Starts over with other parameters, or with the same: random numbers restart from the seed, statistics from zero,
    /// outages from the first, and NATs without mappings. All of the client's addresses get the same parameters.
    ///
    /// Packets in flight still arrive when due under the earlier parameters, and later ones not before them, so set a
    /// link when it is quiet. Connections live on, and TCP may use the earlier round-trip time for its timers.
    ///
    /// # Errors
    ///
    /// As for [`Link::open`]. The link then keeps its parameters, except that a failure to change the mtu may leave the
    /// ends with different ones.
    pub fn set(&self, parameters: &LinkParameters) -> Result<(), LinkError> {
        parameters.validate()?;
        let mut present = self.lock();
        match &self.medium {
            Medium::Loopback(_) if !parameters.is_plain() => {
                return Err(LinkError::NoEmulation { reason: None });
            }
            Medium::Loopback(_) => {}
            Medium::Tun(link) => link.set(&present, parameters)?,
        }
        present.clone_from(parameters);
        Ok(())
    }

    /// Gives the client one more address, on the same interface, whose path has these parameters: a delay, outages, a NAT
    /// and random numbers of its own. Outages count from now. A socket that is bound to an address uses its path.
    ///
    /// [`LinkAddresses::ipv6`] returns its address of IPv6. An address returns only after 99 others.
    ///
    /// # Errors
    ///
    /// - [`LinkError::NoEmulation`] for a loopback link.
    /// - [`LinkError::Parameters`] if a value is impossible, if the mtu is another one than the link's, or for the 101st
    ///   address at a time.
    /// - [`LinkError::System`] if something else fails.
    pub fn add_client_address(&self, parameters: &LinkParameters) -> Result<IpAddr, LinkError> {
        parameters.validate()?;
        let present = self.lock();
        parameters.check_mtu(present.mtu.into())?;
        self.tun()?.add_client_address(parameters)
    }

    /// Takes an address from the client, in its namespace too. Packets in flight to it and from it are lost, and its
    /// counts are forgotten.
    ///
    /// # Errors
    ///
    /// [`LinkError::NoAddress`] if the client does not have it; otherwise as for [`Link::add_client_address`].
    pub fn remove_client_address(&self, client: IpAddr) -> Result<(), LinkError> {
        let _present = self.lock();
        self.tun()?.remove_client_address(client)
    }

    /// Sets the path of one of the client's addresses down, or up again: meanwhile, packets that leave the client or
    /// reach it there are lost. Its sockets notice nothing else.
    ///
    /// # Errors
    ///
    /// [`LinkError::NoAddress`] or [`LinkError::NoEmulation`].
    pub fn set_down(&self, client: IpAddr, is_down: bool) -> Result<(), LinkError> {
        self.tun()?.paths().set_down(client, is_down)
    }

    /// Makes the NAT of one of the client's addresses, if there is one, forget its mappings, as after a restart: sockets
    /// get other external ports.
    ///
    /// # Errors
    ///
    /// [`LinkError::NoAddress`] or [`LinkError::NoEmulation`].
    pub fn rebind(&self, client: IpAddr) -> Result<(), LinkError> {
        self.tun()?.paths().rebind(client)
    }

    /// Returns the address that the server sees instead of one of the client's: that of the NAT, if there is one.
    ///
    /// # Errors
    ///
    /// [`LinkError::NoAddress`] or [`LinkError::NoEmulation`].
    pub fn external_address(&self, client: IpAddr) -> Result<IpAddr, LinkError> {
        self.tun()?.paths().external(client)
    }

    /// Returns the packet counts of the path of one of the client's addresses.
    ///
    /// # Errors
    ///
    /// [`LinkError::NoAddress`] or [`LinkError::NoEmulation`].
    pub fn path_statistics(&self, client: IpAddr) -> Result<LinkStatistics, LinkError> {
        self.tun()?.paths().statistics(client)
    }

    fn tun(&self) -> Result<&TunLink, LinkError> {
        match &self.medium {
            Medium::Loopback(_) => Err(LinkError::NoEmulation { reason: None }),
            Medium::Tun(link) => Ok(link),
        }
    }

    /// Returns the packet counts since the link was opened or last set, of all paths of the client's present addresses.
    #[must_use]
    pub fn statistics(&self) -> LinkStatistics {
        match &self.medium {
            Medium::Loopback(_) => LinkStatistics::default(),
            Medium::Tun(link) => link.statistics(),
        }
    }

    /// Returns why the link stopped carrying packets, if it did.
    ///
    /// It never should; an experiment whose connections time out checks this before it blames the endpoints.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        match &self.medium {
            Medium::Loopback(_) => None,
            Medium::Tun(link) => link.failure(End::Server).or_else(|| link.failure(End::Client)),
        }
    }

    /// Starts a process at one end.
    ///
    /// # Errors
    ///
    /// As for [`Command::spawn`].
    pub fn spawn(&self, end: End, mut command: Command) -> io::Result<Child> {
        self.at(end, move || command.spawn())?
    }

    /// Starts a thread of this process at one end: sockets that it creates are at that end, and stay there whichever
    /// thread uses them.
    ///
    /// # Errors
    ///
    /// As for [`thread::Builder::spawn`].
    pub fn spawn_thread<T: Send + 'static>(
        &self,
        end: End,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        self.at(end, move || thread::Builder::new().spawn(body))?
    }

    /// Runs a closure at one end; processes and threads that it starts run there too.
    fn at<T: Send + 'static>(
        &self,
        end: End,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        match &self.medium {
            Medium::Loopback(_) => Ok(job()),
            Medium::Tun(link) => link.namespace(end).run(job).map_err(io::Error::other),
        }
    }

    fn lock(&self) -> MutexGuard<'_, LinkParameters> {
        self.parameters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
