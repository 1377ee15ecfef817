//! Admission of clients.

mod metrics;
mod rate;
mod settings;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tessera_tokio::{ClientSocket, Counts, HandshakePlace, Limits, Origin, TimedSocket};

pub use self::metrics::Gates;
use self::rate::RateByOrigin;
pub use self::settings::GateSettings;
#[cfg(feature = "http")]
use crate::http::server::Cause;
use crate::listen::Listener;
use crate::socket::{Peer, Socket};

/// The limits of a listener: those of [`tessera_tokio::Gate`], and the rate of new connections from an address.
#[derive(Debug, Clone, Copy, Default)]
pub struct GateLimits {
    /// Limits on all clients and on one, in number and time.
    pub places: Limits,
    /// How many connections one address may open each second, and at once after a pause. Further ones are closed at
    /// once. `None`: any number. Default: any number.
    pub new_per_second_per_address: Option<NonZeroU32>,
}

/// Admits clients within [`GateLimits`]. Clones share the same gate.
#[derive(Clone)]
pub struct Gate {
    places: tessera_tokio::Gate,
    rate: Option<Arc<RateByOrigin>>,
    refused_rate: Arc<AtomicU64>,
    without_requests: Arc<AtomicU64>,
}

/// An admitted client; nothing was read from it.
#[non_exhaustive]
pub struct AdmittedClient {
    /// Its connection, which holds its place until dropped.
    pub socket: ClientSocket<Socket>,
    /// Drop it when the handshake is complete, or the client is identified otherwise.
    pub handshake: HandshakePlace,
    /// The client's address.
    pub peer: Peer,
}

/// The counters of a gate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateCounts {
    /// The fate of connections since the gate was created.
    pub since_start: Counts,
    /// Connections closed at once because their address opened too many.
    pub refused_rate: u64,
    /// HTTP connections that ended because no request came for too long.
    pub without_requests: u64,
    /// Open connections.
    pub connections: usize,
    /// Handshakes in progress.
    pub handshakes: usize,
}

impl Gate {
    /// Creates a gate.
    #[must_use]
    pub fn new(limits: GateLimits) -> Self {
        let rate = limits.new_per_second_per_address.map(RateByOrigin::new);
        Self {
            places: tessera_tokio::Gate::new(limits.places),
            rate: rate.map(Arc::new),
            refused_rate: Arc::default(),
            without_requests: Arc::default(),
        }
    }

    /// Waits for the next client to admit; errors of the system don't end it. Dropping the future loses no client.
    pub async fn accept(&self, listener: &Listener) -> AdmittedClient {
        self.accept_as(listener, Origin::from).await
    }

    /// The same, with `origin` deciding how a client is counted: [`Origin::TRUSTED`] for load balancers, whose clients
    /// are identified later ([`admit_as`](Self::admit_as)).
    pub async fn accept_as(
        &self,
        listener: &Listener,
        origin: impl Fn(Peer) -> Origin,
    ) -> AdmittedClient {
        loop {
            let vacancy = self.places.vacancy().await;
            let (socket, peer) = self.places.accept(|| listener.accept()).await;
            let origin = origin(peer);
            if !self.is_within_rate(origin) {
                continue;
            }
            if let Ok((socket, handshake)) = vacancy.admit(socket, origin) {
                return AdmittedClient { socket, handshake, peer };
            }
        }
    }

    /// Counts a client behind a load balancer ([`Origin::TRUSTED`]) under its own address. `false`: that address has
    /// reached its limits, and the client must be closed.
    #[must_use]
    pub fn admit_as(
        &self,
        socket: &mut ClientSocket<Socket>,
        handshake: &mut HandshakePlace,
        origin: Origin,
    ) -> bool {
        self.is_within_rate(origin) && socket.move_to(handshake, origin).is_ok()
    }

    /// Applies the clients' time-outs to a socket of another kind, such as that of a backend: without them a pump that
    /// waits for one side alone would wait forever.
    pub fn time(&self, socket: Socket) -> TimedSocket<Socket> {
        self.places.time(socket)
    }

    /// Counts an HTTP connection that ended for lack of requests. Its socket doesn't: a PING moves bytes too.
    #[cfg(feature = "http")]
    pub fn count_end(&self, cause: &Cause) {
        if let Cause::Idle = cause {
            self.without_requests.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the counters.
    #[must_use]
    pub fn counts(&self) -> GateCounts {
        GateCounts {
            since_start: self.places.counts(),
            refused_rate: self.refused_rate.load(Ordering::Relaxed),
            without_requests: self.without_requests.load(Ordering::Relaxed),
            connections: self.places.connections(),
            handshakes: self.places.handshakes(),
        }
    }

    fn is_within_rate(&self, origin: Origin) -> bool {
        let Some(rate) = self.rate.as_ref().filter(|_| origin != Origin::TRUSTED) else {
            return true;
        };
        let is_within = rate.allows(origin);
        if !is_within {
            self.refused_rate.fetch_add(1, Ordering::Relaxed);
        }
        is_within
    }
}

#[cfg(test)]
mod tests;
