//! A counter. **Nothing about it is random.**

use core::sync::atomic::{AtomicU64, Ordering};

use tessera::crypto::{Random, RandomFailed};

use crate::mix::{scramble, stretch};

/// Returns the same sequence in every run of a program, and no value twice.
pub(crate) struct Counter;

static CALLS: AtomicU64 = AtomicU64::new(0);

/// Fills `out` with bytes that depend on the number of calls before.
pub(crate) fn fill(out: &mut [u8]) {
    stretch(scramble(CALLS.fetch_add(1, Ordering::Relaxed)), out);
}

impl Random for Counter {
    fn fill(&self, out: &mut [u8]) -> Result<(), RandomFailed> {
        fill(out);
        Ok(())
    }
}
