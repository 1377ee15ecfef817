//! The one cheap function under everything here. **Not a cryptographic hash.**

/// An odd multiplier with bits all over the word.
const MULTIPLIER: u64 = 0xbf58_476d_1ce4_e5b9;

/// The fractional part of the golden ratio: the step of SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Folds bytes, a word at a time: exclusive-or, then multiply. As with a real hash, it does not matter how they were
/// split.
#[derive(Clone, Copy)]
pub(crate) struct Mix {
    state: u64,
    /// Bytes that do not fill a word yet.
    pending: [u8; 8],
    len: u64,
}

impl Mix {
    /// Starts with a value that separates one use from another.
    pub(crate) fn new(purpose: u64) -> Self {
        Self { state: STEP ^ purpose, pending: [0; 8], len: 0 }
    }

    /// Adds bytes.
    pub(crate) fn add(&mut self, mut bytes: &[u8]) {
        let filled = (self.len % 8) as usize;
        self.len += bytes.len() as u64;
        if filled > 0 {
            let (head, rest) = bytes.split_at(bytes.len().min(8 - filled));
            self.pending[filled..filled + head.len()].copy_from_slice(head);
            bytes = rest;
            if filled + head.len() < 8 {
                return;
            }
            self.fold(u64::from_le_bytes(self.pending));
        }
        let (words, rest) = bytes.as_chunks();
        for &word in words {
            self.fold(u64::from_le_bytes(word));
        }
        self.pending = [0; 8];
        self.pending[..rest.len()].copy_from_slice(rest);
    }

    /// Adds a field whose end is marked, so that fields cannot run into each other.
    pub(crate) fn add_field(&mut self, bytes: &[u8]) {
        self.add(bytes);
        self.add(&(bytes.len() as u64).to_le_bytes());
    }

    fn fold(&mut self, word: u64) {
        let product = (self.state ^ word).wrapping_mul(MULTIPLIER);
        // A product carries upwards only; this brings its high bits down.
        self.state = product ^ (product >> 32);
    }

    /// Returns the value of everything added so far.
    pub(crate) fn value(mut self) -> u64 {
        self.fold(u64::from_le_bytes(self.pending));
        self.fold(self.len);
        scramble(self.state)
    }

    /// That value, stretched over `out`.
    pub(crate) fn fill(self, out: &mut [u8]) {
        stretch(self.value(), out);
    }
}

/// Fills `out` from one value, as SplitMix64 does.
pub(crate) fn stretch(mut value: u64, out: &mut [u8]) {
    for chunk in out.chunks_mut(8) {
        value = value.wrapping_add(STEP);
        chunk.copy_from_slice(&scramble(value).to_le_bytes()[..chunk.len()]);
    }
}

/// Returns the output function of SplitMix64.
pub(crate) fn scramble(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(MULTIPLIER);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
