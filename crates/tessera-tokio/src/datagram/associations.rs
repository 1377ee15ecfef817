//! The associations behind a socket: those of an endpoint, or a client's only one.

use std::hash::Hash;
use std::net::SocketAddr;
use std::time::Duration;

use tessera::handshake::{Checked, ServerHandshake, ServerQuestion};
use tessera::{Association, Error, Progress, ServerConfig, Time};
use tessera_endpoint::{AssociationId, EndedAssociation, Endpoint, Foreign, Path, Route};

use super::failures::RefusedBy;
use super::peer::Known;
use crate::async_handshake::{AnswerCallback, AsyncHandshake, Face};

/// A handshake over datagrams: [`ClientHandshake`](tessera::handshake::ClientHandshake) or [`ServerHandshake`].
pub trait DatagramHandshake: AsyncHandshake {
    #[doc(hidden)]
    type Associations: Associations<Self>;
}

impl DatagramHandshake for ServerHandshake {
    type Associations = Endpoint;
}

/// What a datagram belongs to, and what to read instead of the datagram.
pub enum Owner<Id> {
    /// An association, maybe a new one.
    Association(Id, Option<Vec<u8>>),
    /// Another protocol.
    Foreign(Foreign, Option<Vec<u8>>),
    /// A client that a limit refuses.
    Refused(RefusedBy),
}

/// The associations behind a socket.
pub trait Associations<S: AsyncHandshake>: Send + 'static {
    /// The name of an association.
    type Id: Copy + Eq + Hash + Send + Sync + 'static;

    /// Uses this configuration for associations that begin from now on.
    fn set_config(&mut self, config: Checked<S::Config>);

    /// Returns what a datagram belongs to; `None` if that is nothing.
    fn route(&mut self, now: Time, path: Path, datagram: &[u8]) -> Option<Owner<Self::Id>>;

    /// Reads a datagram up to the next event. Without a path: what was read already.
    fn read(
        &mut self,
        id: Self::Id,
        now: Time,
        path: Option<Path>,
        datagram: &mut [u8],
    ) -> Result<Progress<S::Question>, Error>;

    /// Passes an answer to the association that asked.
    fn answer(&mut self, id: Self::Id, answer: AnswerCallback<S>, now: Time) -> Result<(), Error>;

    /// Appends a datagram with this data; returns where to send it.
    fn write(&mut self, id: Self::Id, data: &[u8], out: &mut Vec<u8>) -> Result<Path, Error>;

    /// Appends the next datagram to send; returns where to.
    fn transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Path>;

    /// Returns when [`handle_timeouts`](Self::handle_timeouts) is due.
    fn deadline(&self) -> Option<Duration>;

    /// Does what is due; returns the associations that ended, and what was known of those that are no longer here.
    fn handle_timeouts(&mut self, now: Time) -> Vec<(Self::Id, Error, Option<Known>)>;

    /// Accesses an association, if it is still there.
    fn with<R>(&mut self, id: Self::Id, change: impl FnOnce(&mut Association<S>) -> R)
    -> Option<R>;

    /// Looks at an association, which is idle afterwards if it was.
    fn look_at<R>(
        &mut self,
        id: Self::Id,
        now: Time,
        look: impl FnOnce(&Association<S>) -> R,
    ) -> Option<R>;

    /// Returns where the peer is, and which socket leads there.
    fn path(&self, id: Self::Id) -> Option<Path>;

    /// Returns how many bytes an association has received, and how many it has sent.
    fn bytes(&self, id: Self::Id) -> Option<[u64; 2]>;

    /// Forgets an association.
    fn remove(&mut self, id: Self::Id);

    /// Returns how many more sockets it wants for associations to come.
    fn sockets_wanted(&self) -> usize {
        0
    }

    /// Adds such a socket; returns whether it has a use.
    fn add_socket(&mut self, _: SocketAddr) -> bool {
        false
    }

    /// Returns a socket that has no use any more.
    fn next_released_socket(&mut self) -> Option<SocketAddr>;

    /// The network refuses to carry datagrams from this socket.
    fn note_refusal(&mut self, _: Option<SocketAddr>, _: Time) {}
}

impl Associations<ServerHandshake> for Endpoint {
    type Id = AssociationId;

    fn set_config(&mut self, config: Checked<ServerConfig>) {
        Self::set_config(self, config);
    }

    fn route(&mut self, now: Time, path: Path, datagram: &[u8]) -> Option<Owner<AssociationId>> {
        match Self::route(self, now, path, datagram) {
            Route::Association(id) => Some(Owner::Association(id, None)),
            Route::Begins(id, datagrams) => Some(Owner::Association(id, Some(datagrams))),
            Route::Foreign(kind) => Some(Owner::Foreign(kind, None)),
            Route::ForeignParts(kind, datagrams) => Some(Owner::Foreign(kind, Some(datagrams))),
            Route::Full { of_source: true } => {
                Some(Owner::Refused(RefusedBy::ConnectionsOfAddress))
            }
            Route::Full { of_source: false } => Some(Owner::Refused(RefusedBy::Connections)),
            _ => None,
        }
    }

    fn read(
        &mut self,
        id: AssociationId,
        now: Time,
        path: Option<Path>,
        datagram: &mut [u8],
    ) -> Result<Progress<ServerQuestion>, Error> {
        let path = path.or_else(|| Self::path(self, id)).ok_or(Error::Closed)?;
        Self::read(self, id, now, path, datagram)
    }

    fn answer(
        &mut self,
        id: AssociationId,
        answer: AnswerCallback<ServerHandshake>,
        now: Time,
    ) -> Result<(), Error> {
        self.answer_with(id, now, |association| answer(Face::Datagrams(association), now))
    }

    fn write(&mut self, id: AssociationId, data: &[u8], out: &mut Vec<u8>) -> Result<Path, Error> {
        Self::write(self, id, data, out)
    }

    fn transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Path> {
        Self::transmit(self, now, out)
    }

    fn deadline(&self) -> Option<Duration> {
        Self::deadline(self)
    }

    fn handle_timeouts(&mut self, now: Time) -> Vec<(AssociationId, Error, Option<Known>)> {
        let known = |it: EndedAssociation| {
            let EndedAssociation { id, error, facts, bytes, .. } = it;
            (id, error, Some(Known { facts, bytes }))
        };
        Self::handle_timeouts(self, now).into_iter().map(known).collect()
    }

    fn with<R>(
        &mut self,
        id: AssociationId,
        change: impl FnOnce(&mut Association<ServerHandshake>) -> R,
    ) -> Option<R> {
        Self::with(self, id, change)
    }

    fn look_at<R>(
        &mut self,
        id: AssociationId,
        now: Time,
        look: impl FnOnce(&Association<ServerHandshake>) -> R,
    ) -> Option<R> {
        Self::look_at(self, id, now, look)
    }

    fn path(&self, id: AssociationId) -> Option<Path> {
        Self::path(self, id)
    }

    fn bytes(&self, id: AssociationId) -> Option<[u64; 2]> {
        Self::bytes(self, id)
    }

    fn remove(&mut self, id: AssociationId) {
        Self::remove(self, id);
    }

    fn sockets_wanted(&self) -> usize {
        Self::sockets_wanted(self)
    }

    fn add_socket(&mut self, local: SocketAddr) -> bool {
        Self::add_socket(self, local)
    }

    fn next_released_socket(&mut self) -> Option<SocketAddr> {
        Self::next_released_socket(self)
    }
}
