//! The accounting of a server's places.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;

use super::address_refusal::AddressRefusal;
use super::counts::{Counters, count};
use super::limits::Limits;
use super::origin::Origin;

/// The places of a server, and how many each address has.
pub(super) struct Room {
    pub(super) limits: Limits,
    connections: Semaphore,
    handshakes: Semaphore,
    table: Mutex<Table>,
    pub(super) counters: Counters,
}

#[derive(Default)]
struct Table {
    all: AddressUsage,
    /// Addresses that hold any places and aren't trusted.
    by_origin: HashMap<Origin, AddressUsage>,
}

/// What one address holds, or all together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct AddressUsage {
    pub(super) connections: usize,
    pub(super) handshakes: usize,
}

/// A place that is still free; returned when dropped.
pub struct Vacancy {
    /// Present until a client takes it.
    room: Option<Arc<Room>>,
}

/// The place of a connection; given back when it is dropped.
pub struct ConnectionPlace {
    room: Arc<Room>,
    origin: Origin,
}

/// The place of a handshake; returned when dropped: when the handshake is complete, or has failed.
pub struct HandshakePlace {
    room: Arc<Room>,
    origin: Origin,
}

impl Room {
    pub(super) fn new(limits: Limits) -> Self {
        let places = |count: usize| Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS));
        Self {
            limits,
            connections: places(limits.connections),
            handshakes: places(limits.handshakes),
            table: Mutex::default(),
            counters: Counters::default(),
        }
    }

    /// Waits until there is room for one more client.
    pub(super) async fn vacancy(self: &Arc<Self>) -> Vacancy {
        let (Ok(connection), Ok(handshake)) =
            (self.connections.acquire().await, self.handshakes.acquire().await)
        else {
            // A room's semaphores are never closed.
            return std::future::pending().await;
        };
        connection.forget();
        handshake.forget();
        Vacancy { room: Some(self.clone()) }
    }

    /// Returns what all hold together.
    pub(super) fn held(&self) -> AddressUsage {
        self.table().all
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Counts one connection and one handshake for an address, unless it is at its limit.
    fn give(&mut self, origin: Origin, limits: &Limits) -> Result<(), AddressRefusal> {
        if !origin.is_limited() {
            return Ok(());
        }
        // An address without places stays in the table for this call only: limits are at least 1.
        let held = self.by_origin.entry(origin).or_default();
        if held.connections >= limits.connections_per_address.max(1) {
            return Err(AddressRefusal::Connections);
        }
        if held.handshakes >= limits.handshakes_per_address.max(1) {
            return Err(AddressRefusal::Handshakes);
        }
        held.connections += 1;
        held.handshakes += 1;
        Ok(())
    }

    fn take_back(&mut self, origin: Origin, what: impl FnOnce(&mut AddressUsage)) {
        if let Entry::Occupied(mut held) = self.by_origin.entry(origin) {
            what(held.get_mut());
            if *held.get() == AddressUsage::default() {
                held.remove();
            }
        }
        // Free the table after an attack from many addresses.
        if self.by_origin.is_empty() {
            self.by_origin.shrink_to_fit();
        }
    }
}

impl Vacancy {
    /// Assigns the place to an address, unless that is at its limit.
    pub(super) fn take(
        mut self,
        origin: Origin,
    ) -> Result<(ConnectionPlace, HandshakePlace), AddressRefusal> {
        // Always present until this call.
        let Some(room) = self.room.take() else { return Err(AddressRefusal::Connections) };
        let mut table = room.table();
        if let Err(refused) = table.give(origin, &room.limits) {
            drop(table);
            room.counters.refused(refused);
            self.room = Some(room);
            return Err(refused);
        }
        table.all.connections += 1;
        table.all.handshakes += 1;
        drop(table);
        count(&room.counters.accepted);
        let handshake = HandshakePlace { room: room.clone(), origin };
        Ok((ConnectionPlace { room, origin }, handshake))
    }
}

impl Drop for Vacancy {
    fn drop(&mut self) {
        if let Some(room) = &self.room {
            room.connections.add_permits(1);
            room.handshakes.add_permits(1);
        }
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let mut table = self.room.table();
        table.take_back(self.origin, |held| held.connections -= 1);
        table.all.connections -= 1;
        drop(table);
        self.room.connections.add_permits(1);
    }
}

impl Drop for HandshakePlace {
    fn drop(&mut self) {
        let mut table = self.room.table();
        table.take_back(self.origin, |held| held.handshakes -= 1);
        table.all.handshakes -= 1;
        drop(table);
        self.room.handshakes.add_permits(1);
    }
}

impl ConnectionPlace {
    pub(super) fn room(&self) -> &Arc<Room> {
        &self.room
    }

    pub(super) fn origin(&self) -> Origin {
        self.origin
    }

    /// Moves both places of a client to its real address.
    pub(super) fn move_to(
        &mut self,
        handshake: &mut HandshakePlace,
        origin: Origin,
    ) -> Result<(), AddressRefusal> {
        let mut table = self.room.table();
        if let Err(refused) = table.give(origin, &self.room.limits) {
            drop(table);
            self.room.counters.refused(refused);
            return Err(refused);
        }
        table.take_back(self.origin, |held| held.connections -= 1);
        table.take_back(handshake.origin, |held| held.handshakes -= 1);
        drop(table);
        (self.origin, handshake.origin) = (origin, origin);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn room() -> Arc<Room> {
        let mut limits = Limits::for_connections(10);
        (limits.connections_per_address, limits.handshakes_per_address) = (3, 2);
        Arc::new(Room::new(limits))
    }

    fn assert_empty(room: &Room) {
        assert_eq!(room.table().by_origin.len(), 0);
        assert_eq!(room.held(), AddressUsage::default());
        assert_eq!(room.connections.available_permits(), 10);
        assert_eq!(room.handshakes.available_permits(), 10);
    }

    #[tokio::test]
    async fn places_are_given_by_address_and_given_back() {
        let room = room();
        let one = Origin::from(IpAddr::from([192, 0, 2, 1]));
        let other = Origin::from(IpAddr::from([192, 0, 2, 2]));
        let take = async |origin| room.vacancy().await.take(origin).ok();

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
        assert_eq!(room.held(), AddressUsage { connections: 3, handshakes: 0 });

        drop((first, second.0));
        assert!(take(one).await.is_some());
        drop(third.0);
        assert_empty(&room);
    }

    #[tokio::test]
    async fn a_proxy_has_no_limit_of_its_own_and_its_clients_have_theirs() {
        let room = room();
        let client = Origin::from(IpAddr::from([192, 0, 2, 1]));
        let mut brought = Vec::new();
        for _ in 0..5 {
            brought.push(room.vacancy().await.take(Origin::TRUSTED).unwrap());
        }
        let moved: Vec<_> = brought
            .iter_mut()
            .map(|(connection, handshake)| connection.move_to(handshake, client))
            .collect();
        let refused = Err(AddressRefusal::Handshakes);
        assert_eq!(moved, [Ok(()), Ok(()), refused, refused, refused]);
        assert_eq!(room.vacancy().await.take(client).err(), Some(AddressRefusal::Handshakes));
        assert_eq!(room.counters.counts().refused_handshakes, 4);
        drop(brought);
        assert_empty(&room);
    }

    #[tokio::test]
    async fn a_client_that_moves_leaves_no_place_at_its_first_address() {
        let room = room();
        let first = Origin::from(IpAddr::from([192, 0, 2, 1]));
        let second = Origin::from(IpAddr::from([192, 0, 2, 2]));
        let (mut connection, mut handshake) = room.vacancy().await.take(first).unwrap();
        connection.move_to(&mut handshake, second).unwrap();
        assert_eq!(room.table().by_origin.keys().collect::<Vec<_>>(), [&second]);
        drop((connection, handshake));
        assert_empty(&room);
    }

    #[tokio::test]
    async fn an_unused_vacancy_is_given_back() {
        let room = room();
        drop(room.vacancy().await);
        assert_empty(&room);
    }
}
