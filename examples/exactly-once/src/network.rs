//! The network: nothing that it does is against the rules.

use std::collections::{BTreeMap, VecDeque};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

/// A direction of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Towards {
    /// To the server.
    Server,
    /// To the client of this number.
    Client(usize),
}

/// A connection's number; never used again.
pub type ConnectionId = u64;

/// Bytes on their way.
pub struct Chunk {
    /// Their connection.
    pub connection: ConnectionId,
    /// Where they go.
    pub towards: Towards,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Chunks on their way, and what was recorded of them.
pub struct Network {
    under_way: BTreeMap<(ConnectionId, Towards), VecDeque<Vec<u8>>>,
    /// First flights of clients, for replays.
    pub recorded: VecDeque<Vec<u8>>,
    /// Chances that something happens to a chunk, out of 1,000.
    faults: u64,
}

/// As many recordings as an attacker needs.
const RECORDINGS: usize = 48;

impl Network {
    /// A network in which `faults` of 1,000 chunks meet each kind of misfortune.
    pub fn new(faults: u64) -> Self {
        Self { under_way: BTreeMap::new(), recorded: VecDeque::new(), faults }
    }

    /// From now on everything arrives, once and in order.
    pub fn calm_down(&mut self) {
        self.faults = 0;
    }

    /// Takes bytes of a connection.
    pub fn send(&mut self, connection: ConnectionId, towards: Towards, bytes: Vec<u8>) {
        let queue = self.under_way.entry((connection, towards)).or_default();
        queue.push_back(bytes);
    }

    /// Keeps a client's first flight.
    pub fn record(&mut self, flight: &[u8]) {
        if self.recorded.len() == RECORDINGS {
            self.recorded.pop_front();
        }
        self.recorded.push_back(flight.to_vec());
    }

    /// Gives some chunk that arrives now. Which one is up to chance: that is the delay.
    pub fn deliver(&mut self, rng: &mut Xoshiro256PlusPlus) -> Option<Chunk> {
        let queues = self.under_way.len();
        if queues == 0 {
            return None;
        }
        let which = below(rng, queues as u64) as usize;
        let (&(connection, towards), queue) = self.under_way.iter_mut().nth(which)?;
        let lost = below(rng, 1000) < self.faults;
        let early = below(rng, 1000) < self.faults;
        let twice = below(rng, 1000) < self.faults;
        let bytes = if early && queue.len() > 1 { queue.remove(1) } else { queue.pop_front() };
        let bytes = bytes.filter(|_| !lost);
        if let (Some(bytes), true) = (&bytes, twice) {
            queue.push_front(bytes.clone());
        }
        if queue.is_empty() {
            self.under_way.remove(&(connection, towards));
        }
        Some(Chunk { connection, towards, bytes: bytes? })
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }
}

/// A number below `bound`.
pub fn below(rng: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    rng.next_u64() % bound
}
