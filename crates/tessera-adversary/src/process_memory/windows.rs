//! The parts of a memory that could be a secret.

use std::collections::HashMap;

use super::Snapshot;

/// Some bytes of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window<'a> {
    /// Where they are, the first time.
    pub address: u64,
    /// The bytes themselves.
    pub bytes: &'a [u8],
}

/// Returns all different strings of `len` bytes at addresses that are multiples of eight, except those that don't look
/// random.
///
/// Of random strings less than one in a million is left out.
#[must_use]
pub fn windows(snapshot: &Snapshot, len: usize) -> Vec<Window<'_>> {
    let mut windows = HashMap::new();
    for segment in &snapshot.segments {
        for (at, bytes) in segment.bytes.windows(len).enumerate().step_by(8) {
            if looks_random(bytes) {
                windows.entry(bytes).or_insert(segment.address + at as u64);
            }
        }
    }
    let windows = windows.into_iter().map(|(bytes, address)| Window { address, bytes });
    let mut windows: Vec<_> = windows.collect();
    windows.sort_unstable_by_key(|window| window.address);
    windows
}

/// Whether the bytes could be random: enough different ones.
fn looks_random(bytes: &[u8]) -> bool {
    let mut seen = [0u64; 4];
    let mut repeated = 0;
    for &byte in bytes {
        let (part, bit) = (usize::from(byte >> 6), 1 << (byte & 63));
        repeated += usize::from(seen[part] & bit != 0);
        seen[part] |= bit;
        // Random strings of 32 bytes have about 30 different ones, those of 48 bytes 44. Most memory is seen to have
        // fewer after a few bytes.
        if repeated * 4 > bytes.len() {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_pointers_are_no_secrets() {
        assert!(!looks_random(b"the quick brown fox jumps over t"));
        let pointers: Vec<u8> =
            (0..4u64).flat_map(|it| (0x7f12_3456_7000 + it).to_le_bytes()).collect();
        assert!(!looks_random(&pointers));
        assert!(looks_random(&std::array::from_fn::<u8, 32, _>(|at| (at * 37) as u8)));
    }
}
