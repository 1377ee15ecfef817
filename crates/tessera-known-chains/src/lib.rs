//! Chains that were accepted before, and aren't verified again: a memory around a verifier of certificate chains.
//!
//! [`KnownChains`] wraps a [`ChainVerifier`], such as `tessera_webpki::WebPkiVerifier` or
//! `tessera_fixed_pki::FixedPkiVerifier`, and keeps what it accepted in a [`ChainStore`]. Each of those crates re-exports
//! what its users need.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod chain_verifier;
mod entries;
mod error;
mod key;
mod lock;
mod pinned;
mod pins;
mod public_key;
mod record;
mod shares;
mod store;
mod verifier;

pub use chain_verifier::{ChainVerifier, EndEntity, JudgedChain, Names, RevocationLists};
pub use entries::StoreBounds;
pub use error::StoreError;
pub use store::{ChainStore, StoreCounts};
pub use verifier::KnownChains;
