//! What several caches of a client have together, such as those of processes that share a file.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::destination::Destination;
use super::tickets::OwnTickets;
use super::{ClientCache, ClientLimits, Key, State};

impl ClientCache {
    /// Takes over everything that another cache knows, as newer than what this one knows; and of its tickets those that
    /// so many `connections` to a server are going to send, each beside the others. **A ticket is sent once, ever**:
    /// afterwards each is in one of the two.
    ///
    /// So processes share a file: under a lock each [imports](Self::import) it into a cache that does nothing else,
    /// takes over from that what its connections may send, and [exports](Self::export) the rest into the
    /// file, durably, before it connects. When it has connected it imports again, under the lock, has that cache take
    /// over all (`usize::MAX`) that its own knows, and exports it.
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
    /// Everything, with the tickets of so many connections, which are gone then; first what was not used for longest.
    fn give(&mut self, connections: usize) -> Vec<(Arc<Key>, Destination)> {
        let mut given = Vec::with_capacity(self.by_use.len());
        for key in self.by_use.values() {
            let Some(found) = self.destinations.get_mut(key) else { continue };
            let before = found.cost(key);
            let tickets = found.tickets.take_for(connections);
            self.bytes = self.bytes.saturating_sub(before) + found.cost(key);
            given.push((key.clone(), Destination { tickets, ..found.clone() }));
            // What is given is told; what comes later is told by the next one.
            found.changed = false;
        }
        given
    }

    fn take_over(&mut self, key: Arc<Key>, newer: Destination, limits: ClientLimits) {
        let is_known = self.destinations.contains_key(&key);
        // Others may have been there since.
        if is_known && !newer.changed && newer.tickets.is_empty() {
            return;
        }
        let (key, destination) = match self.remove(&key) {
            Some((key, known)) => (key, known.with(newer)),
            // A connection of this cache has not been there yet.
            None => (key, Destination { changed: false, ..newer }),
        };
        self.put(key, destination, limits);
    }
}

impl Destination {
    /// What is known of it with what another cache knows: after a connection there, or after none, and then its
    /// tickets come back.
    fn with(mut self, newer: Self) -> Self {
        if newer.changed {
            newer.chains.into_iter().rev().for_each(|chain| self.learn(chain));
            (self.answers, self.failed) = (newer.answers, newer.failed);
            self.request = newer.request.or(self.request);
            if newer.failed {
                // With the others of the file, who is refused for good would hear why in every second connection only.
                self.tickets = OwnTickets::default();
            }
        }
        self.tickets.put_all(newer.tickets);
        self
    }
}
