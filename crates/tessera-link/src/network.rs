//! Networks with more than two ends: nodes, and links between any two of them.

use std::io;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::{self, JoinHandle};

use crate::error::LinkError;
use crate::namespace::Namespace;
use crate::parameters::{LinkKind, LinkParameters};
use crate::tun::{self, TunLink};
use crate::{Link, Medium};

/// Nodes joined by links.
///
/// For TCP each is a separate machine, with one address for each of its links. Nothing is forwarded from one link to
/// another: nodes that need to communicate must be joined.
///
/// ```no_run
/// use std::time::Duration;
/// use tessera_link::{LinkKind, LinkParameters, Network};
///
/// # fn main() -> Result<(), tessera_link::LinkError> {
/// let network = Network::open(LinkKind::Tun)?;
/// let [client, near, far] = ["client", "near", "far"].map(|name| network.node(name));
/// let (client, near, far) = (client?, near?, far?);
/// let slow = LinkParameters { rtt: Duration::from_millis(80), ..LinkParameters::default() };
/// let to_near = network.join(&client, &near, &LinkParameters::default())?;
/// let to_far = network.join(&client, &far, &slow)?;
/// let between = network.join(&near, &far, &slow)?;
/// # drop((to_near, to_far, between));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Network {
    kind: LinkKind,
    fallback_reason: Option<LinkError>,
    links: AtomicU8,
}

/// A node of a [`Network`].
///
/// It lives as long as this value, its links and its processes.
#[derive(Clone, Debug)]
pub struct Node {
    /// `None` where all nodes share the machine's loopback interface.
    namespace: Option<Arc<Namespace>>,
}

impl Node {
    /// Starts a process at this node.
    ///
    /// # Errors
    ///
    /// As for [`Command::spawn`].
    pub fn spawn(&self, mut command: Command) -> io::Result<Child> {
        self.run(move || command.spawn())?
    }

    /// Starts a thread of this process at this node: sockets that it creates are at this node, and stay there whichever
    /// thread uses them.
    ///
    /// # Errors
    ///
    /// As for [`thread::Builder::spawn`].
    pub fn spawn_thread<T: Send + 'static>(
        &self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        self.run(move || thread::Builder::new().spawn(body))?
    }

    /// Runs a closure at this node; processes and threads that it starts run there too.
    fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
        match &self.namespace {
            None => Ok(job()),
            Some(namespace) => namespace.run(job).map_err(io::Error::other),
        }
    }
}

impl Network {
    /// Makes a network without nodes, for links of this kind.
    ///
    /// [`LinkKind::Auto`] becomes loopback links only if the machine does not allow others;
    /// [`Network::fallback_reason`] then returns why.
    ///
    /// # Errors
    ///
    /// - [`LinkError::Unavailable`] if the kind is [`LinkKind::Tun`] and the machine does not allow it.
    /// - [`LinkError::System`] if something else fails.
    pub fn open(kind: LinkKind) -> Result<Self, LinkError> {
        let of = |kind, fallback_reason| Self { kind, fallback_reason, links: AtomicU8::new(0) };
        if kind == LinkKind::Loopback {
            return Ok(of(kind, None));
        }
        match tun::check() {
            Ok(()) => Ok(of(LinkKind::Tun, None)),
            Err(reason @ LinkError::Unavailable { .. }) if kind == LinkKind::Auto => {
                Ok(of(LinkKind::Loopback, Some(reason)))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the kind of its links: [`LinkKind::Tun`] or [`LinkKind::Loopback`].
    #[must_use]
    pub fn kind(&self) -> LinkKind {
        self.kind
    }

    /// Returns why [`LinkKind::Auto`] became loopback links, if it did.
    #[must_use]
    pub fn fallback_reason(&self) -> Option<&LinkError> {
        self.fallback_reason.as_ref()
    }

    /// As [`Network::fallback_reason`], consuming the network.
    pub(crate) fn into_fallback_reason(self) -> Option<LinkError> {
        self.fallback_reason
    }

    /// Makes a node. Its thread gets this name.
    ///
    /// # Errors
    ///
    /// [`LinkError::Unavailable`] or [`LinkError::System`].
    pub fn node(&self, name: &str) -> Result<Node, LinkError> {
        let namespace = match self.kind {
            LinkKind::Loopback => None,
            _ => Some(Arc::new(Namespace::new(name)?)),
        };
        Ok(Node { namespace })
    }

    /// Joins two nodes of this network: the first is the link's [`End::Client`](crate::End::Client), the second its
    /// [`End::Server`](crate::End::Server); either may connect.
    ///
    /// # Errors
    ///
    /// As for [`Link::open`], and [`LinkError::Parameters`] for the 256th link.
    pub fn join(
        &self,
        client: &Node,
        server: &Node,
        parameters: &LinkParameters,
    ) -> Result<Link, LinkError> {
        parameters.validate()?;
        let medium = match (&client.namespace, &server.namespace) {
            (Some(client), Some(server)) => {
                let next = |number: u8| number.checked_add(1);
                let number = self.links.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
                let number =
                    number.map_err(|_| LinkError::Parameters("a network has at most 255 links"))?;
                Medium::Tun(TunLink::join(client.clone(), server.clone(), number, parameters)?)
            }
            _ if parameters.is_plain() => Medium::Loopback(None),
            _ => return Err(LinkError::NoEmulation { reason: None }),
        };
        Ok(Link::of(medium, parameters))
    }
}
