//! Tessera's client without re-encryption (`docs/one-time-kem.md` §6).

use tessera::ClientConfig;
use tessera::crypto::RandomFailed;
use tessera_rustcrypto::{RandomSource, experimental_fo_skip_provider};

use crate::pki::Pki;

/// Returns a client that trusts the authority, and opens ciphertexts of ML-KEM without re-encryption.
pub fn fo_skip_client(pki: &Pki) -> ClientConfig {
    ClientConfig::new(experimental_fo_skip_provider::<AwsLc>(), pki.verifier())
}

struct AwsLc;

impl RandomSource for AwsLc {
    fn fill(out: &mut [u8]) -> Result<(), RandomFailed> {
        tessera_aws_lc::provider().random.fill(out)
    }
}
