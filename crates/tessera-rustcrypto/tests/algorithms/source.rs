//! The provider with random bytes of AWS-LC's, and with none.

use tessera::crypto::{Provider, RandomFailed};
use tessera_rustcrypto::RandomSource;

pub struct AwsLc;

impl RandomSource for AwsLc {
    fn fill(out: &mut [u8]) -> Result<(), RandomFailed> {
        aws_lc_rs::rand::fill(out).map_err(|_| RandomFailed)
    }
}

pub fn provider() -> Provider {
    tessera_rustcrypto::provider::<AwsLc>()
}

#[cfg(feature = "one-time-experimental")]
pub fn one_time_provider() -> Provider {
    tessera_rustcrypto::experimental_one_time_provider::<AwsLc>()
}

#[cfg(feature = "fo-skip-experimental")]
pub fn fo_skip_provider() -> Provider {
    tessera_rustcrypto::experimental_fo_skip_provider::<AwsLc>()
}

/// A source that has failed.
pub struct Nothing;

impl RandomSource for Nothing {
    fn fill(_: &mut [u8]) -> Result<(), RandomFailed> {
        Err(RandomFailed)
    }
}
