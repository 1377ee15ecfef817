//! A set that detects repetitions.

use alloc::collections::BTreeSet;

/// The code points seen so far in a list that may contain each only once. Real lists fit the array;
/// longer ones go to a tree, so that a hostile list of 16,000 entries costs no quadratic time.
#[derive(Default)]
pub struct Distinct {
    first: [u16; 24],
    len: usize,
    more: BTreeSet<u16>,
}

impl Distinct {
    /// Inserts `code_point`; returns whether it is new.
    pub fn insert(&mut self, code_point: u16) -> bool {
        if self.first[..self.len].contains(&code_point) {
            false
        } else if self.len < self.first.len() {
            self.first[self.len] = code_point;
            self.len += 1;
            true
        } else {
            self.more.insert(code_point)
        }
    }

    /// Returns whether `code_point` was inserted.
    pub fn contains(&self, code_point: u16) -> bool {
        self.first[..self.len].contains(&code_point) || self.more.contains(&code_point)
    }
}
