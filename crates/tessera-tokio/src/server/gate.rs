//! Limits for custom accept loops.

use std::future::Future;
use std::io;
use std::sync::Arc;

use super::accept::accept;
use super::address_refusal::AddressRefusal;
use super::counts::{Counts, count};
use super::limits::Limits;
use super::origin::Origin;
use super::room::{HandshakePlace, Room, Vacancy};
use super::socket::ClientSocket;
use super::timed::{IdleTimer, TimedSocket};
use crate::tracked::TrackedStream;

/// The limits of a server, for custom accept loops and for sockets of any kind. [`Server`](super::Server) is
/// built on it. It can be cloned; all clones share one set of places.
///
/// ```no_run
/// use tessera_tokio::{Gate, Limits, Origin};
/// use tokio::net::UnixListener;
///
/// # async fn example() -> std::io::Result<()> {
/// let listener = UnixListener::bind("/run/example.sock")?;
/// let gate = Gate::new(Limits::default());
/// loop {
///     // A client that finds no place waits in the listener's queue.
///     let vacancy = gate.vacancy().await;
///     let (socket, _) = gate.accept(|| listener.accept()).await;
///     let Ok((socket, handshake)) = vacancy.admit(socket, Origin::LOCAL) else { continue };
///     tokio::spawn(async move {
///         // The handshake, if there is one.
///         drop(handshake);
///         // The rest.
///         drop(socket);
///     });
/// }
/// # }
/// ```
#[derive(Clone)]
pub struct Gate(Arc<Room>);

impl Gate {
    /// Makes a gate with all its places free.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self(Arc::new(Room::new(limits)))
    }

    /// Returns the limits that it enforces.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// Waits until there is room for one more client. Dropping the future loses nothing.
    pub async fn vacancy(&self) -> Vacancy {
        self.0.vacancy().await
    }

    /// Accepts until there is a connection. Out of files or memory it retries after longer and longer pauses,
    /// from 5 ms to a second, and counts them ([`Counts::accept_errors`]). Clients that left meanwhile are
    /// skipped. Dropping the future loses nothing if dropping that of `accept_one` doesn't.
    pub async fn accept<T, F>(&self, accept_one: impl Fn() -> F) -> T
    where
        F: Future<Output = io::Result<T>>,
    {
        accept(accept_one, || count(&self.0.counters.accept_errors)).await
    }

    /// Applies the time-outs of the gate's clients to another socket, such as the one to a backend. It takes
    /// no place; its time-outs are counted with those of the clients.
    pub fn time<IO>(&self, io: IO) -> TimedSocket<IO> {
        TrackedStream { stream: io, tracker: IdleTimer::new(self.0.clone(), ()) }
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.0.counters.counts()
    }

    /// Returns how many connections there are now.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.0.held().connections
    }

    /// Returns how many handshakes are in progress now.
    #[must_use]
    pub fn handshakes(&self) -> usize {
        self.0.held().handshakes
    }
}

impl Vacancy {
    /// Admits a client, unless its address is at a limit: then its socket is closed.
    pub fn admit<IO>(
        self,
        io: IO,
        origin: Origin,
    ) -> Result<(ClientSocket<IO>, HandshakePlace), AddressRefusal> {
        let (connection, handshake) = self.take(origin)?;
        let tracker = IdleTimer::new(connection.room().clone(), connection);
        Ok((TrackedStream { stream: io, tracker }, handshake))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn connections_and_handshakes_are_counted_apart() {
        let gate = Gate::new(Limits::default());
        let mut admitted = Vec::new();
        for _ in 0..3 {
            admitted.push(gate.vacancy().await.admit((), Origin::LOCAL).unwrap());
        }
        admitted.pop();
        let (sockets, mut handshakes): (Vec<_>, Vec<_>) = admitted.into_iter().unzip();
        assert_eq!((gate.connections(), gate.handshakes()), (2, 2));
        handshakes.clear();
        assert_eq!((gate.connections(), gate.handshakes()), (2, 0));
        drop(sockets);
        assert_eq!(gate.connections(), 0);
    }
}
