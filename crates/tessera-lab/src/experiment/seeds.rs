//! The seeds of random numbers.

/// Returns a cell's seed: each cell has its own random numbers, the same in each run with the same seed. FNV-1a of its
/// name.
pub(crate) fn seed_of(cell: &str, seed: u64) -> u64 {
    let hash = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    seed.wrapping_add(cell.bytes().fold(0xcbf2_9ce4_8422_2325, hash))
}
