//! Sharing between several caches of a client, such as those of processes that share a file.

use alloc::vec::Vec;

use super::destination::Destination;
use super::tickets::OwnTickets;
use super::{ClientCache, ClientLimits, Key, State};

impl ClientCache {
    /// Takes over everything that another cache knows, as newer than this one's own entries; and of its
    /// tickets those for `connections` concurrent connections to each server. **A ticket is sent only once,
    /// ever**: afterwards each is in one of the two caches.
    ///
    /// So processes share a file: under a lock, each [imports](Self::import) it into a separate cache, takes
    /// over from that what its connections may send, and [exports](Self::export) the rest to the file,
    /// durably, before it connects. Afterwards it imports the file again, under the lock, into a separate
    /// cache, has that take over all (`usize::MAX`) that its own cache knows, and exports it.
    pub fn take_over(&self, from: &Self, connections: usize) {
        if core::ptr::eq(self, from) {
            return;
        }
        let known = from.peers.state.lock().give(connections);
        let mut state = self.peers.state.lock();
        for (key, destination) in known {
            state.take_over(key, destination, self.peers.limits);
        }
    }
}

impl State {
    /// Removes the tickets of this many connections and returns them with everything else, the least recently
    /// used first.
    fn give(&mut self, connections: usize) -> Vec<(Key, Destination)> {
        let mut given = Vec::with_capacity(self.by_use.len());
        for key in self.by_use.values() {
            let Some(found) = self.destinations.get_mut(key) else { continue };
            let before = found.cost(key);
            let tickets = found.tickets.take_for(connections);
            self.bytes = self.bytes.saturating_sub(before) + found.cost(key);
            given.push((key.clone(), Destination { tickets, ..found.clone() }));
            // The change is passed on now; the next call passes on later ones.
            found.changed = false;
        }
        given
    }

    fn take_over(&mut self, key: Key, newer: Destination, limits: ClientLimits) {
        let is_known = self.destinations.contains_key(&key);
        // Other processes may have connected since.
        if is_known && !newer.changed && newer.tickets.is_empty() {
            return;
        }
        let (key, destination) = match self.remove(&key) {
            Some((key, known)) => (key, known.with(newer)),
            // This cache has not connected to it yet.
            None => (key, Destination { changed: false, ..newer }),
        };
        self.put(key, destination, limits);
    }
}

impl Destination {
    /// Merges with another cache's entry: after a connection there its state is newer; without one only its
    /// tickets return.
    fn with(mut self, newer: Self) -> Self {
        if newer.changed {
            newer.chains.into_iter().rev().for_each(|chain| self.learn(chain));
            (self.answers, self.failed) = (newer.answers, newer.failed);
            self.request = newer.request.or(self.request);
            if newer.failed {
                // With other tickets from the file, a client refused for good would get the reason in every
                // second connection only.
                self.tickets = OwnTickets::default();
            }
        }
        self.tickets.put_all(newer.tickets);
        self
    }
}
