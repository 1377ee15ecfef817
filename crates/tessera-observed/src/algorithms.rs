//! The algorithms with which a verifier checks signatures, observed.

use std::fmt;

use pki_types::{
    AlgorithmIdentifier, FipsStatus, InvalidSignature, SignatureVerificationAlgorithm,
};
use tessera_webpki::Algorithms;

use crate::observer::{Observer, during};
use crate::operation::Operation;

/// Returns the same algorithms, with which a verifier checks peers' signatures apart from their chains. They live as long
/// as the process.
pub fn algorithms<O: Observer>(of: Algorithms, by: &'static O) -> Algorithms {
    let handshake = of.handshake.iter().map(|(scheme, inner)| (*scheme, algorithm(*inner, by)));
    Algorithms { handshake: handshake.collect::<Vec<_>>().leak(), ..of }
}

/// Returns the same algorithm, with each use observed as [`Operation::ProofVerification`], whatever is verified with it. It
/// lives as long as the process.
pub fn algorithm<O: Observer>(
    inner: &'static dyn SignatureVerificationAlgorithm,
    by: &'static O,
) -> &'static dyn SignatureVerificationAlgorithm {
    Box::leak(Box::new(ObservedAlgorithm { inner, by }))
}

struct ObservedAlgorithm<O: 'static> {
    inner: &'static dyn SignatureVerificationAlgorithm,
    by: &'static O,
}

impl<O> fmt::Debug for ObservedAlgorithm<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<O: Observer> SignatureVerificationAlgorithm for ObservedAlgorithm<O> {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let verify = || self.inner.verify_signature(public_key, message, signature);
        during(self.by, Operation::ProofVerification, verify)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.inner.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.inner.signature_alg_id()
    }

    fn fips(&self) -> bool {
        self.inner.fips()
    }

    fn fips_status(&self) -> FipsStatus {
        self.inner.fips_status()
    }
}
