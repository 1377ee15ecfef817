//! The provider, with bytes that are NOT random.

use tessera::crypto::{Provider, RandomFailed};
use tessera_rustcrypto::RandomSource;

use crate::xorshift;

pub struct NotRandom;

impl RandomSource for NotRandom {
    fn fill(out: &mut [u8]) -> Result<(), RandomFailed> {
        xorshift::fill(out);
        Ok(())
    }
}

pub static PROVIDER: Provider = tessera_rustcrypto::provider::<NotRandom>();
