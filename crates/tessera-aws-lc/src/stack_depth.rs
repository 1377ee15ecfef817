//! How deep the cryptography reaches into the stack.

use tessera::crypto::{Depth, StackDepth};

/// Measured by `wiping-cost` in `bench/handshake`: up to 31,263 bytes with a key exchange, and 38,415 if a vault keeps seeds,
/// from which one-time keys of ML-KEM are derived. Without one 15,407 with SHA-256 on a processor with instructions for it;
/// AWS-LC's HKDF, otherwise in use, reached 22,198.
pub(crate) const STACK_DEPTH: StackDepth = StackDepth {
    derivation: Depth::of::<{ 24 * 1024 }>(),
    agreement: Depth::of::<{ 48 * 1024 }>(),
};
