//! The form in which a peer's chain is remembered.

use tessera::crypto::Hash;

use crate::chain::Chain;
use crate::chain_hash::ChainHash;

/// A chain, or the part of it that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    /// The chain itself.
    Whole(Chain),
    /// Its hash: the verifier remembers what it needs to judge it.
    Known(ChainHash),
}

impl Form {
    /// Returns the hash of the chain; computing it takes as long as hashing the chain.
    pub(crate) fn hash(&self, sha256: &dyn Hash) -> ChainHash {
        match self {
            Self::Whole(chain) => chain.hash(sha256),
            Self::Known(hash) => *hash,
        }
    }

    /// Whether both are the same stored chain: long lists are equal if they share an allocation.
    pub(crate) fn is_still(&self, before: &Self) -> bool {
        match (self, before) {
            (Self::Whole(now), Self::Whole(before)) => {
                now.issuers.is_same(&before.issuers)
                    && (now.certificate_type, &now.leaf) == (before.certificate_type, &before.leaf)
            }
            (now, before) => now == before,
        }
    }

    /// Returns when the first of the certificates expires, if they are present and readable.
    pub(crate) fn expires_at(&self) -> Option<u64> {
        match self {
            Self::Whole(chain) => chain.expires_at(),
            Self::Known(_) => None,
        }
    }

    /// Returns how many bytes it takes besides itself.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            // Two counted allocations, and their bytes.
            Self::Whole(chain) => size_of::<[usize; 10]>() + chain.len(),
            Self::Known(..) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use tessera::wire::CertificateType;

    use super::Form;
    use crate::bytes::Shared;
    use crate::chain::Chain;

    #[test]
    fn a_chain_is_still_the_same_with_its_leaf_and_the_list_of_its_issuers() {
        let lists = [(); 2].map(|()| Shared::from([7; 20]));
        let chain = |leaf: u8, list: &Shared| {
            let chain = Chain::new(CertificateType::X509, [leaf; 30].into(), list.clone());
            Form::Whole(chain.expect("a chain"))
        };
        let before = chain(1, &lists[0]);
        assert!(chain(1, &lists[0]).is_still(&before));
        assert!(!chain(2, &lists[0]).is_still(&before));
        assert!(!chain(1, &lists[1]).is_still(&before));
    }
}
