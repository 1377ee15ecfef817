//! Counts the signatures that verifiers check: those in chains, and those of handshakes.

use std::cell::Cell;
use std::sync::OnceLock;
use std::thread::LocalKey;

use pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm};
use tessera::wire::SignatureScheme;
use tessera_webpki::Algorithms;
use webpki::aws_lc_rs::ML_DSA_87;

/// How often one end used its algorithms in this thread.
type Count = LocalKey<Cell<u64>>;

thread_local! {
    static OF_CLIENT: Cell<u64> = const { Cell::new(0) };
    static OF_SERVER: Cell<u64> = const { Cell::new(0) };
}

/// The algorithms of one end, which count how often they are used.
pub(super) struct Verifications {
    pub(super) algorithms: Algorithms,
    count: &'static Count,
}

impl Verifications {
    /// Returns the counters of both ends, the client's first; each process has one pair.
    pub(super) fn of_both() -> &'static [Self; 2] {
        static BOTH: OnceLock<[Verifications; 2]> = OnceLock::new();
        BOTH.get_or_init(|| [Self::new(&OF_CLIENT), Self::new(&OF_SERVER)])
    }

    /// Returns how many signatures were checked in this thread since its last call.
    pub(super) fn take(&self) -> u64 {
        self.count.take()
    }

    /// Returns the algorithms of the products' verifiers, and ML-DSA-87.
    fn new(count: &'static Count) -> Self {
        let counted = |inner| -> &'static dyn SignatureVerificationAlgorithm {
            Box::leak(Box::new(CountedAlgorithm { inner, count }))
        };
        let Algorithms { handshake, chain, chain_schemes } = Algorithms::AWS_LC;
        let largest = (SignatureScheme::MLDSA87, ML_DSA_87);
        let has_largest = handshake.iter().any(|(scheme, _)| *scheme == largest.0);
        let more = (!has_largest).then_some(largest);
        let handshake = handshake.iter().copied().chain(more);
        let handshake: Vec<_> = handshake.map(|(scheme, inner)| (scheme, counted(inner))).collect();
        let chain = chain.iter().copied().chain(more.map(|(_, inner)| inner));
        let chain: Vec<_> = chain.map(counted).collect();
        let algorithms =
            Algorithms { handshake: handshake.leak(), chain: chain.leak(), chain_schemes };
        Self { algorithms, count }
    }
}

/// An algorithm that counts.
#[derive(Debug)]
struct CountedAlgorithm {
    inner: &'static dyn SignatureVerificationAlgorithm,
    count: &'static Count,
}

impl SignatureVerificationAlgorithm for CountedAlgorithm {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        self.count.set(self.count.get() + 1);
        self.inner.verify_signature(public_key, message, signature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.inner.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.inner.signature_alg_id()
    }
}
