//! Random numbers that are the same in each run and on each machine: SplitMix64.

pub struct Random {
    state: u64,
    /// Whether an honest value replaces the lie.
    pub is_honest: bool,
}

impl Random {
    pub fn new(seed: u64) -> Self {
        Self { state: seed, is_honest: false }
    }

    /// The same numbers, with nothing hostile.
    pub fn honest(&self) -> Self {
        Self { state: self.state, is_honest: true }
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as usize % end
    }

    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len())]
    }
}
