//! Assigns calls to connections.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Grant;
use crate::address::DialAddress;
use crate::http::client::PoolOptions;
use crate::http::client::addresses::Places;
use crate::http::client::call::Early;
use crate::http::client::connect::Protocol;
use crate::http::client::connection::{Connection, Lease, Standing};
use crate::http::client::error::CallError;

/// The state under the pool's lock.
#[derive(Default)]
pub(super) struct State {
    pub(super) connections: Vec<Arc<Connection>>,
    pub(super) places: Places,
    /// Connections that are being opened.
    pub(super) opening: usize,
    pub(super) queue: VecDeque<Waiter>,
    pub(super) is_closed: bool,
    /// A task waits until a connection may be opened.
    pub(super) is_pausing: bool,
    /// No connections are opened ahead of need before this: there is no address.
    pub(super) not_before: Option<Instant>,
    /// The protocol of the last connection.
    pub(super) protocol: Protocol,
}

/// A call waiting for a place.
pub(super) struct Waiter {
    pub(super) tell: oneshot::Sender<Result<Grant, CallError>>,
    pub(super) early: Early,
    /// The connection of its last attempt.
    pub(super) avoid: Option<Weak<Connection>>,
}

/// A place, or none.
pub(super) enum Placement {
    Place {
        lease: Lease,
        /// Few places are left.
        open_ahead: bool,
    },
    Nothing,
}

/// The lowest is the best: overdue answers, standing, priority, number of calls.
type Rank = (bool, Standing, u16, usize);

impl State {
    /// Finds the best free place: on a responsive connection that isn't ending, to an address of the lowest priority,
    /// with the fewest calls.
    pub(super) fn find(&self, avoid: Option<&Arc<Connection>>, options: &PoolOptions) -> Placement {
        let mut best: Option<(Rank, &Arc<Connection>)> = None;
        let (mut in_use, mut places) = (1, 0);
        for connection in &self.connections {
            let standing = connection.standing();
            if standing == Standing::Ready && connection.protocol() == Protocol::Http2 {
                in_use += connection.in_use();
                places += connection.places();
            }
            if !connection.has_place() || avoid.is_some_and(|avoid| Arc::ptr_eq(avoid, connection))
            {
                continue;
            }
            let rank =
                (connection.is_suspect(), standing, connection.priority(), connection.in_use());
            if best.is_none_or(|(other, _)| rank < other) {
                best = Some((rank, connection));
            }
        }
        let Some(((is_suspect, standing, ..), connection)) = best else {
            return Placement::Nothing;
        };
        let is_scarce = places > 0 && in_use * 100 > places * options.open_ahead_at;
        let open_ahead = (is_scarce || is_suspect || standing == Standing::Old)
            && self.opening == 0
            && self.counted() < options.connections;
        Placement::Place { lease: connection.take(), open_ahead }
    }

    /// Counts the connections, without those about to end: these are replaced before they do.
    pub(super) fn counted(&self) -> usize {
        self.opening + self.live().count()
    }

    /// How many waiting calls no connection will serve soon.
    pub(super) fn unserved(&self, options: &PoolOptions) -> usize {
        let (each, in_flight) = match self.protocol {
            Protocol::Http1 => (1, 0),
            Protocol::Http2 => {
                let in_flight =
                    |c: &&Arc<Connection>| c.standing() == Standing::InFlight && !c.is_suspect();
                (options.streams, self.connections.iter().filter(in_flight).count())
            }
        };
        let coming = (self.opening + in_flight).saturating_mul(each);
        self.queue.len().saturating_sub(coming)
    }

    /// The connections that get calls.
    pub(super) fn live(&self) -> impl Iterator<Item = &Arc<Connection>> {
        self.connections.iter().filter(|connection| connection.standing() < Standing::Old)
    }

    pub(super) fn connections_to(&self, address: &DialAddress) -> usize {
        self.connections.iter().filter(|connection| connection.address() == address).count()
    }

    /// Removes and returns connections whose address isn't known any more.
    pub(super) fn retain_known(&mut self) -> Vec<Arc<Connection>> {
        let known = |address: &DialAddress| {
            self.places.iter().any(|place| place.target.address == *address)
        };
        let all = std::mem::take(&mut self.connections);
        let (left, gone) = all.into_iter().partition(|connection| known(connection.address()));
        self.connections = left;
        gone
    }
}
