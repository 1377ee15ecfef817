//! A client's cache of servers.

mod destination;
mod shared;
mod tickets;
mod written;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use tessera::auth::VerifierDigest;
use tessera::crypto::{Provider, Random};

pub(crate) use self::destination::{CHAINS, Destination, Key, ServerChain};
use self::tickets::OwnTickets;
pub(crate) use self::tickets::{HelloTickets, OwnFleetTicket, OwnTicket};
use crate::bytes::Shared;
use crate::cache::Cache;
use crate::chain_hash::ChainHash;
use crate::error::ProviderError;
use crate::ids::{TICKETS, Ticket};
use crate::lock::Lock;
use crate::metrics::Metrics;
use crate::wire::FleetTicket;

/// The certificates of servers that a client has connected to, and its tickets for them: the
/// [`CertificateCodecFactory`](tessera::auth::CertificateCodecFactory) of clients.
///
/// All connections of a program share one, unless they have different credentials: use a separate cache for
/// each identity that must not be linked to others. It remembers the results of complete handshakes with
/// servers that the verifier accepted, separately for each server name, port, list of offered protocols and
/// policy of the verifier. The least recently used servers are evicted, and what there is no memory for isn't remembered.
///
/// ```
/// use std::sync::Arc;
/// use tessera_cache::ClientCache;
///
/// # fn configure(config: &mut tessera::ClientConfig) -> Result<(), tessera_cache::ProviderError> {
/// config.certificate_codecs.insert(0, Arc::new(ClientCache::new(&config.provider)?));
/// # Ok(())
/// # }
/// ```
pub type ClientCache = Cache<Servers>;

/// A client's entries for servers.
pub struct Servers {
    random: &'static dyn Random,
    limits: ClientLimits,
    state: Lock<State>,
}

/// The capacity of a client's cache.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ClientLimits {
    /// Maximum number of servers. Default: 256.
    pub servers: usize,
    /// Maximum bytes in all, roughly. Default: 4 MiB.
    pub bytes: usize,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self { servers: 256, bytes: 4 << 20 }
    }
}

#[derive(Default)]
struct State {
    destinations: BTreeMap<Key, Destination>,
    /// The same, the least recently used first.
    by_use: BTreeMap<u64, Key>,
    last_use: u64,
    bytes: usize,
    metrics: Metrics,
}

/// What a client learned from a complete handshake.
pub(crate) struct HandshakeOutcome {
    /// The server's chain, unless a PSK was used.
    pub(crate) shown: Option<ServerChain>,
    /// Whether the server takes part.
    pub(crate) answers: bool,
    /// New tickets, and the chain that they stand for.
    pub(crate) tickets: Option<(ChainHash, [Option<Ticket>; TICKETS])>,
    /// The body of the server's CertificateRequest, if it was sent in full and may be cached.
    pub(crate) request: Option<Shared>,
}

impl ClientCache {
    /// Makes an empty cache.
    ///
    /// # Errors
    /// Returns an error if the provider has no SHA-256.
    pub fn new(provider: &Provider) -> Result<Self, ProviderError> {
        let (limits, state) = (ClientLimits::default(), Lock::new(State::default()));
        Self::of(provider, Servers { random: provider.random, limits, state })
    }

    /// Sets the capacity.
    pub fn with_limits(mut self, limits: ClientLimits) -> Self {
        self.peers.limits = limits;
        self
    }

    /// Returns what it has done so far.
    pub fn metrics(&self) -> Metrics {
        let state = self.peers.state.lock();
        let (entries, bytes) = (state.destinations.len() as u64, state.bytes as u64);
        Metrics { entries, bytes, ..state.metrics }
    }

    /// Forgets every server that was accepted under a policy other than these: for removed trust anchors or
    /// names. Chains accepted under another policy are not offered in any case.
    pub fn retain_policies(&self, policies: &[VerifierDigest]) {
        self.peers.state.lock().retain(|key| policies.iter().any(|it| Some(it.0) == key.policy));
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.peers.state.lock().retain(|_| false);
    }

    /// Fills `bytes` with random numbers; `None` if there are none.
    pub(crate) fn random(&self, bytes: &mut [u8]) -> Option<()> {
        self.peers.random.fill(bytes).ok()
    }

    /// Returns what is known of a server, and its next tickets, which are removed.
    pub(crate) fn visit(&self, key: &Key) -> (Destination, HelloTickets) {
        self.peers.state.lock().visit(key)
    }

    /// Notes that a connection failed after the server's chain was sent as a hash. The two ends may disagree
    /// about the meaning of an id, so the next connection offers nothing.
    pub(crate) fn failed(&self, key: &Key) {
        if let Some(destination) = self.peers.state.lock().destinations.get_mut(key) {
            (destination.failed, destination.changed) = (true, true);
        }
    }

    /// Notes that a server refused this side's chain, which was sent as a hash. The server conceals the
    /// reason if that could reveal the tickets' owner to a stranger; so the next connection offers nothing,
    /// sends the full chain, and gets the reason. Other tickets would only be refused alike.
    pub(crate) fn refused(&self, key: &Key) {
        self.change(key, |destination| {
            (destination.failed, destination.changed) = (true, true);
            destination.tickets = OwnTickets::default();
        });
    }

    /// Adds a server's fleet ticket for this chain of this side's.
    pub(crate) fn learn_fleet_ticket(&self, key: &Key, chain: ChainHash, ticket: FleetTicket) {
        self.change(key, |destination| destination.tickets.add_fleet(chain, ticket));
    }

    /// Changes what is known of a server, if anything is.
    fn change(&self, key: &Key, change: impl FnOnce(&mut Destination)) {
        let mut state = self.peers.state.lock();
        let Some((key, mut destination)) = state.remove(key) else { return };
        change(&mut destination);
        state.put(key, destination, self.peers.limits);
    }

    pub(crate) fn learn(&self, key: Key, learned: HandshakeOutcome) {
        self.peers.state.lock().learn(key, learned, self.peers.limits);
    }

    pub(crate) fn count(&self, count: impl FnOnce(&mut Metrics)) {
        count(&mut self.peers.state.lock().metrics);
    }
}

impl State {
    fn visit(&mut self, key: &Key) -> (Destination, HelloTickets) {
        let Some(found) = self.destinations.get_mut(key) else { return Default::default() };
        if found.failed {
            return Default::default();
        }
        let before = found.cost(key);
        let tickets = found.tickets.take();
        self.bytes = self.bytes.saturating_sub(before) + found.cost(key);
        // Without memory for the list, none is offered.
        let mut chains = Vec::new();
        if chains.try_reserve_exact(found.chains.len()).is_ok() {
            chains.extend_from_slice(&found.chains);
        }
        let known = Destination {
            chains,
            answers: found.answers,
            request: found.request.clone(),
            ..Destination::default()
        };
        (known, tickets)
    }

    fn learn(&mut self, key: Key, learned: HandshakeOutcome, limits: ClientLimits) {
        self.metrics.learned += 1;
        let (key, mut destination) =
            self.remove(&key).unwrap_or_else(|| (key, Destination::default()));
        if let Some(shown) = learned.shown {
            destination.learn(shown);
        }
        (destination.answers, destination.failed) = (learned.answers, false);
        destination.changed = true;
        if learned.request.is_some() {
            destination.request = learned.request;
        }
        if let Some((chain, tickets)) = learned.tickets {
            destination.tickets.add(chain, tickets);
        }
        self.put(key, destination, limits);
    }

    /// Adds a destination as the most recently used one.
    fn put(&mut self, key: Key, mut destination: Destination, limits: ClientLimits) {
        // An import may contain one twice.
        self.remove(&key);
        let cost = destination.cost(&key);
        if cost > limits.bytes || limits.servers == 0 || destination.chains.is_empty() {
            return;
        }
        while self.destinations.len() >= limits.servers || self.bytes + cost > limits.bytes {
            let oldest = self.by_use.first_key_value().map(|(_, key)| key.clone());
            let Some(oldest) = oldest else { break };
            self.remove(&oldest);
            self.metrics.evicted += 1;
        }
        self.last_use += 1;
        destination.used = self.last_use;
        self.bytes += cost;
        self.by_use.insert(self.last_use, key.clone());
        self.destinations.insert(key, destination);
    }

    fn remove(&mut self, key: &Key) -> Option<(Key, Destination)> {
        let (key, destination) = self.destinations.remove_entry(key)?;
        self.by_use.remove(&destination.used);
        self.bytes = self.bytes.saturating_sub(destination.cost(&key));
        Some((key, destination))
    }

    fn retain(&mut self, keep: impl Fn(&Key) -> bool) {
        let gone: Vec<_> = self.destinations.keys().filter(|key| !keep(key)).cloned().collect();
        gone.iter().for_each(|key| drop(self.remove(key)));
    }
}
