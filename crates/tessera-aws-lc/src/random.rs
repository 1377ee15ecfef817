//! The random number generator of AWS-LC.

use tessera::crypto::{Random, RandomFailed};

/// AWS-LC's own generator: a DRBG per thread, seeded from the operating system, so that most calls
/// make no system call.
pub(crate) struct AwsLc;

impl Random for AwsLc {
    fn fill(&self, out: &mut [u8]) -> Result<(), RandomFailed> {
        aws_lc_rs::rand::fill(out).map_err(|_| RandomFailed)
    }
}
