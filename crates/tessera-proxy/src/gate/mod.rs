//! Who may come in.

mod metrics;
mod rate;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tessera_tokio::{ClientSocket, Counts, HandshakePlace, Limits, Origin, TimedSocket};

pub use self::metrics::Gates;
use self::rate::RateByOrigin;
use crate::listen::Listener;
use crate::socket::{Peer, Socket};

/// The limits of a listener: [`tessera_tokio::Gate`]'s, and how many new connections an address may begin.
#[derive(Debug, Clone, Copy, Default)]
pub struct GateLimits {
    /// How much all clients and one may have, and for how long.
    pub places: Limits,
    /// How many connections one address may begin each second, and at once after a while without any. Further ones
    /// are closed at once. `None` is any number. Default: any number.
    pub new_per_second_per_address: Option<NonZeroU32>,
}

/// Lets clients in within [`GateLimits`]. It can be cloned: all clones are one gate.
#[derive(Clone)]
pub struct Gate {
    places: tessera_tokio::Gate,
    rate: Option<Arc<RateByOrigin>>,
    refused_rate: Arc<AtomicU64>,
}

/// A client that was let in, of whom nothing was read.
#[non_exhaustive]
pub struct Admitted {
    /// Its connection, which holds its place until it is dropped.
    pub socket: ClientSocket<Socket>,
    /// To be dropped when the handshake is complete, or the client is known otherwise.
    pub handshake: HandshakePlace,
    /// Where it comes from.
    pub peer: Peer,
}

/// What a gate counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateCounts {
    /// What became of connections since the gate began.
    pub since_start: Counts,
    /// Connections that were closed at once: their address had begun as many as it may.
    pub refused_rate: u64,
    /// How many connections there are now.
    pub connections: usize,
    /// How many handshakes are under way now.
    pub handshakes: usize,
}

impl Gate {
    /// A gate of its own.
    #[must_use]
    pub fn new(limits: GateLimits) -> Self {
        let rate = limits.new_per_second_per_address.map(RateByOrigin::new);
        Self {
            places: tessera_tokio::Gate::new(limits.places),
            rate: rate.map(Arc::new),
            refused_rate: Arc::default(),
        }
    }

    /// The next client that may come in, whatever the system says meanwhile. Dropping the future loses none.
    pub async fn accept(&self, listener: &Listener) -> Admitted {
        self.accept_as(listener, Origin::from).await
    }

    /// The same, where `origin` says how a client is counted: [`Origin::TRUSTED`] for load balancers, whose clients
    /// are known later ([`admit_as`](Self::admit_as)).
    pub async fn accept_as(
        &self,
        listener: &Listener,
        origin: impl Fn(Peer) -> Origin,
    ) -> Admitted {
        loop {
            let vacancy = self.places.vacancy().await;
            let (socket, peer) = self.places.accept(|| listener.accept()).await;
            let origin = origin(peer);
            if !self.is_within_rate(origin) {
                continue;
            }
            if let Ok((socket, handshake)) = vacancy.admit(socket, origin) {
                return Admitted { socket, handshake, peer };
            }
        }
    }

    /// Counts a client that a load balancer brought ([`Origin::TRUSTED`]) for its own address. `false`: that has
    /// as much as it may, and the client is to be closed.
    #[must_use]
    pub fn admit_as(
        &self,
        socket: &mut ClientSocket<Socket>,
        handshake: &mut HandshakePlace,
        origin: Origin,
    ) -> bool {
        self.is_within_rate(origin) && socket.move_to(handshake, origin).is_ok()
    }

    /// The time-outs of the clients for a socket of another kind, such as the one to a backend: a pump that waits
    /// for one side alone would wait for ever without.
    pub fn time(&self, socket: Socket) -> TimedSocket<Socket> {
        self.places.time(socket)
    }

    /// What was counted until now.
    #[must_use]
    pub fn counts(&self) -> GateCounts {
        GateCounts {
            since_start: self.places.counts(),
            refused_rate: self.refused_rate.load(Ordering::Relaxed),
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
