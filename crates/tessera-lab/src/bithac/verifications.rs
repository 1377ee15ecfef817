//! Counts the signatures that verifiers check: those in chains, and those of handshakes.

use std::cell::Cell;
use std::sync::OnceLock;
use std::thread::LocalKey;

use tessera::wire::SignatureScheme;
use tessera_observed::{Observer, Operation, algorithm};
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
        let counter: &'static Counter = Box::leak(Box::new(Counter(count)));
        let Algorithms { handshake, chain, chain_schemes } = Algorithms::AWS_LC;
        let largest = (SignatureScheme::MLDSA87, ML_DSA_87);
        let has_largest = handshake.iter().any(|(scheme, _)| *scheme == largest.0);
        let more = (!has_largest).then_some(largest);
        let handshake = handshake.iter().copied().chain(more);
        let handshake: Vec<_> =
            handshake.map(|(scheme, inner)| (scheme, algorithm(inner, counter))).collect();
        let chain = chain.iter().copied().chain(more.map(|(_, inner)| inner));
        let chain: Vec<_> = chain.map(|inner| algorithm(inner, counter)).collect();
        let algorithms =
            Algorithms { handshake: handshake.leak(), chain: chain.leak(), chain_schemes };
        Self { algorithms, count }
    }
}

/// Counts signatures as they are checked.
struct Counter(&'static Count);

impl Observer for Counter {
    const SUITES: bool = false;
    type Begun = ();

    fn begin(&self, _: Operation) {
        self.0.set(self.0.get() + 1);
    }

    fn end(&self, _: Operation, (): ()) {}
}
