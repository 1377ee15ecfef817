//! The provider of all ends, whose random bytes are always the same.

use tessera::crypto::{Provider, RandomFailed};
use tessera_rustcrypto::RandomSource;

struct Counter;

impl RandomSource for Counter {
    fn fill(out: &mut [u8]) -> Result<(), RandomFailed> {
        for (at, byte) in out.iter_mut().enumerate() {
            *byte = at as u8;
        }
        Ok(())
    }
}

pub static PROVIDER: Provider = tessera_rustcrypto::provider::<Counter>();

/// The KEMs are the groups.
pub static WITH_KEMS: Provider = Provider { kems: PROVIDER.groups, ..PROVIDER };
