//! Associations with sockets of their own.

use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::time::Duration;

use tessera::ServerAddress;
use tessera::face::{HandshakeMessage, offers_extension};
use tessera::wire::ExtensionType;

use super::{AssociationId, Endpoint, Route};
use crate::path::Path;
use crate::routes::is_protected;
use crate::sockets::{SocketPlace, SocketPolicy};

/// An association's socket.
pub(super) struct OwnSocket {
    pub(super) local: SocketAddr,
    /// Where the handshake began, at the shared socket.
    pub(super) began: Path,
    /// The client learns of it by an announcement (TCS), and uses the shared socket until this one has answered.
    pub(super) is_announced: bool,
    /// When the last record came that was newer than all before.
    pub(super) heard: Duration,
    /// The deadline of the association while it is idle.
    pub(super) deadline: Option<Duration>,
}

impl OwnSocket {
    pub(super) fn new(
        local: SocketAddr,
        began: Path,
        is_announced: bool,
        now: Duration,
    ) -> Box<Self> {
        Box::new(Self { local, began, is_announced, heard: now, deadline: None })
    }
}

impl Endpoint {
    /// Returns how many more sockets the endpoint wants, each at an address or a port of its own, in random order: for
    /// associations to come, if [`EndpointOptions::own_sockets`](crate::EndpointOptions::own_sockets) allows any. Give
    /// them with [`add_socket`](Self::add_socket), or fewer: an association that finds none shares the endpoint's, with a
    /// connection ID if its client has those. Ask again after each [`route`](Self::route).
    #[must_use]
    pub fn sockets_wanted(&self) -> usize {
        self.sockets.as_ref().map_or(0, |sockets| sockets.wanted())
    }

    /// Adds a socket for an association to come. What arrives there has this address in its [`Path::local`], and what is
    /// sent from there, too. Returns false if the endpoint has no use for it.
    pub fn add_socket(&mut self, local: SocketAddr) -> bool {
        self.sockets_wanted() > 0 && self.sockets.as_mut().is_some_and(|it| it.add(local))
    }

    /// Returns a socket whose association is gone: close it. Ask again until there is none, after each call that may end
    /// an association.
    pub fn next_released_socket(&mut self) -> Option<SocketAddr> {
        self.sockets.as_mut()?.next_released()
    }

    /// Returns the address of an association's own socket.
    #[must_use]
    pub fn own_socket(&self, id: AssociationId) -> Option<SocketAddr> {
        self.associations.own_socket(id.0)
    }

    /// Returns whether an association that begins should have a socket.
    pub(super) fn wants_socket(&self, hello: HandshakeMessage<'_>) -> bool {
        match self.sockets.as_ref().map(|sockets| sockets.options.policy) {
            Some(SocketPolicy::Ipc) => true,
            Some(SocketPolicy::Tcs) => offers_extension(hello, ExtensionType::SERVER_ADDRESS),
            None => false,
        }
    }

    /// Returns whether the client could move without a socket of its association's own, which it gets only with a cookie.
    pub(super) fn may_go_without_socket(&self, hello: HandshakeMessage<'_>) -> bool {
        !self.wants_socket(hello) || offers_extension(hello, ExtensionType::CONNECTION_ID)
    }

    /// Takes a socket for the next association, if there is one.
    pub(super) fn take_socket(&mut self, path: &Path) -> Option<SocketAddr> {
        let taken = self.sockets.as_mut()?.take(self.next_id, path.source(), self.random);
        self.counts.without_socket += u64::from(taken.is_none());
        taken
    }

    /// Returns what the client learns of a socket.
    pub(super) fn announcement(&self, local: SocketAddr) -> Option<ServerAddress> {
        let options = &self.sockets.as_ref()?.options;
        let port = NonZeroU16::new(local.port())?;
        let ip = options.announces_ip.then(|| local.ip());
        (options.policy == SocketPolicy::Tcs).then_some(ServerAddress { ip, port })
    }

    /// Returns the path on which a handshake is answered that came on this one.
    pub(super) fn first_path(&self, path: Path, own: Option<SocketAddr>) -> Path {
        match self.sockets.as_ref().map(|sockets| sockets.options.policy) {
            Some(SocketPolicy::Ipc) => Path { local: own.or(path.local), ..path },
            _ => path,
        }
    }

    /// Returns what becomes of a datagram at a socket of an association: it is that association's, or gets no answer.
    /// `None`: it came to the shared one.
    pub(super) fn route_at_own_socket(&mut self, path: &Path, datagram: &[u8]) -> Option<Route> {
        let SocketPlace::Of(id) = self.sockets.as_ref()?.place(path.local?)? else {
            return Some(self.unknown());
        };
        let is_protected = datagram.first().is_some_and(|first| is_protected(*first));
        // ACKs and alerts of the first flights are in plaintext.
        let begins_from = self.associations.incomplete(id).map(|entry| entry.peer.current().remote);
        Some(match is_protected || begins_from == Some(path.remote) {
            true => Route::Association(AssociationId(id)),
            false => self.unknown(),
        })
    }
}
