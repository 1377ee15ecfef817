//! Both sides with caches of certificates (`tessera-cache`).

use std::sync::Arc;

use tessera::handshake::CertificateTransfer;
use tessera::{ClientConfig, Facts, ServerConfig};
use tessera_cache::{ClientCache, PublicIds, ServerCache};

/// The caches of a client and a server, with public ids: all peers here are other stacks.
pub struct Caches {
    /// For Tessera as the client.
    pub client: Arc<ClientCache>,
    /// For Tessera as the server.
    pub server: Arc<ServerCache>,
}

impl Caches {
    /// Empty ones.
    pub fn new() -> Self {
        Self::with(PublicIds::ObserversRecogniseChains)
    }

    /// Creates empty ones, with or without public ids.
    pub fn with(public_ids: PublicIds) -> Self {
        let provider = tessera_aws_lc::provider();
        let client = ClientCache::new(&provider).expect("the provider has SHA-256");
        let server = ServerCache::new(&provider).expect("the provider has SHA-256");
        Self {
            client: Arc::new(client.with_public_ids(public_ids)),
            server: Arc::new(server.with_public_ids(public_ids)),
        }
    }

    /// Adds the cache to a client's configuration, before its other codecs.
    pub fn client(&self, mut config: ClientConfig) -> ClientConfig {
        config.certificate_codecs.insert(0, self.client.clone());
        config
    }

    /// Adds the cache to a server's configuration, and disables tickets: each handshake is a full one.
    pub fn server(&self, mut config: ServerConfig) -> ServerConfig {
        config.certificate_codecs.insert(0, self.server.clone());
        config.tickets = None;
        config
    }
}

impl Default for Caches {
    fn default() -> Self {
        Self::new()
    }
}

/// How a certificate travelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// There was none.
    Absent,
    /// As it is.
    Whole,
    /// Compressed, with this algorithm.
    Compressed(u16),
    /// As the hash of a chain that the peer knows.
    Hash,
}

impl Form {
    fn of(transfer: Option<CertificateTransfer>) -> Self {
        const FIRST_PRIVATE: u16 = 0x4000;
        match transfer.map(|transfer| transfer.encoded_with) {
            None => Self::Absent,
            Some(None) => Self::Whole,
            Some(Some(algorithm)) if algorithm.0 < FIRST_PRIVATE => Self::Compressed(algorithm.0),
            Some(Some(_)) => Self::Hash,
        }
    }
}

/// Returns how Tessera's own certificate travelled, and the peer's.
pub fn forms(facts: &Facts) -> (Form, Form) {
    (Form::of(facts.own_certificate), Form::of(facts.peer_certificate))
}
