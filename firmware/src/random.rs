//! Bytes that are NOT random: the emulated board has no generator, and counts must repeat.

use core::sync::atomic::{AtomicU32, Ordering};

use tessera::crypto::{Provider, RandomFailed};
use tessera_rustcrypto::RandomSource;

pub struct NotRandom;

static STATE: AtomicU32 = AtomicU32::new(0x9e37_79b9);

impl RandomSource for NotRandom {
    fn fill(out: &mut [u8]) -> Result<(), RandomFailed> {
        for byte in out {
            // Marsaglia's xorshift.
            let mut state = STATE.load(Ordering::Relaxed);
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            STATE.store(state, Ordering::Relaxed);
            *byte = state as u8;
        }
        Ok(())
    }
}

pub static PROVIDER: Provider = tessera_rustcrypto::provider::<NotRandom>();
