//! The network: everything it does is allowed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

use crate::tally::{IncrementEvent, Tally};

/// A direction of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// To the server.
    Server,
    /// To the client of this number.
    Client(usize),
}

/// A connection's number; never reused.
pub type ConnectionId = u64;

/// Bytes on their way.
pub struct Piece {
    /// Their connection.
    pub connection: ConnectionId,
    /// Where they go.
    pub towards: Direction,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// The bytes in transit, and the recordings of them.
pub struct Network {
    under_way: BTreeMap<(ConnectionId, Direction), Queue>,
    /// First flights of clients, to be replayed.
    pub flights: Recordings,
    /// Recorded answers of servers.
    pub answers: Recordings,
    /// The probability that a piece is affected, in 1,000ths.
    faults: u64,
    now: u64,
    tally: Arc<Tally>,
}

/// One direction of one connection.
#[derive(Default)]
struct Queue {
    pieces: VecDeque<Vec<u8>>,
    /// No piece arrives before this.
    held_until: u64,
}

/// The recordings that an attacker keeps.
#[derive(Default)]
pub struct Recordings(VecDeque<Vec<u8>>);

impl Recordings {
    /// As many as an attacker needs.
    const MOST: usize = 48;

    fn keep(&mut self, bytes: &[u8]) {
        if self.0.len() == Self::MOST {
            self.0.pop_front();
        }
        self.0.push_back(bytes.to_vec());
    }

    /// Returns one of them, often the last: its original may still be in transit.
    pub fn any(&self, rng: &mut Xoshiro256PlusPlus) -> Option<Vec<u8>> {
        let which = below(rng, self.0.len().max(1) as u64) as usize;
        if below(rng, 2) == 0 { self.0.back() } else { self.0.get(which) }.cloned()
    }

    /// Takes them all.
    pub fn take(&mut self) -> impl Iterator<Item = Vec<u8>> + use<> {
        std::mem::take(&mut self.0).into_iter()
    }
}

/// The longest delay of a piece, in steps: longer than a client waits.
const LONGEST_DELAY: u64 = 150;

impl Network {
    /// Creates a network in which `faults` of 1,000 pieces suffer each kind of fault.
    pub fn new(faults: u64, tally: Arc<Tally>) -> Self {
        let (flights, answers) = Default::default();
        Self { under_way: BTreeMap::new(), flights, answers, faults, now: 0, tally }
    }

    /// Delivers everything from now on, once and in order.
    pub fn calm_down(&mut self) {
        self.faults = 0;
    }

    /// Takes a client's first flight.
    pub fn send_first(
        &mut self,
        connection: ConnectionId,
        flight: &[u8],
        rng: &mut Xoshiro256PlusPlus,
    ) {
        self.flights.keep(flight);
        self.send(connection, Direction::Server, flight, rng);
    }

    /// Takes bytes of a connection, and carries them in one piece or in two.
    pub fn send(
        &mut self,
        connection: ConnectionId,
        towards: Direction,
        bytes: &[u8],
        rng: &mut Xoshiro256PlusPlus,
    ) {
        if towards != Direction::Server {
            self.answers.keep(bytes);
        }
        let cut = match below(rng, 4) {
            0 => below(rng, bytes.len() as u64 + 1) as usize,
            _ => bytes.len(),
        };
        let (one, two) = bytes.split_at(cut);
        let queue = self.under_way.entry((connection, towards)).or_default();
        let pieces = [one, two].into_iter().filter(|piece| !piece.is_empty());
        queue.pieces.extend(pieces.map(<[u8]>::to_vec));
    }

    /// Returns a piece that arrives now.
    pub fn deliver(&mut self, rng: &mut Xoshiro256PlusPlus) -> Option<Piece> {
        use IncrementEvent::*;
        self.now += 1;
        let ready = self.under_way.iter_mut().filter(|(_, queue)| queue.held_until <= self.now);
        let mut ready: Vec<_> = ready.collect();
        let which = below(rng, ready.len().max(1) as u64) as usize;
        if ready.is_empty() {
            return None;
        }
        let (&(connection, towards), queue) = ready.swap_remove(which);
        let mut befalls = |to_server, to_client| {
            let it = below(rng, 1000) < self.faults;
            let happening = if towards == Direction::Server { to_server } else { to_client };
            it.then(|| self.tally.count(happening)).is_some()
        };

        if befalls(DelayedToServer, DelayedToClient) {
            queue.held_until = self.now + 1 + below(rng, LONGEST_DELAY);
            return None;
        }
        if queue.pieces.len() > 1 && befalls(ReorderedToServer, ReorderedToClient) {
            queue.pieces.swap(0, 1);
        }
        let mut bytes = queue.pieces.pop_front();
        if befalls(DroppedToServer, DroppedToClient) {
            bytes = None;
        } else if befalls(DuplicatedToServer, DuplicatedToClient) {
            bytes.iter().for_each(|bytes| queue.pieces.push_front(bytes.clone()));
        }
        if queue.pieces.is_empty() {
            self.under_way.remove(&(connection, towards));
        }
        Some(Piece { connection, towards, bytes: bytes? })
    }

    /// Whether no piece is in transit.
    pub fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }
}

/// Returns a number below `bound`.
pub fn below(rng: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    rng.next_u64() % bound
}
