//! The common part of both ends' caches.

use alloc::sync::Arc;

use tessera::auth::ChainMemory;
use tessera::crypto::{Hash, Provider};

#[cfg(feature = "paper")]
use crate::carrier::Carrier;
use crate::chain_hash::ChainHash;
use crate::error::ProviderError;
use crate::own_chains::OwnChains;
use crate::public_ids::PublicIds;

/// A cache of peers' chains: of servers' chains in a [`ClientCache`](crate::ClientCache), of clients' chains
/// in a [`ServerCache`](crate::ServerCache).
pub struct Cache<P> {
    pub(crate) sha256: &'static dyn Hash,
    own: OwnChains,
    pub(crate) public_ids: PublicIds,
    #[cfg(feature = "paper")]
    pub(crate) carrier: Carrier,
    pub(crate) memory: Option<Arc<dyn ChainMemory>>,
    /// What is known of the peers.
    pub(crate) peers: P,
}

impl<P> Cache<P> {
    pub(crate) fn of(provider: &Provider, peers: P) -> Result<Self, ProviderError> {
        Ok(Self {
            sha256: provider.sha256().ok_or(ProviderError::NoSha256)?,
            own: OwnChains::default(),
            public_ids: PublicIds::Never,
            #[cfg(feature = "paper")]
            carrier: Carrier::default(),
            memory: None,
            peers,
        })
    }

    /// Uses constant ids with peers that don't take part otherwise. A server offers those of at most 126
    /// clients, with chains of at most 16 KiB each, which don't count towards its limits.
    pub fn with_public_ids(mut self, public_ids: PublicIds) -> Self {
        self.public_ids = public_ids;
        self
    }

    /// Uses this carrier: a client announces its cached chains in it; a server understands it as well as the
    /// default one.
    #[cfg(feature = "paper")]
    pub fn with_carrier(mut self, carrier: Carrier) -> Self {
        self.carrier = carrier;
        self
    }

    /// Keeps only hashes of the chains that this verifier remembers. It must be the verifier of every
    /// configuration that uses the cache, and no wrapper around it may read
    /// [`VerifyPeer::chain`](tessera::auth::VerifyPeer::chain): a chain sent as a hash is absent there, and a
    /// wrapper that needs it refuses such peers.
    pub fn with_chain_memory(mut self, memory: Arc<dyn ChainMemory>) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Returns the hash of the chain in the body of this side's Certificate.
    pub(crate) fn hash_own(&self, body: &[u8]) -> Option<ChainHash> {
        self.own.hash(self.sha256, body)
    }
}
