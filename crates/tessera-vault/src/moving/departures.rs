//! Where secrets went.

use std::collections::{HashMap, VecDeque};

use tessera::resume::FlightHandle;

use crate::messages::Departure;

/// Remembers where each secret went, until it expires: the other site may forget it after that. It is bounded: of a secret that
/// is forgotten, nothing is known any more. Times are in seconds since the Unix epoch.
pub(super) struct Departures {
    known: HashMap<FlightHandle, Known>,
    /// The oldest first, numbered; those with another number in `known` are back, or left again.
    order: VecDeque<(FlightHandle, u64)>,
    next: u64,
    capacity: usize,
}

struct Known {
    departure: Departure,
    expires_at: u32,
    number: u64,
}

impl Departures {
    pub(super) fn new(capacity: usize) -> Self {
        let (known, order) = (HashMap::new(), VecDeque::new());
        Self { known, order, next: 0, capacity: capacity.max(1) }
    }

    pub(super) fn note(&mut self, handle: FlightHandle, departure: Departure, expires_at: u32) {
        let number = self.next;
        self.next += 1;
        self.known.insert(handle, Known { departure, expires_at, number });
        self.order.push_back((handle, number));
        while self.known.len() > self.capacity || self.order.len() > self.capacity * 2 {
            let Some((oldest, number)) = self.order.pop_front() else { break };
            if self.known.get(&oldest).is_some_and(|known| known.number == number) {
                self.known.remove(&oldest);
            }
        }
    }

    pub(super) fn get(&self, handle: &FlightHandle, now: u32) -> Option<Departure> {
        let known = self.known.get(handle).filter(|known| known.expires_at > now)?;
        Some(known.departure)
    }

    /// The secret is here again.
    pub(super) fn is_back(&mut self, handle: &FlightHandle) {
        self.known.remove(handle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::VaultLife;

    #[test]
    fn the_oldest_departure_is_forgotten_first() {
        let handle = |number| FlightHandle([number; 32]);
        let to = VaultLife { vault: [9; 16], number: 0, nonce: [8; 16] };
        let mut departures = Departures::new(2);
        for number in 1..=3 {
            departures.note(handle(number), Departure { to, moves: number }, 100);
        }
        let moves = |departures: &Departures, number| {
            departures.get(&handle(number), 99).map(|departure| departure.moves)
        };
        assert_eq!([1, 2, 3].map(|number| moves(&departures, number)), [None, Some(2), Some(3)]);
        assert!(departures.get(&handle(3), 100).is_none(), "it has expired");
        departures.is_back(&handle(2));
        departures.note(handle(4), Departure { to, moves: 4 }, 100);
        assert_eq!([2, 3, 4].map(|number| moves(&departures, number)), [None, Some(3), Some(4)]);
        // A secret that leaves again is the newest.
        departures.note(handle(3), Departure { to, moves: 5 }, 100);
        departures.note(handle(6), Departure { to, moves: 6 }, 100);
        assert_eq!([3, 4, 6].map(|number| moves(&departures, number)), [Some(5), None, Some(6)]);
        // Secrets that come and go leave nothing.
        for _ in 0..100 {
            departures.note(handle(7), Departure { to, moves: 7 }, 100);
            departures.is_back(&handle(7));
        }
        assert!(departures.order.len() <= 4 && moves(&departures, 7).is_none());
    }
}
