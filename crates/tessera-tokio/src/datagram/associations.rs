//! The associations behind a socket: those of an endpoint, or a client's only one.

use std::hash::Hash;
use std::net::SocketAddr;
use std::time::Duration;

use tessera::handshake::{Checked, ServerHandshake, ServerQuestion};
use tessera::{Association, Error, Progress, ServerConfig, Time};
use tessera_endpoint::{AssociationId, Endpoint, Foreign, Path, Route};

use super::failures::RefusedBy;
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
    fn route(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) -> Option<Owner<Self::Id>>;

    /// Reads a datagram up to the next event. Without an address: what was read already.
    fn read(
        &mut self,
        id: Self::Id,
        now: Time,
        from: Option<SocketAddr>,
        datagram: &mut [u8],
    ) -> Result<Progress<S::Question>, Error>;

    /// Passes an answer to the association that asked.
    fn answer(&mut self, id: Self::Id, answer: AnswerCallback<S>, now: Time) -> Result<(), Error>;

    /// Appends a datagram with this data; returns where to send it.
    fn write(&mut self, id: Self::Id, data: &[u8], out: &mut Vec<u8>) -> Result<SocketAddr, Error>;

    /// Appends the next datagram to send; returns where to.
    fn transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<SocketAddr>;

    /// Returns when [`handle_timeouts`](Self::handle_timeouts) is due.
    fn deadline(&self) -> Option<Duration>;

    /// Does what is due; returns the associations that ended.
    fn handle_timeouts(&mut self, now: Time) -> Vec<(Self::Id, Error)>;

    /// Accesses an association, if it is still there.
    fn with<R>(&mut self, id: Self::Id, change: impl FnOnce(&mut Association<S>) -> R)
    -> Option<R>;

    /// Returns where the peer is.
    fn address(&self, id: Self::Id) -> Option<SocketAddr>;

    /// Returns how many bytes an association has received, and how many it has sent.
    fn bytes(&self, id: Self::Id) -> Option<[u64; 2]>;

    /// Forgets an association.
    fn remove(&mut self, id: Self::Id);
}

impl Associations<ServerHandshake> for Endpoint {
    type Id = AssociationId;

    fn set_config(&mut self, config: Checked<ServerConfig>) {
        Self::set_config(self, config);
    }

    fn route(
        &mut self,
        now: Time,
        from: SocketAddr,
        datagram: &[u8],
    ) -> Option<Owner<AssociationId>> {
        match Self::route(self, now, path(from), datagram) {
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
        from: Option<SocketAddr>,
        datagram: &mut [u8],
    ) -> Result<Progress<ServerQuestion>, Error> {
        let path = from.map(path).or_else(|| self.path(id)).ok_or(Error::Closed)?;
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

    fn write(
        &mut self,
        id: AssociationId,
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<SocketAddr, Error> {
        Self::write(self, id, data, out).map(|path| path.remote)
    }

    fn transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<SocketAddr> {
        Self::transmit(self, now, out).map(|path| path.remote)
    }

    fn deadline(&self) -> Option<Duration> {
        Self::deadline(self)
    }

    fn handle_timeouts(&mut self, now: Time) -> Vec<(AssociationId, Error)> {
        Self::handle_timeouts(self, now)
    }

    fn with<R>(
        &mut self,
        id: AssociationId,
        change: impl FnOnce(&mut Association<ServerHandshake>) -> R,
    ) -> Option<R> {
        Self::with(self, id, change)
    }

    fn address(&self, id: AssociationId) -> Option<SocketAddr> {
        self.path(id).map(|path| path.remote)
    }

    fn bytes(&self, id: AssociationId) -> Option<[u64; 2]> {
        Self::bytes(self, id)
    }

    fn remove(&mut self, id: AssociationId) {
        Self::remove(self, id);
    }
}

/// A socket of tokio doesn't report the local address of a datagram.
fn path(remote: SocketAddr) -> Path {
    Path { remote, local: None }
}
