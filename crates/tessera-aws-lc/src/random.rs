//! The random number generator of AWS-LC.

use std::sync::Once;

use tessera::crypto::{Random, RandomFailed};

/// AWS-LC's own generator: a DRBG per thread, seeded from the operating system, so that most calls
/// make no system call.
pub(crate) struct AwsLc;

impl Random for AwsLc {
    fn fill(&self, out: &mut [u8]) -> Result<(), RandomFailed> {
        aws_lc_rs::rand::fill(out).map_err(|_| RandomFailed)
    }
}

/// Makes the generator seed itself, once per process: it may take a tenth of a second, which is too long
/// during a handshake.
pub(crate) fn seed() {
    // Without randomness AWS-LC aborts the process, so there is no failure to handle.
    SEEDED.call_once(|| {
        let _ = aws_lc_rs::rand::fill(&mut [0]);
    });
}

static SEEDED: Once = Once::new();

#[cfg(test)]
mod tests {
    use super::SEEDED;

    #[test]
    fn every_provider_has_a_seeded_generator() {
        let provider = crate::provider();
        assert!(SEEDED.is_completed());
        assert!(!provider.groups.is_empty());
    }
}
