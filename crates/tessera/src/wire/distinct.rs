//! A set that detects repetitions.

use alloc::vec::Vec;

/// The code points seen so far in a list that may contain each only once. Real lists fit the array;
/// longer ones get a bit for each code point, so that a hostile list of 16,000 entries costs no quadratic time.
#[derive(Default)]
pub struct Distinct {
    first: [u16; 24],
    len: usize,
    /// Of 8 KiB, or empty.
    more: Vec<u32>,
}

impl Distinct {
    /// Inserts `code_point`; returns whether it is new. A long list counts as repeating where there is no memory.
    pub fn insert(&mut self, code_point: u16) -> bool {
        if self.contains(code_point) {
            return false;
        }
        if let Some(next) = self.first.get_mut(self.len) {
            *next = code_point;
            self.len += 1;
            return true;
        }
        if self.more.is_empty() {
            if self.more.try_reserve_exact(WORDS).is_err() {
                return false;
            }
            self.more.resize(WORDS, 0);
        }
        let (word, bit) = place(code_point);
        self.more[word] |= bit;
        true
    }

    /// Returns whether `code_point` was inserted.
    pub fn contains(&self, code_point: u16) -> bool {
        let (word, bit) = place(code_point);
        self.first[..self.len].contains(&code_point)
            || self.more.get(word).is_some_and(|word| word & bit != 0)
    }
}

const WORDS: usize = (1 << 16) / u32::BITS as usize;

fn place(code_point: u16) -> (usize, u32) {
    (usize::from(code_point) / u32::BITS as usize, 1 << (u32::from(code_point) % u32::BITS))
}
