//! Bytes that are NOT random: the emulated board has no generator, and counts must repeat.

use core::sync::atomic::{AtomicU32, Ordering};

static STATE: AtomicU32 = AtomicU32::new(0x9e37_79b9);

/// Fills with Marsaglia's xorshift.
pub fn fill(out: &mut [u8]) {
    for byte in out {
        let mut state = STATE.load(Ordering::Relaxed);
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        STATE.store(state, Ordering::Relaxed);
        *byte = state as u8;
    }
}
