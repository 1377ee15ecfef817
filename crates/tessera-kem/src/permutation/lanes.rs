//! The state as 25 lanes of 64 bits.

use keccak::Keccak;
use zeroize::{Zeroize, ZeroizeOnDrop};

#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct State([u64; 25]);

impl State {
    pub(crate) const fn new() -> Self {
        Self([0; 25])
    }

    /// Adds to a lane.
    pub(crate) fn xor(&mut self, lane: usize, value: u64) {
        if let Some(lane) = self.0.get_mut(lane) {
            *lane ^= value;
        }
    }

    /// Returns the lanes, in order.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = u64> {
        self.0.iter().copied()
    }

    pub(crate) fn permute(&mut self) {
        Keccak::new().with_f1600(|f1600| f1600(&mut self.0));
    }
}
