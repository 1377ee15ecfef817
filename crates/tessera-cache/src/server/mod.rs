//! A server's cache of clients.

#[cfg(test)]
mod attacked;
mod extras;
mod fleet;
mod groups;
mod index;
mod keyed;
#[cfg(any(test, feature = "measured"))]
pub mod measured;
mod pages;
mod public;
mod record;
mod shares;
mod store;
#[cfg(test)]
mod tests;
mod written;

use alloc::borrow::Cow;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use tessera::auth::{ClientInfo, PeerCertificate, PeerIdentity, VerifierDigest};
use tessera::crypto::{Provider, Random};
use tessera::resume::TicketKeys;
use tessera::wire::CertificateType;

use self::fleet::Sealer;
pub(crate) use self::fleet::{Tail, tail_of};
use self::groups::ServerName;
use self::public::Public;
pub(crate) use self::public::PublicClient;
use self::store::Store;
pub(crate) use self::store::{AcceptanceConditions, ClientEntry, ClientMatch};
use crate::cache::Cache;
use crate::chain_hash::{ChainHash, first};
use crate::error::ProviderError;
use crate::form::Form;
use crate::ids::{TICKETS, Ticket, TicketBytes};
use crate::lock::Lock;
use crate::metrics::Metrics;
use crate::miss_reason::MissReason;
use crate::wire::FleetTicket;

/// The certificates of clients that have connected: the
/// [`CertificateCodecFactory`](tessera::auth::CertificateCodecFactory) of servers. It also sends this
/// server's own chain as a hash to clients that know it, with client certificates or without.
///
/// All configurations of a server share one. It remembers the results of complete handshakes with clients
/// that the verifier accepted. A client is found by a ticket, which both ends derive and which is used once;
/// at most eight are known per certificate, whatever its owner sends after it. Data that clients share, such
/// as the certificates of their issuers, is kept once.
///
/// When it is full, the least recently used client is evicted; but each authority's clients, by the issuer in
/// their certificates, have a share of the cache that others' clients can't take. So an attacker with many
/// certificates of one authority only evicts that authority's clients.
///
/// ```
/// use std::sync::Arc;
/// use tessera_cache::ServerCache;
///
/// # fn configure(config: &mut tessera::ServerConfig) -> Result<(), tessera_cache::ProviderError> {
/// config.certificate_codecs.insert(0, Arc::new(ServerCache::new(&config.provider)?));
/// # Ok(())
/// # }
/// ```
pub type ServerCache = Cache<Clients>;

/// A server's entries for clients.
pub struct Clients {
    store: Lock<Store>,
    public: Lock<Public>,
    random: &'static dyn Random,
    sealer: Option<Sealer>,
}

/// The capacity of a server's cache.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ServerLimits {
    /// Maximum number of clients, up to 2,097,152. Default: 65,536.
    pub clients: usize,
    /// Maximum bytes in all, roughly, certificates included. Default: 64 MiB.
    pub bytes: usize,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self { clients: 1 << 16, bytes: 64 << 20 }
    }
}

impl ServerCache {
    /// Makes an empty cache.
    ///
    /// # Errors
    /// Returns an error if the provider has no SHA-256, or no randomness.
    pub fn new(provider: &Provider) -> Result<Self, ProviderError> {
        let store = Store::new(provider.random, ServerLimits::default());
        let store = Lock::new(store.map_err(|_| ProviderError::NoRandom)?);
        let (public, random) = (Lock::default(), provider.random);
        Self::of(provider, Clients { store, public, random, sealer: None })
    }

    /// Sets the capacity.
    pub fn with_limits(self, limits: ServerLimits) -> Self {
        self.peers.store.lock().limit(limits);
        self
    }

    /// Returns the capacity.
    pub fn limits(&self) -> ServerLimits {
        self.peers.store.lock().limits
    }

    /// Sends clients fleet tickets as well, one in each NewSessionTicket, under the keys of this ring: for
    /// a fleet whose servers share a ring, but no cache. Whichever server the client was at last, one that
    /// has its chain finds it; so does a server that lost the other tickets, but not the chains. A ticket
    /// has about 140 bytes, and is valid for [`FLEET_TICKET_AGE`](Self::FLEET_TICKET_AGE) at most, and
    /// while its key is in the ring.
    ///
    /// Set the configuration's `tickets` too, because they carry fleet tickets to clients; the same ring will
    /// do. The ring of a single server is useless here, and `TicketKeys` without `seal_for` yield no fleet
    /// tickets.
    ///
    /// Servers keep no record of used ones: an attacker that copies one from the wire learns which servers of
    /// the fleet know its chain, but not whose it is.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use tessera::ServerConfig;
    /// use tessera::resume::TicketKeys;
    /// use tessera_cache::{ProviderError, ServerCache};
    ///
    /// fn give_fleet_tickets(config: &mut ServerConfig, ring: Arc<dyn TicketKeys>) -> Result<(), ProviderError> {
    ///     let cache = ServerCache::new(&config.provider)?.with_fleet_tickets(ring.clone());
    ///     config.certificate_codecs.insert(0, Arc::new(cache));
    ///     config.tickets = Some(ring);
    ///     Ok(())
    /// }
    /// ```
    pub fn with_fleet_tickets(mut self, ring: Arc<dyn TicketKeys>) -> Self {
        self.peers.sealer = Some(Sealer::new(ring, self.peers.random, Self::FLEET_TICKET_AGE));
        self
    }

    /// Maximum age of a fleet ticket.
    pub const FLEET_TICKET_AGE: Duration = Duration::from_secs(30 * 24 * 3600);

    /// Returns what it has done so far.
    pub fn metrics(&self) -> Metrics {
        self.peers.store.lock().metrics()
    }

    /// Forgets every client that was accepted under a policy other than these: for removed trust anchors or
    /// names. Chains accepted under another policy are not offered in any case.
    pub fn retain_policies(&self, policies: &[VerifierDigest]) {
        self.peers.store.lock().retain(|policy| policies.iter().any(|it| Some(it.0) == policy));
        let keep =
            |it: &ClientEntry| it.under.policy.is_some_and(|policy| policies.contains(&policy));
        self.peers.public.lock().retain(keep);
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.peers.store.lock().retain(|_| false);
        self.peers.public.lock().retain(|_| false);
    }

    pub(crate) fn take(
        &self,
        tickets: &[TicketBytes],
        under: AcceptanceConditions,
        unix: u64,
        may_offer: impl Fn(CertificateType) -> bool,
    ) -> Result<ClientMatch, MissReason> {
        self.peers.store.lock().take(tickets, under, unix, may_offer)
    }

    /// Returns the client that a fleet ticket stands for.
    pub(crate) fn open(
        &self,
        sealed: &[u8],
        under: AcceptanceConditions,
        unix: Duration,
        may_offer: impl Fn(CertificateType) -> bool,
    ) -> Result<ClientMatch, MissReason> {
        let sealer = self.peers.sealer.as_ref();
        let named = sealer.and_then(|sealer| sealer.open(sealed, under.server, unix));
        let named = named.ok_or(MissReason::UnknownTicket)?;
        let candidates = self.peers.store.lock().candidates(&named, under);
        let is_it = |(_, form): &&(u32, Form)| form.hash(self.sha256) == named.chain;
        let (client, form) = candidates.iter().find(is_it).ok_or(MissReason::UnknownTicket)?;
        let (expires_at, seconds) = (form.expires_at(), unix.as_secs());
        let mut store = self.peers.store.lock();
        let candidate = (*client, form);
        let peer = store.use_candidate(candidate, expires_at, under, seconds, may_offer)?;
        store.metrics.found_by_fleet_ticket += 1;
        // Its place is after the others.
        Ok(ClientMatch { id: named.id, place: TICKETS, peer })
    }

    pub(crate) fn has_fleet_tickets(&self) -> bool {
        self.peers.sealer.is_some()
    }

    /// Seals a fleet ticket for this chain at this server; `None` if fleet tickets are off.
    pub(crate) fn seal(
        &self,
        chain: (ChainHash, Tail),
        under: AcceptanceConditions,
        unix: Duration,
    ) -> Option<FleetTicket> {
        self.peers.sealer.as_ref()?.seal(chain, under.server, unix)
    }

    /// Returns the server and policy under which this client would be accepted.
    pub(crate) fn under(&self, from: &ClientInfo<'_>) -> AcceptanceConditions {
        let name = from.server_name.unwrap_or_default();
        // As most clients send it: without an allocation.
        let is_lower = !name.bytes().any(|byte| byte.is_ascii_uppercase());
        let name = if is_lower { Cow::from(name) } else { name.to_ascii_lowercase().into() };
        let server: ServerName = first(self.sha256.hash(name.as_bytes()).as_ref());
        AcceptanceConditions { server, policy: from.policy }
    }

    /// Returns an identity in the form to be remembered.
    pub(crate) fn identity(&self, identity: Option<&PeerIdentity>) -> u32 {
        self.peers.store.lock().identity(identity.map_or(&[], |it| &it.blob))
    }

    /// Returns the share of the cache for clients like this one.
    pub(crate) fn share_of(&self, peer: &PeerCertificate) -> u32 {
        self.peers.store.lock().share_of(peer.chain().next().unwrap_or_default())
    }

    pub(crate) fn learn(&self, peer: &ClientEntry, tickets: &[Ticket], presented: bool) {
        let mut store = self.peers.store.lock();
        // The share may have passed to another authority since the handshake began.
        let share = match &peer.form {
            Form::Whole(chain) => store.share_of(&chain.leaf),
            Form::Known(_) => peer.share,
        };
        store.learn(&ClientEntry { share, ..peer.clone() }, tickets, presented);
    }

    /// Removes a client, with its tickets.
    pub(crate) fn forget(&self, client: &ClientEntry) {
        self.peers.store.lock().forget(client);
        self.peers.public.lock().retain(|it| !it.is_of(client));
    }

    /// Returns the clients that don't take part otherwise, and were accepted under this.
    pub(crate) fn public(&self, under: AcceptanceConditions) -> Vec<PublicClient> {
        self.peers.public.lock().iter().filter(|it| it.peer.under == under).cloned().collect()
    }

    /// Notes that the public id of the client with this chain was answered with another hash.
    pub(crate) fn dispute_public(&self, hash: &ChainHash) {
        self.peers.public.lock().dispute(hash);
    }

    pub(crate) fn learn_public(&self, hash: ChainHash, peer: ClientEntry) {
        self.peers.public.lock().learn(hash, peer);
    }

    pub(crate) fn count(&self, count: impl FnOnce(&mut Metrics)) {
        count(&mut self.peers.store.lock().metrics);
    }
}
