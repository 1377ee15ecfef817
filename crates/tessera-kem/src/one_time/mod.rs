//! K-PKE with keys that decrypt once, without re-encryption: **experimental, and not FIPS 203**
//! (`docs/one-time-kem.md`).
//!
//! Each type's `decapsulate` consumes the key, no type is `Clone`, and what a key was is wiped.

#[cfg(feature = "fo-skip-experimental")]
mod fo_skip;
mod key;
#[cfg(feature = "one-time-experimental")]
mod t_h;

#[cfg(feature = "fo-skip-experimental")]
pub use fo_skip::ExperimentalFoSkipKey;
#[cfg(feature = "reproduction")]
pub(crate) use key::OneTimeKey;
#[cfg(feature = "one-time-experimental")]
pub use t_h::ExperimentalOneTimeKey;
