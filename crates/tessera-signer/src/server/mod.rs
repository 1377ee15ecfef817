//! The signer.

mod connection;
mod content;
mod keys;
mod logged;
mod metrics;

use std::sync::{Arc, PoisonError, RwLock};

use tessera::auth::PeerVerifier;
use tessera::handshake::{Checked, ClientAuthentication};
use tessera::resume::AcceptEarlyData;
use tessera::{Error, ServerConfig};
use tessera_proxy::admin::Metrics;
use tessera_tokio::{Acceptor, Limits, Server};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tracing::warn;

pub use self::keys::{HeldKey, Keys, Rate};

use self::logged::LoggedRefusals;
use self::metrics::SignerMetrics;
use crate::PROTOCOL;
use crate::wire::Refusal;

/// Answers the clients that its keys allow.
///
/// A client that is slow, silent or greedy costs others nothing; one that sends anything else than requests is disconnected.
/// Each refusal is counted, and logged once for a client and a reason.
pub struct SignerServer {
    service: Arc<Service>,
    limits: Limits,
}

/// What the connections of a server share.
struct Service {
    keys: RwLock<Arc<Keys>>,
    /// Slow signatures, in progress on threads of their own.
    in_progress: Arc<Semaphore>,
    metrics: SignerMetrics,
    logged: LoggedRefusals,
}

/// Makes a configuration for the acceptor of a [`SignerServer`]: it accepts only the signer's protocol and no early data, and
/// requires a certificate that `clients` accepts. [`Keys`] then know a client by the names that a `WebPkiVerifier` identifies.
///
/// # Errors
/// As of [`ServerConfig::checked`].
pub fn server_config(
    mut config: ServerConfig,
    clients: Arc<dyn PeerVerifier>,
) -> Result<Checked<ServerConfig>, Error> {
    config.protocols = vec![PROTOCOL.to_vec()];
    config.policy.early_data = AcceptEarlyData::default();
    config.client_authentication = ClientAuthentication::Required(clients);
    config.chooser = None;
    config.checked()
}

impl SignerServer {
    /// Creates a signer with these keys. `limits` are those on connections; `in_progress` is how many slow signatures (all but
    /// ECDSA on P-256 and Ed25519) may be in progress: further ones are refused as [`Refusal::Busy`].
    pub fn new(keys: Keys, limits: Limits, in_progress: usize, metrics: &Metrics) -> Self {
        let service = Service {
            keys: RwLock::new(Arc::new(keys)),
            in_progress: Arc::new(Semaphore::new(in_progress.min(Semaphore::MAX_PERMITS))),
            metrics: SignerMetrics::register(metrics),
            logged: LoggedRefusals::default(),
        };
        Self { service: Arc::new(service), limits }
    }

    /// Replaces the keys, also for open connections: the next request finds the new ones. Clients keep what they have left of a
    /// rate that is unchanged, for a key of the same name.
    pub fn replace(&self, mut keys: Keys) {
        let mut current = self.service.keys.write().unwrap_or_else(PoisonError::into_inner);
        keys.keep_rates_of(&current);
        *current = Arc::new(keys);
    }

    /// Serves until `end` is ready. The acceptor's configuration comes from [`server_config`]; with any other, no client has a
    /// name, and all are refused.
    pub async fn run(
        &self,
        listener: TcpListener,
        acceptor: Acceptor,
        end: impl Future<Output = ()>,
    ) {
        let server = Server::new(listener, acceptor, self.limits);
        server.run(end, |client| connection::serve(self.service.clone(), client)).await;
    }
}

impl Service {
    fn keys(&self) -> Arc<Keys> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts a refusal, and logs it once.
    fn refused(&self, client: &Client, key: &[u8], refusal: Refusal) {
        let key = String::from_utf8_lossy(key);
        // Clients can't create series.
        let known = if refusal == Refusal::UnknownKey { "" } else { &*key };
        self.metrics.refused(known, refusal);
        if self.logged.is_new(&client.identity, refusal) {
            let (names, key) = (client.identity.escape_ascii(), key.escape_debug());
            warn!(client = %names, %key, "a signature is refused, logged once: {refusal}");
        }
    }
}

/// A client, as its certificate identifies it.
struct Client {
    identity: Vec<u8>,
}
