//! The mappings of a NAT, without I/O and without a clock.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::{Nat, NatKind};

/// The most mappings of a NAT, and the most peers of a mapping.
const MOST: usize = 4096;

/// The ports that a NAT assigns: all but the well-known ones (RFC 4787 §4.2.1).
const FIRST_PORT: u32 = 1024;
const PORTS: u32 = 65_536 - FIRST_PORT;

/// A mapping is found by the client's socket, and what of the peer's address it depends on.
type Key = (SocketAddr, SocketAddr);

pub(crate) struct NatTable {
    nat: Nat,
    mappings: BTreeMap<Key, Mapping>,
    keys: BTreeMap<u16, Key>,
    ports: Ports,
}

struct Mapping {
    port: u16,
    /// Who may send to it, and when the client last sent there.
    peers: BTreeMap<SocketAddr, Duration>,
}

impl NatTable {
    pub(crate) fn new(nat: Nat, seed: u64) -> Self {
        let (mappings, keys) = Default::default();
        Self { nat, mappings, keys, ports: Ports::new(seed) }
    }

    /// Forgets all mappings, as after a restart: each socket gets another external port.
    pub(crate) fn rebind(&mut self) {
        self.mappings.clear();
        self.keys.clear();
    }

    /// Returns the external port of a datagram from the client's socket to a peer; `None` if it is dropped.
    pub(crate) fn outbound(
        &mut self,
        now: Duration,
        client: SocketAddr,
        peer: SocketAddr,
    ) -> Option<u16> {
        if self.nat.kind == NatKind::Blocked {
            return None;
        }
        let key = (client, self.nat.kind.mapping().of(peer));
        if self.mappings.get(&key).is_none_or(|it| it.is_over(self.nat, now)) {
            self.forget(&key);
            self.make_room(now)?;
            let port = self.ports.next(&self.keys);
            self.mappings.insert(key, Mapping { port, peers: BTreeMap::new() });
            self.keys.insert(port, key);
        }
        let mapping = self.mappings.get_mut(&key)?;
        let peer = self.nat.kind.filtering().of(peer);
        if mapping.peers.len() >= MOST && !mapping.peers.contains_key(&peer) {
            mapping.peers.retain(|_, used| is_alive(self.nat, *used, now));
        }
        if mapping.peers.len() >= MOST && !mapping.peers.contains_key(&peer) {
            return None;
        }
        mapping.peers.insert(peer, now);
        Some(mapping.port)
    }

    /// Returns the client's socket that a datagram from a peer to an external port reaches; `None` if no mapping admits
    /// it.
    pub(crate) fn inbound(&self, now: Duration, peer: SocketAddr, port: u16) -> Option<SocketAddr> {
        let key @ (client, _) = self.keys.get(&port)?;
        let used = self.mappings.get(key)?.peers.get(&self.nat.kind.filtering().of(peer))?;
        is_alive(self.nat, *used, now).then_some(*client)
    }

    fn forget(&mut self, key: &Key) {
        if let Some(mapping) = self.mappings.remove(key) {
            self.keys.remove(&mapping.port);
        }
    }

    /// Forgets what has expired if there is no room for one more mapping; `None` if there still is none.
    fn make_room(&mut self, now: Duration) -> Option<()> {
        if self.mappings.len() >= MOST {
            self.mappings.retain(|_, mapping| !mapping.is_over(self.nat, now));
            let Self { mappings, keys, .. } = self;
            keys.retain(|_, key| mappings.contains_key(key));
        }
        (self.mappings.len() < MOST).then_some(())
    }
}

impl Mapping {
    fn is_over(&self, nat: Nat, now: Duration) -> bool {
        !self.peers.values().any(|used| is_alive(nat, *used, now))
    }
}

fn is_alive(nat: Nat, used: Duration, now: Duration) -> bool {
    nat.lifetime.is_none_or(|lifetime| now.saturating_sub(used) < lifetime)
}

/// The order in which ports are assigned: at equal steps through all of them, so that no port comes back soon.
struct Ports {
    next: u32,
    step: u32,
}

impl Ports {
    fn new(seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        // No direction of the link draws from this part of the sequence.
        (0..3).for_each(|_| random.long_jump());
        let mut below = |bound: u32| (random.next_u64() % u64::from(bound)) as u32;
        let next = below(PORTS);
        let step = loop {
            let step = below(PORTS);
            // Only then does it come to every port.
            if [2, 3, 7].iter().all(|factor| !step.is_multiple_of(*factor)) {
                break step;
            }
        };
        Self { next, step }
    }

    /// Returns the next port that is not in use; the table has fewer mappings than there are ports.
    fn next(&mut self, used: &BTreeMap<u16, Key>) -> u16 {
        loop {
            let port = (FIRST_PORT + self.next) as u16;
            self.next = (self.next + self.step) % PORTS;
            if !used.contains_key(&port) {
                return port;
            }
        }
    }
}
