//! Random input that can be repeated.

use std::thread;

/// A generator of numbers from a seed (splitmix64).
pub struct Numbers(pub u64);

impl Numbers {
    /// Returns the next number.
    #[expect(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Returns a number below `bound`, which isn't 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Returns whether something happens that does in `percent` of all cases.
    pub fn happens(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    /// Returns one of these.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Returns fewer than `bound` random bytes.
    pub fn bytes(&mut self, bound: usize) -> Vec<u8> {
        (0..self.below(bound)).map(|_| self.next() as u8).collect()
    }
}

/// Runs a test with the numbers of many seeds: `few`, or so many times more as `FUZZ_FACTOR` in the environment names.
/// One that fails prints its seed.
pub fn each_seed(few: u64, mut run: impl FnMut(&mut Numbers)) {
    let factor = std::env::var("FUZZ_FACTOR").ok().and_then(|factor| factor.parse().ok());
    for seed in 0..few * factor.unwrap_or(1) {
        let _seed = Seed(seed);
        run(&mut Numbers(seed));
    }
}

/// Prints a seed if its run fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("the seed was {}", self.0);
        }
    }
}
