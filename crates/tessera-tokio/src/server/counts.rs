//! Counters of a server's limits.

use std::sync::atomic::{AtomicU64, Ordering};

use super::address_refusal::AddressRefusal;

/// What became of a server's connections since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Connections that were handed to the server's owner, or admitted by a [`Gate`](super::Gate).
    pub accepted: u64,
    /// Connections closed at once because their address was at its limit of connections.
    pub refused_connections: u64,
    /// Connections closed at once because their address was at its limit of handshakes in progress.
    pub refused_handshakes: u64,
    /// Connections that moved no byte for too long.
    pub idle: u64,
    /// Connections whose peer didn't read for too long.
    pub stalled: u64,
    /// How often accepting failed for lack of files or memory.
    pub accept_errors: u64,
}

/// The live counters.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) accepted: AtomicU64,
    pub(super) refused_connections: AtomicU64,
    pub(super) refused_handshakes: AtomicU64,
    pub(super) idle: AtomicU64,
    pub(super) stalled: AtomicU64,
    pub(super) accept_errors: AtomicU64,
}

impl Counters {
    pub(super) fn refused(&self, why: AddressRefusal) {
        count(match why {
            AddressRefusal::Connections => &self.refused_connections,
            AddressRefusal::Handshakes => &self.refused_handshakes,
        });
    }

    pub(super) fn counts(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            accepted: read(&self.accepted),
            refused_connections: read(&self.refused_connections),
            refused_handshakes: read(&self.refused_handshakes),
            idle: read(&self.idle),
            stalled: read(&self.stalled),
            accept_errors: read(&self.accept_errors),
        }
    }
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
