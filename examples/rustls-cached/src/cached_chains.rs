//! The cache: the known chains, and their codecs for rustls.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::compress::{CertCompressor, CertDecompressor};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection};

use crate::chain::Chain;
use crate::codecs::{Decoder, Decoders, encoder};

/// The chains that peers have sent to this process, as a client, as a server or both.
///
/// Cached chains are not trusted: the verifier of the configuration checks a chain each time, whole or not.
pub struct CachedChains {
    servers: Mutex<HashMap<Destination, Peers>>,
    clients: Mutex<Peers>,
    restored: Arc<AtomicUsize>,
}

/// The server that a client connects to. What it learns at one destination it offers at no other, so that no server can
/// probe which others it knows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Destination {
    server_name: String,
    port: u16,
    protocols: Vec<Vec<u8>>,
}

impl Destination {
    /// Returns the destination of a connection with this configuration.
    pub fn new(server_name: &str, port: u16, config: &ClientConfig) -> Self {
        let protocols = config.alpn_protocols.clone();
        Self { server_name: server_name.into(), port, protocols }
    }
}

/// How many destinations a client remembers. This bounds the memory that is leaked to rustls.
const DESTINATIONS: usize = 1_000;

/// How many chains of a destination a client offers: it may be several servers, or change its chain.
const OF_A_SERVER: usize = 4;

/// How many chains of clients a server offers: as many ids as the extension has room for, minus one for an algorithm
/// that compresses (RFC 8879 §3: a list of at most 254 bytes).
const OF_CLIENTS: usize = 126;

impl CachedChains {
    /// Knows no chain yet.
    pub fn new() -> Self {
        let restored = Arc::default();
        let clients = Mutex::new(Peers::new(OF_CLIENTS, &restored));
        Self { servers: Mutex::default(), clients, restored }
    }

    /// Returns a client's configuration for its next connection to a destination: it offers the chains known from
    /// there, and abbreviates its own.
    pub fn client_config(
        &self,
        config: &ClientConfig,
        to: &Destination,
        own: &[CertificateDer<'_>],
    ) -> ClientConfig {
        let mut known = lock(&self.servers).get(to).map(Peers::decoders).unwrap_or_default();
        // One change of chain in 16,384 is to a chain with the id of an old one: then nothing is offered until a
        // handshake is complete.
        if known.iter().any(|decoder| decoder.is_disputed()) {
            known.clear();
        }
        let mut config = config.clone();
        config.cert_decompressors.splice(0..0, decompressors(known));
        config.cert_compressors.splice(0..0, compressor(own));
        config
    }

    /// Returns a server's configuration for its next connections: it offers the chains of the most recent clients, and
    /// abbreviates its own. A server calls this again when it has learned something, or when a handshake failed.
    pub fn server_config(&self, config: &ServerConfig, own: &[CertificateDer<'_>]) -> ServerConfig {
        let mut known = lock(&self.clients).decoders();
        // With this many ids, two clients share one now and then. The client's handshake fails once; the next one is
        // not offered that id, and the client is learned.
        known.retain(|decoder| !decoder.is_disputed());
        let mut config = config.clone();
        config.cert_decompressors.splice(0..0, decompressors(known));
        config.cert_compressors.splice(0..0, compressor(own));
        config
    }

    /// Learns the chain of the server at the other end. Before the end of the handshake nothing is learned: the peer
    /// has not proved yet that the chain is its own.
    pub fn learn_server(&self, to: &Destination, connection: &ClientConnection) {
        let certificates = connection.peer_certificates().filter(|_| !connection.is_handshaking());
        let mut servers = lock(&self.servers);
        if let Some(chain) = certificates.and_then(chain)
            && (servers.len() < DESTINATIONS || servers.contains_key(to))
        {
            let new = || Peers::new(OF_A_SERVER, &self.restored);
            let peers = servers.entry(to.clone()).or_insert_with(new);
            peers.learn(chain);
            peers.decoders().iter().for_each(|decoder| decoder.settle());
        }
    }

    /// Learns the chain of the client at the other end.
    pub fn learn_client(&self, connection: &ServerConnection) {
        let certificates = connection.peer_certificates().filter(|_| !connection.is_handshaking());
        if let Some(chain) = certificates.and_then(chain) {
            lock(&self.clients).learn(chain).settle();
        }
    }

    /// Returns how many chains of peers were restored from their hash.
    pub fn restored(&self) -> usize {
        self.restored.load(Ordering::Relaxed)
    }
}

impl Default for CachedChains {
    fn default() -> Self {
        Self::new()
    }
}

/// The peers of one place: a destination's servers, or a server's clients.
struct Peers {
    /// How many chains are offered.
    offered: usize,
    /// The most recent chain is first. Twice as many are kept as are offered, since handshakes with an older offer are
    /// still in progress.
    chains: VecDeque<Arc<Chain>>,
    decoders: Decoders,
}

impl Peers {
    fn new(offered: usize, restored: &Arc<AtomicUsize>) -> Self {
        Self { offered, chains: VecDeque::new(), decoders: Decoders::new(restored.clone()) }
    }

    /// Returns those for the newest chains, each once: two chains may share an id, and are distinguished by their
    /// hashes.
    fn decoders(&self) -> Vec<&'static Decoder> {
        let newest = self.chains.iter().take(self.offered);
        let mut ids: Vec<_> = newest.map(|chain| chain.id()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.into_iter().filter_map(|id| self.decoders.get(id)).collect()
    }

    /// Adds a chain, replacing any other with its end entity: otherwise a peer with one certificate could fill the
    /// cache with chains that differ in what follows it.
    fn learn(&mut self, chain: Chain) -> &'static Decoder {
        let known = self.chains.iter().position(|it| it.end_entity() == chain.end_entity());
        let known = known.and_then(|place| self.chains.remove(place));
        let chain = match known {
            Some(known) if *known == chain => known,
            other => {
                other.iter().for_each(|other| self.decoders.remove(other));
                let chain = Arc::new(chain);
                self.decoders.insert(chain.clone());
                chain
            }
        };
        let decoder = self.decoders.of(chain.id());
        self.chains.push_front(chain);
        while self.chains.len() > 2 * self.offered {
            self.chains.pop_back().iter().for_each(|oldest| self.decoders.remove(oldest));
        }
        decoder
    }
}

fn chain(certificates: &[CertificateDer<'_>]) -> Option<Chain> {
    Chain::new(certificates.iter().map(|certificate| certificate.as_ref()))
}

fn decompressors(
    decoders: Vec<&'static Decoder>,
) -> impl Iterator<Item = &'static dyn CertDecompressor> {
    decoders.into_iter().map(|decoder| decoder as _)
}

/// Returns what abbreviates this chain; `None` for an empty one.
fn compressor(own: &[CertificateDer<'_>]) -> Option<&'static dyn CertCompressor> {
    chain(own).map(|chain| encoder(chain.id()))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a chain with this end entity.
    fn chain_of(end_entity: u32, issuer: &[u8]) -> Chain {
        Chain::new([&end_entity.to_be_bytes()[..], issuer]).unwrap()
    }

    fn offers(peers: &Peers, chain: &Chain) -> bool {
        let algorithm = rustls::CertificateCompressionAlgorithm::Unknown(chain.id());
        peers.decoders().iter().any(|decoder| decoder.algorithm() == algorithm)
    }

    #[test]
    fn a_server_offers_its_newest_clients_and_no_more_than_fit() {
        let mut peers = Peers::new(OF_CLIENTS, &Arc::default());
        for client in 0..1_000 {
            peers.learn(chain_of(client, b"issuer"));
        }
        assert!((120..=OF_CLIENTS).contains(&peers.decoders().len()));
        assert!(offers(&peers, &chain_of(999, b"issuer")));
        assert_eq!(peers.chains.len(), 2 * OF_CLIENTS);
    }

    #[test]
    fn a_client_that_comes_back_is_not_the_next_to_be_forgotten() {
        let mut peers = Peers::new(4, &Arc::default());
        let often = chain_of(7, b"issuer");
        for client in 100..200 {
            peers.learn(chain_of(7, b"issuer"));
            peers.learn(chain_of(client, b"issuer"));
        }
        assert!(offers(&peers, &often));
    }

    #[test]
    fn one_certificate_with_many_chains_takes_one_place() {
        let mut peers = Peers::new(OF_CLIENTS, &Arc::default());
        peers.learn(chain_of(1, b"issuer"));
        for junk in 0..1_000_u32 {
            peers.learn(chain_of(2, &junk.to_be_bytes()));
        }
        assert_eq!(peers.chains.len(), 2);
        assert!(offers(&peers, &chain_of(1, b"issuer")));
    }
}
