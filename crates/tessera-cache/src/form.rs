//! In which form a peer's chain is remembered.

use alloc::sync::Arc;

use tessera::crypto::Hash;

use crate::chain::Chain;
use crate::chain_hash::ChainHash;

/// A chain, or as much of it as is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    /// The chain itself.
    Whole(Arc<Chain>),
    /// Its hash: the verifier remembers what it takes to judge it.
    Known(ChainHash),
}

impl Form {
    /// The hash of the chain; it takes as long as hashing it.
    pub(crate) fn hash(&self, sha256: &dyn Hash) -> ChainHash {
        match self {
            Self::Whole(chain) => chain.hash(sha256),
            Self::Known(hash) => *hash,
        }
    }

    /// When the first of the certificates expires, as far as they are here and say it.
    pub(crate) fn expires_at(&self) -> Option<u64> {
        match self {
            Self::Whole(chain) => chain.expires_at(),
            Self::Known(_) => None,
        }
    }

    /// How many bytes it takes beside itself.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Whole(chain) => size_of::<Chain>() + chain.len(),
            Self::Known(..) => 0,
        }
    }
}
