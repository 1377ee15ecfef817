//! Bytes that are NOT random.

use rand_core::{CryptoRng, Error, RngCore, impls};
use size_peer_board::fill;

pub(crate) struct NotRandom;

impl RngCore for NotRandom {
    fn next_u32(&mut self) -> u32 {
        impls::next_u32_via_fill(self)
    }

    fn next_u64(&mut self) -> u64 {
        impls::next_u64_via_fill(self)
    }

    fn fill_bytes(&mut self, out: &mut [u8]) {
        fill(out);
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Error> {
        fill(out);
        Ok(())
    }
}

impl CryptoRng for NotRandom {}
