//! Random numbers that a seed repeats; none for secrets.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A stream of them.
pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Returns a uniform number from 0 to `most`. The bias of the remainder is far below what a few hundred flows show.
    pub(crate) fn up_to(&mut self, most: usize) -> usize {
        (self.0.next_u64() % (most as u64 + 1)) as usize
    }

    /// Puts things into another order (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, self.up_to(last));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffling_loses_nothing_and_repeats() {
        let shuffled = |seed| {
            let mut things: Vec<_> = (0..40).collect();
            Random::new(seed).shuffle(&mut things);
            things
        };
        let mut sorted = shuffled(3);
        assert_ne!(sorted, (0..40).collect::<Vec<_>>());
        assert_eq!(shuffled(3), sorted);
        assert_ne!(shuffled(4), sorted);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..40).collect::<Vec<_>>());
    }

    #[test]
    fn numbers_are_spread_over_all_that_may_come() {
        let mut random = Random::new(5);
        let mut seen = [0; 4];
        for _ in 0..400 {
            seen[random.up_to(3)] += 1;
        }
        assert!(seen.iter().all(|count| (50..150).contains(count)), "{seen:?}");
        assert_eq!(random.up_to(0), 0);
    }
}
