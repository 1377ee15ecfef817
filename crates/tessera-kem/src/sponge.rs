//! The sponge over Keccak-f\[1600\] (FIPS 202 §4), of which SHA-3 and SHAKE are instances.

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::permutation::State;

/// Absorbs bytes, then yields blocks of `RATE` bytes, a multiple of eight.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct Sponge<const RATE: usize> {
    state: State,
    /// How many bytes of the current block are absorbed.
    at: usize,
}

pub(crate) type Shake128 = Sponge<168>;
pub(crate) type Shake256 = Sponge<136>;
pub(crate) type Sha3_256 = Sponge<136>;
pub(crate) type Sha3_512 = Sponge<72>;

/// What follows a message: the bits of the function (FIPS 202 §6), and the first one of the padding (§5.1).
#[derive(Clone, Copy)]
pub(crate) enum Suffix {
    Sha3 = 0x06,
    Shake = 0x1f,
}

impl<const RATE: usize> Sponge<RATE> {
    pub(crate) const fn new() -> Self {
        Self { state: State::new(), at: 0 }
    }

    pub(crate) fn absorb(&mut self, bytes: &[u8]) {
        let to_lane = self.at.next_multiple_of(8) - self.at;
        let (head, rest) = bytes.split_at(to_lane.min(bytes.len()));
        self.absorb_bytes(head);
        let (lanes, tail) = rest.as_chunks::<8>();
        for lane in lanes {
            self.state.xor(self.at / 8, u64::from_le_bytes(*lane));
            self.advance(8);
        }
        self.absorb_bytes(tail);
    }

    fn absorb_bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.xor(self.at, *byte);
            self.advance(1);
        }
    }

    fn xor(&mut self, at: usize, byte: u8) {
        self.state.xor(at / 8, u64::from(byte) << (8 * (at % 8)));
    }

    fn advance(&mut self, by: usize) {
        self.at += by;
        if self.at == RATE {
            self.state.permute();
            self.at = 0;
        }
    }

    /// Ends the message.
    pub(crate) fn pad(&mut self, suffix: Suffix) {
        self.xor(self.at, suffix as u8);
        self.xor(RATE - 1, 0x80);
    }

    /// Yields the next block, or as much of it as there is room for.
    pub(crate) fn squeeze(&mut self, block: &mut [u8]) {
        self.state.permute();
        for (bytes, lane) in block.chunks_mut(8).zip(self.state.lanes().take(RATE / 8)) {
            bytes.copy_from_slice(&lane.to_le_bytes()[..bytes.len()]);
        }
    }
}
