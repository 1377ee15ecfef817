//! The memory of a verifier, where it keeps what it has to know of chains that it accepted.

use tessera::auth::VerifierDigest;

use crate::chain_hash::ChainHash;

/// A verifier's memory of chains that it accepted: it can judge them by their hashes.
///
/// With one, a cache keeps hashes instead of chains. Only what the memory has at that moment is offered; it
/// keeps it until the handshake is over, or the verifier rejects the peer.
pub trait KnownMemory: Send + Sync {
    /// Whether the verifier with this policy can judge a peer by the hash of its chain alone. Whoever asks
    /// is about to offer the chain: the memory keeps it for a while.
    fn knows(&self, chain: &ChainHash, policy: Option<VerifierDigest>) -> bool;
}
