//! Which secrets have come from other sites in this life, and which are refused for good.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use tessera::resume::FlightHandle;

/// Remembers each secret for as long as a message with it may come: an old message must not bring it a second time. And for as
/// long as a site may ask for it: a secret that came and is forgotten would look like one that never came.
///
/// It is bounded: while it is full, no secret is taken, and no refusal is certain. Times are in seconds since the Unix epoch.
pub(super) struct Arrivals {
    known: HashMap<FlightHandle, Arrival>,
    /// The same handles, each once, the first to be forgotten on top, or with an earlier end.
    ending: BinaryHeap<Reverse<(u32, FlightHandle)>>,
    capacity: usize,
    /// For how long it remembers a secret that came after its end: more than the clocks of two sites differ.
    lifetime: u32,
    /// Secrets that expire up to here may have been forgotten. Unlike the clock, this never goes back.
    forgotten_until: u32,
}

#[derive(Clone, Copy, Default)]
struct Arrival {
    /// The greatest number of moves of the secret that came; 0: it hasn't come.
    moves: u8,
    is_refused: bool,
    ends_at: u32,
}

impl Arrivals {
    pub(super) fn new(capacity: usize, lifetime: u32) -> Self {
        let (known, ending) = (HashMap::new(), BinaryHeap::new());
        Self { known, ending, capacity, lifetime, forgotten_until: 0 }
    }

    /// Lets a secret in, once for each of its moves.
    pub(super) fn admit(
        &mut self,
        handle: &FlightHandle,
        moves: u8,
        expires_at: u32,
        now: u32,
    ) -> bool {
        self.forget(now);
        let known = self.known.get(handle).copied().unwrap_or_default();
        let is_over = expires_at <= now.max(self.forgotten_until);
        if known.is_refused || moves <= known.moves || is_over {
            return false;
        }
        // Where it was meanwhile, its end may have come closer: an earlier message still has the first one.
        let ends_at = expires_at.saturating_add(self.lifetime).max(known.ends_at);
        self.note(handle, Arrival { moves, is_refused: false, ends_at })
    }

    /// Refuses a secret from now on; `false` if there is no room to remember that.
    pub(super) fn refuse(&mut self, handle: &FlightHandle, ends_at: u32, now: u32) -> bool {
        self.forget(now);
        let known = self.known.get(handle).copied().unwrap_or_default();
        if known.is_refused {
            // Its end isn't put off: copies of one flight would fill the heap.
            return true;
        }
        let ends_at = ends_at.max(known.ends_at);
        self.note(handle, Arrival { is_refused: true, ends_at, ..known })
    }

    /// Returns how often a secret that came had moved; 0 if it hasn't come, as far as it is remembered.
    pub(super) fn moves(&self, handle: &FlightHandle) -> u8 {
        self.known.get(handle).map_or(0, |arrival| arrival.moves)
    }

    fn note(&mut self, handle: &FlightHandle, arrival: Arrival) -> bool {
        if self.known.len() >= self.capacity && !self.known.contains_key(handle) {
            return false;
        }
        if self.known.insert(*handle, arrival).is_none() {
            self.ending.push(Reverse((arrival.ends_at, *handle)));
        }
        true
    }

    fn forget(&mut self, now: u32) {
        while let Some(Reverse((ends_at, handle))) = self.ending.peek().copied()
            && ends_at <= now
        {
            self.ending.pop();
            match self.known.get(&handle) {
                // Its end was put off.
                Some(known) if known.ends_at > ends_at => {
                    self.ending.push(Reverse((known.ends_at, handle)));
                }
                _ => {
                    self.forgotten_until = self.forgotten_until.max(ends_at);
                    self.known.remove(&handle);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: FlightHandle = FlightHandle([1; 32]);
    const B: FlightHandle = FlightHandle([2; 32]);

    #[test]
    fn a_secret_comes_once_for_each_of_its_moves() {
        let mut arrivals = Arrivals::new(10, 0);
        assert!(arrivals.admit(&A, 1, 100, 0));
        assert!(!arrivals.admit(&A, 1, 100, 1), "again");
        assert!(arrivals.admit(&A, 3, 100, 2), "it went on, and came back");
        assert!(!arrivals.admit(&A, 2, 100, 3), "an old message");
        assert_eq!((arrivals.moves(&A), arrivals.moves(&B)), (3, 0));
    }

    #[test]
    fn a_secret_that_was_refused_never_comes() {
        let mut arrivals = Arrivals::new(10, 0);
        assert!(arrivals.refuse(&A, 200, 0));
        assert!(!arrivals.admit(&A, 1, 100, 1));
        assert_eq!(arrivals.moves(&A), 0);
        // That it had come stays known.
        assert!(arrivals.admit(&B, 2, 100, 1) && arrivals.refuse(&B, 200, 2));
        assert_eq!(arrivals.moves(&B), 2);
        assert!(!arrivals.admit(&B, 3, 100, 3));
        // For longer than its own end.
        assert!(!arrivals.admit(&B, 4, 300, 150));
        for now in 150..170 {
            assert!(arrivals.refuse(&B, now + 200, now));
        }
        assert_eq!(arrivals.ending.len(), 2, "one for each handle");
    }

    #[test]
    fn what_may_have_been_forgotten_is_refused_even_if_the_clock_goes_back() {
        let mut arrivals = Arrivals::new(10, 0);
        assert!(arrivals.admit(&A, 1, 100, 0));
        assert!(!arrivals.admit(&B, 1, 100, 100), "expired");
        assert_eq!(arrivals.moves(&A), 0, "forgotten");
        assert!(!arrivals.admit(&A, 1, 100, 50), "the clock went back");
        assert!(arrivals.admit(&B, 1, 101, 50));
    }

    /// Else that it came would be forgotten with its shorter life.
    #[test]
    fn a_secret_that_comes_back_with_less_time_is_remembered_for_the_longer_one() {
        let mut arrivals = Arrivals::new(10, 0);
        assert!(arrivals.admit(&A, 1, 100, 0) && arrivals.admit(&A, 3, 90, 1));
        assert!(!arrivals.admit(&A, 1, 100, 95), "an old message");
        assert_eq!(arrivals.moves(&A), 3);
        assert!(arrivals.admit(&A, 5, 200, 96) && arrivals.admit(&A, 7, 150, 97));
        assert!(!arrivals.admit(&A, 5, 200, 100) && !arrivals.admit(&A, 5, 200, 160));
        assert!(arrivals.admit(&B, 1, 300, 160) && arrivals.admit(&B, 3, 400, 160));
        assert!(arrivals.refuse(&B, 200, 160) && !arrivals.admit(&A, 9, 300, 300));
        assert_eq!(arrivals.moves(&B), 3);
    }

    #[test]
    fn a_secret_is_remembered_for_a_lifetime_after_its_end() {
        let mut arrivals = Arrivals::new(10, 50);
        assert!(arrivals.admit(&A, 1, 100, 0));
        assert!(!arrivals.admit(&B, 1, 149, 149) && arrivals.moves(&A) == 1);
        assert!(!arrivals.admit(&B, 1, 150, 150) && arrivals.moves(&A) == 0);
        assert!(!arrivals.admit(&A, 1, 100, 50), "the clock went back");
    }

    #[test]
    fn a_secret_that_comes_again_and_again_takes_one_place() {
        let mut arrivals = Arrivals::new(10, 50);
        for moves in 1..=u8::MAX {
            assert!(arrivals.admit(&A, moves, 1000 + u32::from(moves), 0));
        }
        assert_eq!(arrivals.ending.len(), 1);
        assert!(arrivals.admit(&B, 1, 5000, 1200) && arrivals.moves(&A) == u8::MAX);
        assert!(arrivals.admit(&B, 2, 5000, 1305) && arrivals.moves(&A) == 0);
        assert_eq!((arrivals.known.len(), arrivals.ending.len()), (1, 1));
    }

    #[test]
    fn a_full_register_lets_nothing_in_and_promises_nothing() {
        let mut arrivals = Arrivals::new(1, 0);
        assert!(arrivals.admit(&A, 1, 100, 0));
        assert!(!arrivals.admit(&B, 1, 100, 0) && !arrivals.refuse(&B, 100, 0));
        assert!(arrivals.refuse(&A, 100, 0), "it is there already");
        assert!(arrivals.admit(&B, 1, 300, 100), "room again");
    }
}
