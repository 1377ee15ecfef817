//! **THIS PROTECTS NOTHING. NEVER USE IT FOR A CONNECTION.**
//!
//! A provider whose primitives cost next to nothing, so that counting instructions counts protocol
//! code. It encrypts nothing, every secret is public, every signature is the same, and its random
//! numbers are a counter. Anyone can read and forge everything that passes through it.
//!
//! The shape is real: lengths are those of the real algorithms, two ends agree, and ends that saw different transcripts
//! or shares fail.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod aead;
mod agreement;
mod hash;
mod kem;
mod mix;
mod one_time;
mod random;
mod sign;
mod verify;

use tessera::crypto::{AeadAlgorithm, Hash, Provider, StackDepth, Suite};
use tessera::wire::CipherSuite;

pub use kem::{NULL_KEM_KEY, NullDecapsulator, NullKemVerifier};
pub use sign::NullSigner;
pub use verify::NullVerifier;

/// Returns the provider, with the same suites and one-time key kinds as a real one. **It protects nothing.**
pub fn provider() -> Provider {
    PROVIDER
}

static PROVIDER: Provider = Provider {
    suites: &[&AES_128_GCM_SHA256, &AES_256_GCM_SHA384, &CHACHA20_POLY1305_SHA256],
    groups: &[&agreement::X25519_ML_KEM_768, &agreement::X25519],
    kems: &[&agreement::ML_KEM_768],
    one_time_keys: &[&one_time::X25519_ML_KEM_768, &one_time::X25519],
    random: &random::Counter,
    stack_depth: StackDepth::NOTHING_IS_WIPED,
};

static AES_128_GCM_SHA256: Suite =
    unlimited(CipherSuite::TLS_AES_128_GCM_SHA256, &hash::LIKE_SHA256, &aead::KEY_OF_16);

static AES_256_GCM_SHA384: Suite =
    unlimited(CipherSuite::TLS_AES_256_GCM_SHA384, &hash::LIKE_SHA384, &aead::KEY_OF_32);

static CHACHA20_POLY1305_SHA256: Suite =
    unlimited(CipherSuite::TLS_CHACHA20_POLY1305_SHA256, &hash::LIKE_SHA256, &aead::KEY_OF_32);

/// There is nothing to protect, and so no limit.
const fn unlimited(
    id: CipherSuite,
    hash: &'static dyn Hash,
    aead: &'static dyn AeadAlgorithm,
) -> Suite {
    Suite::new(id, hash, aead).with_confidentiality_limit(u64::MAX).with_integrity_limit(u64::MAX)
}
