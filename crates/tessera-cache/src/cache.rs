//! What the caches of both ends have in common.

use alloc::sync::Arc;

use tessera::auth::ChainMemory;
use tessera::crypto::{Hash, Provider};

use crate::carrier::Carrier;
use crate::chain_hash::ChainHash;
use crate::error::NotMade;
use crate::own_chains::OwnChains;
use crate::public_ids::PublicIds;

/// A cache of peers' chains: of servers', which is a [`ClientCache`](crate::ClientCache), or of clients', which is
/// a [`ServerCache`](crate::ServerCache).
pub struct Cache<P> {
    pub(crate) sha256: &'static dyn Hash,
    own: OwnChains,
    pub(crate) public_ids: PublicIds,
    pub(crate) carrier: Carrier,
    pub(crate) memory: Option<Arc<dyn ChainMemory>>,
    /// What is known of them.
    pub(crate) peers: P,
}

impl<P> Cache<P> {
    pub(crate) fn of(provider: &Provider, peers: P) -> Result<Self, NotMade> {
        Ok(Self {
            sha256: provider.sha256().ok_or(NotMade::NoSha256)?,
            own: OwnChains::default(),
            public_ids: PublicIds::Never,
            carrier: Carrier::default(),
            memory: None,
            peers,
        })
    }

    /// Uses ids that are always the same with peers that don't take part otherwise. A server offers those of at most
    /// 126 clients, with chains of at most 16 KiB each, which it remembers beside its limits.
    pub fn with_public_ids(mut self, public_ids: PublicIds) -> Self {
        self.public_ids = public_ids;
        self
    }

    /// Uses this form: a client says in it what it has cached; a server understands it beside the default one.
    pub fn with_carrier(mut self, carrier: Carrier) -> Self {
        self.carrier = carrier;
        self
    }

    /// Keeps only hashes of the chains that this verifier remembers. It has to be the verifier of every
    /// configuration that the cache is in, and no other around it may look at
    /// [`VerifyPeer::chain`](tessera::auth::VerifyPeer::chain): a chain that came as a hash isn't there, and one that
    /// has to see it refuses such peers.
    pub fn with_chain_memory(mut self, memory: Arc<dyn ChainMemory>) -> Self {
        self.memory = Some(memory);
        self
    }

    /// The hash of the chain in the body of this side's Certificate.
    pub(crate) fn hash_own(&self, body: &[u8]) -> Option<ChainHash> {
        self.own.hash(self.sha256, body)
    }
}
