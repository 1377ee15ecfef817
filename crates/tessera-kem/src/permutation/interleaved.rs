//! The state with bits interleaved, for processors of 32 bits (Bertoni, Daemen, Peeters, Van Assche, Van Keer: "Keccak
//! implementation overview" §2.1): the bits with even numbers of each lane are in one word, the others in another. To rotate
//! a lane is then to rotate two words.

use zeroize::{Zeroize, ZeroizeOnDrop};

/// The even words of all lanes, and the odd ones.
type Halves = [[u32; 25]; 2];

#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct State {
    halves: Halves,
    /// What every other round writes.
    other: Halves,
}

impl State {
    pub(crate) const fn new() -> Self {
        Self { halves: [[0; 25]; 2], other: [[0; 25]; 2] }
    }

    /// Adds to a lane.
    pub(crate) fn xor(&mut self, lane: usize, value: u64) {
        let value = interleave(value);
        for (half, value) in self.halves.iter_mut().zip(value) {
            if let Some(word) = half.get_mut(lane) {
                *word ^= value;
            }
        }
    }

    /// Returns the lanes, in order.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = u64> {
        let [even, odd] = &self.halves;
        even.iter().zip(odd).map(|(even, odd)| deinterleave(*even, *odd))
    }

    pub(crate) fn permute(&mut self) {
        for [first, second] in CONSTANTS.as_chunks::<2>().0 {
            round(&self.halves, &mut self.other, *first);
            round(&self.other, &mut self.halves, *second);
        }
    }
}

/// Algorithm 7 of FIPS 202: theta here, then rho, pi and chi for half a row at a time, so that it fits the registers, and
/// iota.
#[inline(never)]
fn round(a: &Halves, e: &mut Halves, constant: [u32; 2]) {
    let column = |half: usize, x: usize| {
        a[half][x] ^ a[half][x + 5] ^ a[half][x + 10] ^ a[half][x + 15] ^ a[half][x + 20]
    };
    let c_even = [column(0, 0), column(0, 1), column(0, 2), column(0, 3), column(0, 4)];
    let c_odd = [column(1, 0), column(1, 1), column(1, 2), column(1, 3), column(1, 4)];
    let d_even = |x: usize| c_even[(x + 4) % 5] ^ c_odd[(x + 1) % 5].rotate_left(1);
    let d_odd = |x: usize| c_odd[(x + 4) % 5] ^ c_even[(x + 1) % 5];
    let d = [
        [d_even(0), d_even(1), d_even(2), d_even(3), d_even(4)],
        [d_odd(0), d_odd(1), d_odd(2), d_odd(3), d_odd(4)],
    ];
    half_row::<0, 0>(a, &d, e);
    half_row::<0, 1>(a, &d, e);
    half_row::<1, 0>(a, &d, e);
    half_row::<1, 1>(a, &d, e);
    half_row::<2, 0>(a, &d, e);
    half_row::<2, 1>(a, &d, e);
    half_row::<3, 0>(a, &d, e);
    half_row::<3, 1>(a, &d, e);
    half_row::<4, 0>(a, &d, e);
    half_row::<4, 1>(a, &d, e);
    e[0][0] ^= constant[0];
    e[1][0] ^= constant[1];
}

#[inline(always)]
fn half_row<const Y: usize, const HALF: usize>(a: &Halves, d: &[[u32; 5]; 2], e: &mut Halves) {
    let b_0 = moved::<0, Y, HALF>(a, d);
    let b_1 = moved::<1, Y, HALF>(a, d);
    let b_2 = moved::<2, Y, HALF>(a, d);
    let b_3 = moved::<3, Y, HALF>(a, d);
    let b_4 = moved::<4, Y, HALF>(a, d);
    e[HALF][5 * Y] = b_0 ^ (!b_1 & b_2);
    e[HALF][5 * Y + 1] = b_1 ^ (!b_2 & b_3);
    e[HALF][5 * Y + 2] = b_2 ^ (!b_3 & b_4);
    e[HALF][5 * Y + 3] = b_3 ^ (!b_4 & b_0);
    e[HALF][5 * Y + 4] = b_4 ^ (!b_0 & b_1);
}

/// What theta, rho and pi bring to a place.
#[inline(always)]
fn moved<const X: usize, const Y: usize, const HALF: usize>(a: &Halves, d: &[[u32; 5]; 2]) -> u32 {
    // pi: from column x + 3y of row x.
    let column = (X + 3 * Y) % 5;
    let from = 5 * X + column;
    // rho: an odd number of places exchanges the words.
    let places = RHO[from];
    let is_odd = places % 2 == 1;
    let half = if is_odd { 1 - HALF } else { HALF };
    let turns = places / 2 + u32::from(is_odd && HALF == 0);
    (a[half][from] ^ d[half][column]).rotate_left(turns)
}

/// The offsets of rho, by row (FIPS 202 §3.2.2, table 2, modulo 64).
const RHO: [u32; 25] =
    [0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14];

/// The constants of iota (FIPS 202 §3.2.5), interleaved.
const CONSTANTS: [[u32; 2]; 24] = {
    let mut constants = [[0; 2]; 24];
    let (mut register, mut i) = (1u8, 0);
    while i < 24 {
        let (mut constant, mut j) = (0u64, 0);
        while j < 7 {
            // Algorithm 5, rc: bit 2^j - 1.
            constant |= ((register & 1) as u64) << ((1 << j) - 1);
            register = register << 1 ^ if register & 0x80 == 0 { 0 } else { 0x71 };
            j += 1;
        }
        constants[i] = interleave(constant);
        i += 1;
    }
    constants
};

const fn interleave(lane: u64) -> [u32; 2] {
    let (low, high) = (sorted(lane as u32), sorted((lane >> 32) as u32));
    [low & 0xffff | high << 16, low >> 16 | high & 0xffff_0000]
}

const fn deinterleave(even: u32, odd: u32) -> u64 {
    let low = mixed(even & 0xffff | odd << 16);
    let high = mixed(even >> 16 | odd & 0xffff_0000);
    low as u64 | (high as u64) << 32
}

/// Moves even bits to the lower half.
const fn sorted(word: u32) -> u32 {
    swapped(
        swapped(swapped(swapped(word, 0x2222_2222, 1), 0x0c0c_0c0c, 2), 0x00f0_00f0, 4),
        0xff00,
        8,
    )
}

/// The inverse of [`sorted`].
const fn mixed(word: u32) -> u32 {
    swapped(
        swapped(swapped(swapped(word, 0xff00, 8), 0x00f0_00f0, 4), 0x0c0c_0c0c, 2),
        0x2222_2222,
        1,
    )
}

/// Swaps the bits of the mask with those that are `by` places higher.
const fn swapped(word: u32, mask: u32, by: u32) -> u32 {
    let differing = (word ^ word >> by) & mask;
    word ^ differing ^ differing << by
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permutation::lanes;

    #[test]
    fn bits_are_interleaved_and_back() {
        for bit in 0..64 {
            let words = interleave(1 << bit);
            assert_eq!(words[bit % 2], 1 << (bit / 2));
            assert_eq!(words[1 - bit % 2], 0);
            assert_eq!(deinterleave(words[0], words[1]), 1 << bit);
        }
    }

    #[test]
    fn both_permutations_are_the_same() {
        let (mut ours, mut theirs) = (State::new(), lanes::State::new());
        for round in 0..100u64 {
            for lane in 0..25 {
                let value = round.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(lane);
                ours.xor(lane as usize, value);
                theirs.xor(lane as usize, value);
            }
            ours.permute();
            theirs.permute();
            assert!(ours.lanes().eq(theirs.lanes()), "{round}");
        }
    }
}
