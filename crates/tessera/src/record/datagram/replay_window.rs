//! Which record numbers of an epoch have been seen (RFC 9147 §4.5.1).

use alloc::vec::Vec;

use crate::wire::{Reader, Writer};

/// A window over the newest 256 record numbers, for paths on which records overtake many others (§4.5.1): older ones
/// count as seen.
#[derive(Debug, Clone, Default)]
pub(super) struct ReplayWindow {
    /// One more than the highest number seen.
    next: u64,
    /// A bit for each number within the window, at its remainder by the window's length.
    seen: [u64; WORDS],
}

impl ReplayWindow {
    /// Appends all of it.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.u64(self.next);
        self.seen.iter().for_each(|word| out.u64(*word));
    }

    /// Reads it.
    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let next = read_count(reader)?;
        let mut seen = [0; WORDS];
        for word in &mut seen {
            *word = reader.u64().ok()?;
        }
        Some(Self { next, seen })
    }

    /// Returns the number that follows the highest seen: what a truncated number is closest to.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Returns whether a record of this number must be dropped.
    pub(super) fn has_seen(&self, number: u64) -> bool {
        let is_too_old = number.saturating_add(LEN) < self.next;
        let (word, bit) = place(number);
        number < self.next && (is_too_old || self.seen[word] & bit != 0)
    }

    /// Notes a record that opened and was not seen before.
    pub(super) fn note(&mut self, number: u64) {
        if number >= self.next {
            // The places of the numbers up to this one belonged to numbers that are too old now.
            for number in self.next.max(number.saturating_sub(LEN - 1))..=number {
                let (word, bit) = place(number);
                self.seen[word] &= !bit;
            }
            self.next = number + 1;
        }
        let (word, bit) = place(number);
        self.seen[word] |= bit;
    }
}

/// Returns the word and the bit of a number.
fn place(number: u64) -> (usize, u64) {
    let at = number % LEN;
    ((at / u64::BITS as u64) as usize, 1 << (at % u64::BITS as u64))
}

const WORDS: usize = 4;
const LEN: u64 = WORDS as u64 * u64::BITS as u64;

/// Reads what grows by one at a time: from damaged bytes it may have any value, and must not overflow.
pub(super) fn read_count(reader: &mut Reader<'_>) -> Option<u64> {
    reader.u64().ok().filter(|it| *it <= u64::MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_passes_once_and_none_that_is_too_old() {
        let mut window = ReplayWindow::default();
        for number in [0, 2, 1, 262, 261, 7, 700, 445, 699] {
            assert!(!window.has_seen(number), "{number}");
            window.note(number);
            assert!(window.has_seen(number), "{number}");
        }
        assert!(window.has_seen(444) && !window.has_seen(446) && !window.has_seen(701));
        assert_eq!(window.next(), 701);
    }

    #[test]
    fn a_jump_of_any_length_forgets_what_is_out_of_reach() {
        for jump in [1, 63, 64, 255, 256, 257, 1 << 40] {
            let mut window = ReplayWindow::default();
            window.note(0);
            window.note(jump);
            assert!(window.has_seen(0), "seen, or too old");
            assert_eq!(window.has_seen(jump - 1), jump == 1, "{jump}");
        }
    }
}
