//! Chains that were accepted before, and aren't judged again.

mod chain_hash;
mod entries;
mod key;
mod pins;
mod public_key;
mod record;
mod store;
mod verifier;

pub use chain_hash::chain_hash;
pub use entries::StoreBounds;
pub use store::{ChainStore, StoreCounts};
pub use verifier::KnownChains;
