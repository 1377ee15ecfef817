//! How deep the cryptography reaches into the stack.

use tessera::crypto::{Depth, StackDepth};

/// Measured by `firmware/` on a Cortex-M33, at opt-level s: up to 7,564 bytes below the call with X25519, 9,212 with
/// signing, 11,400 with ML-KEM-768. A key pair of ML-KEM-1024 takes 2,161 more on x86-64, nearly all of it arrays, which are
/// as long elsewhere. To verify with ML-DSA takes 104,976, but leaves nothing secret there. Processors of 64 bits
/// have twice as large frames, and vectors.
pub(crate) const STACK_DEPTH: StackDepth = StackDepth {
    derivation: Depth::of::<{ DERIVATION * WORDS }>(),
    agreement: Depth::of::<{ AGREEMENT * WORDS }>(),
};

const DERIVATION: usize = 7_680;

const WORDS: usize = size_of::<usize>() / 4;

const AGREEMENT: usize = if cfg!(feature = "ml-kem-1024") {
    14_336
} else if cfg!(feature = "ml-kem") {
    12_032
} else if cfg!(any(feature = "p256", feature = "ecdsa")) {
    9_472
} else {
    DERIVATION
};
