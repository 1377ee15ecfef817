//! The one-time KEMs of G. Xu's thesis ("Optimizing post-quantum TLS on embedded clients", Waterloo 2025), to measure and
//! compare: **experimental, for nothing else** (`docs/one-time-kem.md`).

mod as_coded;
mod encrypt_then_mac;

pub use as_coded::ExperimentalAsCodedKey;
pub use encrypt_then_mac::{ExperimentalEncryptThenMacKey, TAG_LEN};
