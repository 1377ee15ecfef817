//! Chains that were accepted before, and aren't verified again.

mod entries;
mod key;
mod pins;
mod public_key;
mod record;
mod shares;
mod store;
mod verifier;

pub use entries::StoreBounds;
pub use store::{ChainStore, StoreCounts};
pub use verifier::KnownChains;
