//! ML-KEM-512, ML-KEM-768 and ML-KEM-1024 ([FIPS 203]) for devices and servers: `no_std`, without a heap, in little stack.
//!
//! - The matrix is sampled and consumed entry by entry. No operation of ML-KEM-768 takes 12 KB of stack.
//! - No branch and no index depends on a secret, and nothing secret is divided. `subtle` compares and selects. Secrets are
//!   multiplied, so the processor must multiply in constant time: a Cortex-M33 does, a Cortex-M3 doesn't (UMULL).
//! - Secrets are wiped when they are dropped. Callers keep keys in boxes, and wipe the stack through which secrets went.
//!
//! It draws no random bits, callers pass them:
//!
//! - `seed`: 64 random bytes, d and z, from which a key is derived.
//! - `m`: 32 random bytes, never data and never twice, for each encapsulation.
//!
//! ```
//! use tessera_kem::{DecapsulationKey768, EncapsulationKey768};
//! # let (seed, m) = ([1; 64], [2; 32]);
//!
//! let key = Box::new(DecapsulationKey768::from_seed(&seed));
//! let mut public = [0; EncapsulationKey768::LEN];
//! key.encapsulation_key().write(&mut public)?;
//!
//! let peer = EncapsulationKey768::new(&public)?;
//! let mut ciphertext = [0; EncapsulationKey768::CIPHERTEXT_LEN];
//! let secret = peer.encapsulate(&m, &mut ciphertext)?;
//!
//! assert_eq!(key.decapsulate(&ciphertext)?.expose(), secret.expose());
//! # Ok::<(), tessera_kem::Error>(())
//! ```
//!
//! # Features
//!
//! None is a default. What they bring is experimental, not FIPS 203, and described in `docs/one-time-kem.md`.
//!
//! | feature | brings |
//! |---|---|
//! | `one-time-experimental` | keys that decapsulate once, by T_H |
//! | `fo-skip-experimental` | keys that decapsulate once what standard peers encapsulated, unchecked |
//! | `reproduction` | the one-time KEMs of a thesis, to measure |
//! | `alloc` | one-time keys are consumed in a box, without a move |
//!
//! [FIPS 203]: https://doi.org/10.6028/NIST.FIPS.203
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

mod compress;
mod decapsulation_key;
mod encapsulation_key;
mod error;
mod field;
mod hashes;
mod k_pke;
#[cfg(any(
    feature = "one-time-experimental",
    feature = "fo-skip-experimental",
    feature = "reproduction"
))]
mod one_time;
mod parameters;
mod permutation;
mod polynomial;
#[cfg(feature = "reproduction")]
pub mod reproduction;
mod sampling;
mod secret;
mod sponge;

pub use decapsulation_key::DecapsulationKey;
pub use encapsulation_key::EncapsulationKey;
pub use error::Error;
#[cfg(feature = "fo-skip-experimental")]
pub use one_time::ExperimentalFoSkipKey;
#[cfg(feature = "one-time-experimental")]
pub use one_time::ExperimentalOneTimeKey;
pub use secret::SharedSecret;

/// The README's code is compiled with the tests of the pages.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// An encapsulation key of ML-KEM-512.
pub type EncapsulationKey512 = EncapsulationKey<2>;
/// An encapsulation key of ML-KEM-768.
pub type EncapsulationKey768 = EncapsulationKey<3>;
/// An encapsulation key of ML-KEM-1024.
pub type EncapsulationKey1024 = EncapsulationKey<4>;
/// A decapsulation key of ML-KEM-512.
pub type DecapsulationKey512 = DecapsulationKey<2>;
/// A decapsulation key of ML-KEM-768.
pub type DecapsulationKey768 = DecapsulationKey<3>;
/// A decapsulation key of ML-KEM-1024.
pub type DecapsulationKey1024 = DecapsulationKey<4>;
