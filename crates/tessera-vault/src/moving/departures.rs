//! Where secrets went.

use std::collections::{HashMap, VecDeque};

use tessera::resume::FlightHandle;

use super::message::Departure;

/// Remembers where each secret went. It is bounded: of a secret that is forgotten, nothing is known any more.
pub(super) struct Departures {
    known: HashMap<FlightHandle, (Departure, u64)>,
    /// The oldest first, numbered; those with another number in `known` are back, or left again.
    order: VecDeque<(FlightHandle, u64)>,
    next: u64,
    capacity: usize,
}

impl Departures {
    pub(super) fn new(capacity: usize) -> Self {
        let (known, order) = (HashMap::new(), VecDeque::new());
        Self { known, order, next: 0, capacity: capacity.max(1) }
    }

    pub(super) fn note(&mut self, handle: FlightHandle, departure: Departure) {
        self.known.insert(handle, (departure, self.next));
        self.order.push_back((handle, self.next));
        self.next += 1;
        while self.known.len() > self.capacity || self.order.len() > self.capacity * 2 {
            let Some((oldest, number)) = self.order.pop_front() else { break };
            if self.known.get(&oldest).is_some_and(|(_, current)| *current == number) {
                self.known.remove(&oldest);
            }
        }
    }

    pub(super) fn get(&self, handle: &FlightHandle) -> Option<Departure> {
        self.known.get(handle).map(|(departure, _)| *departure)
    }

    /// The secret is here again.
    pub(super) fn is_back(&mut self, handle: &FlightHandle) {
        self.known.remove(handle);
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::VaultLife;
    use super::*;

    #[test]
    fn the_oldest_departure_is_forgotten_first() {
        let handle = |number| FlightHandle([number; 32]);
        let to = VaultLife { vault: [9; 16], number: 0, nonce: [8; 16] };
        let mut departures = Departures::new(2);
        for number in 1..=3 {
            departures.note(handle(number), Departure { to, moves: number });
        }
        let moves = |departures: &Departures, number| {
            departures.get(&handle(number)).map(|departure| departure.moves)
        };
        assert_eq!([1, 2, 3].map(|number| moves(&departures, number)), [None, Some(2), Some(3)]);
        departures.is_back(&handle(2));
        departures.note(handle(4), Departure { to, moves: 4 });
        assert_eq!([2, 3, 4].map(|number| moves(&departures, number)), [None, Some(3), Some(4)]);
        // A secret that leaves again is the newest.
        departures.note(handle(3), Departure { to, moves: 5 });
        departures.note(handle(6), Departure { to, moves: 6 });
        assert_eq!([3, 4, 6].map(|number| moves(&departures, number)), [Some(5), None, Some(6)]);
        // Secrets that come and go leave nothing.
        for _ in 0..100 {
            departures.note(handle(7), Departure { to, moves: 7 });
            departures.is_back(&handle(7));
        }
        assert!(departures.order.len() <= 4 && moves(&departures, 7).is_none());
    }
}
