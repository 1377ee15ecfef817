//! Who has how much of a server.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::address::Address;
use super::counts::{Counters, count};
use super::limits::Limits;

/// The places of a server, and which address has how many.
pub(super) struct Room {
    limits: Limits,
    connections: Arc<Semaphore>,
    handshakes: Arc<Semaphore>,
    /// Those that have any.
    held: Mutex<HashMap<Address, Held>>,
    pub(super) counters: Counters,
}

/// What one address has.
#[derive(Default)]
struct Held {
    connections: usize,
    handshakes: usize,
}

/// A place that nobody has yet.
pub(super) struct Vacancy {
    connection: OwnedSemaphorePermit,
    handshake: OwnedSemaphorePermit,
}

/// The place of a connection; given back when it is dropped.
pub(super) struct ConnectionPlace {
    room: Arc<Room>,
    address: Address,
    _permit: OwnedSemaphorePermit,
}

/// The place of a handshake; given back when it is dropped.
pub(super) struct HandshakePlace {
    room: Arc<Room>,
    address: Address,
    _permit: OwnedSemaphorePermit,
}

impl Room {
    pub(super) fn new(limits: Limits) -> Self {
        let places =
            |count: usize| Arc::new(Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS)));
        Self {
            limits,
            connections: places(limits.connections),
            handshakes: places(limits.handshakes),
            held: Mutex::default(),
            counters: Counters::default(),
        }
    }

    /// Waits until there is room for one more; `None` never comes, since the room is never closed.
    pub(super) async fn vacancy(&self) -> Option<Vacancy> {
        let connection = self.connections.clone().acquire_owned().await.ok()?;
        let handshake = self.handshakes.clone().acquire_owned().await.ok()?;
        Some(Vacancy { connection, handshake })
    }

    /// Gives a place to an address, unless it has as many as it may.
    pub(super) fn take(
        self: &Arc<Self>,
        address: Address,
        vacancy: Vacancy,
    ) -> Option<(ConnectionPlace, HandshakePlace)> {
        let mut all = self.held();
        let held = all.entry(address).or_default();
        // Whoever has none of the places is not in the table for longer than this call: limits are 1 at
        // least.
        if held.connections >= self.limits.connections_per_address.max(1) {
            count(&self.counters.refused_connections);
            return None;
        }
        if held.handshakes >= self.limits.handshakes_per_address.max(1) {
            count(&self.counters.refused_handshakes);
            return None;
        }
        held.connections += 1;
        held.handshakes += 1;
        drop(all);
        let (room, other) = (self.clone(), self.clone());
        Some((
            ConnectionPlace { room, address, _permit: vacancy.connection },
            HandshakePlace { room: other, address, _permit: vacancy.handshake },
        ))
    }

    fn give_back(&self, address: Address, what: impl FnOnce(&mut Held)) {
        let mut all = self.held();
        if let Entry::Occupied(mut held) = all.entry(address) {
            what(held.get_mut());
            if held.get().connections == 0 && held.get().handshakes == 0 {
                held.remove();
            }
        }
        // An attack from many addresses leaves no table behind.
        if all.is_empty() {
            all.shrink_to_fit();
        }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Address, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        self.room.give_back(self.address, |held| held.connections -= 1);
    }
}

impl Drop for HandshakePlace {
    fn drop(&mut self) {
        self.room.give_back(self.address, |held| held.handshakes -= 1);
    }
}

impl ConnectionPlace {
    pub(super) fn counters(&self) -> &Counters {
        &self.room.counters
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    #[tokio::test]
    async fn places_are_given_by_address_and_given_back() {
        let mut limits = Limits::for_connections(10);
        (limits.connections_per_address, limits.handshakes_per_address) = (3, 2);
        let room = Arc::new(Room::new(limits));
        let one = Address::from(IpAddr::from([192, 0, 2, 1]));
        let other = Address::from(IpAddr::from([192, 0, 2, 2]));
        let take = async |address| room.take(address, room.vacancy().await.unwrap());

        let (first, first_handshake) = take(one).await.unwrap();
        let second = take(one).await.unwrap();
        assert!(take(one).await.is_none(), "two handshakes are under way");
        drop(first_handshake);
        let third = take(one).await.unwrap();
        drop((second.1, third.1));
        assert!(take(one).await.is_none(), "there are three connections");
        assert!(take(other).await.is_some(), "that is nothing to others");
        let counts = room.counters.counts();
        assert_eq!((counts.refused_handshakes, counts.refused_connections), (1, 1));

        drop((first, second.0));
        assert!(take(one).await.is_some());
        drop(third.0);
        assert_eq!(room.held().len(), 0);
        assert_eq!(room.connections.available_permits(), 10);
        assert_eq!(room.handshakes.available_permits(), 10);
    }
}
