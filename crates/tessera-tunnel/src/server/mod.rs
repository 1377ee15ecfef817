//! The server end of a tunnel: TLS in, a backend out.
//!
//! # Backend first
//! Before the key of a client's early data is taken, the backend's connection is there: it is dialled while the client
//! waits for the server's flight. Where that fails the key is taken and thrown away, and the client hears `burned`:
//! nobody executed its data, and nobody can any more. It sends it again on the same connection, for which the backend
//! is dialled once more. So a dead backend never costs a request its verdict.
//!
//! A flight that somebody replays has a backend dialled too, before it is known that its key is gone. That connection
//! carries nothing, and ends when the vault has answered. A client whose flight is not accepted has another one dialled
//! when its handshake is complete, which the replaying party can't do.
//!
//! # What was taken, and not done
//! When the key was taken, and the backend's connection breaks, nobody knows what the backend did. The client's
//! connection ends without an answer, and the receipt of its flight is `taken, not done`. It is so as well where the
//! backend had no byte yet: a tunnel never says `done`, and a key that was taken doesn't come back.
//!
//! # Reload
//! Certificates, peers and PSKs are loaded again, all or none; so are `forward` and what is sent to it. A connection
//! whose peer is not allowed any more ends: at once, or, where its backend reads nothing just then, when that ends.
//! Where the server listens, its limits and its stores stay until a restart.

mod accept;
mod answers;
mod backend;
mod carrier;
mod connection;
mod ended;
mod reload;

use std::future::Future;
use std::num::NonZeroU32;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tessera_kit::ProgramError;
use tessera_kit::live::Live;
use tessera_kit::state::StateFound;
use tessera_proxy::dial::{DialOptions, Dialler};
use tessera_proxy::drain::Drained;
use tessera_proxy::gate::{Gate, GateLimits};
use tessera_proxy::listen::{ListenOptions, Listener};
use tessera_proxy::logging::tracing;
use tessera_proxy::socket::Peer;
use tessera_proxy::stores::Stores;
use tessera_tokio::{Acceptor, Limits};
use tokio::sync::watch;

use crate::config::{ServerLimits, ServerSection, TrustedNetworks};
use crate::metrics::TunnelMetrics;
use crate::tls;

/// The server end of one tunnel. It can be cloned: all clones are one.
#[derive(Clone)]
pub struct ServerEnd {
    shared: Arc<Shared>,
}

/// What its connections have in common.
struct Shared {
    name: String,
    acceptor: Acceptor,
    live: Live<Acceptor>,
    stores: Stores,
    gate: Gate,
    metrics: Arc<TunnelMetrics>,
    settings: RwLock<Arc<Settings>>,
    /// Told of every reload.
    reloads: watch::Sender<()>,
}

/// What a reload may replace, besides the TLS configuration.
struct Settings {
    section: ServerSection,
    /// Whose connections begin with a PROXY header.
    trusted: TrustedNetworks,
    dialler: Dialler,
}

impl ServerEnd {
    /// Loads the files of the section of this name, and opens its stores. Tells what was found in its directory.
    ///
    /// # Errors
    /// If a file, directory or key can't be as it is.
    ///
    /// # Panics
    /// Outside of a tokio runtime, with a fleet.
    pub fn open(
        name: &str,
        section: ServerSection,
        metrics: Arc<TunnelMetrics>,
    ) -> Result<(Self, Option<StateFound>), ProgramError> {
        let (stores, found) = Stores::open(&section.stores(&format!("server.{name}")))?;
        if let Some(vault) = stores.vault_name() {
            tracing::info!(
                tunnel = name,
                role = "server",
                vault,
                "other sites know this vault by its name"
            );
        }
        let config = tls::server(name, &section, &stores).inspect_err(|_| stores.give_back())?;
        let acceptor = Acceptor::new(config);
        let gate = Gate::new(gate_limits(&section.limits));
        metrics.watch(&gate);
        let settings = Settings::new(section);
        let shared = Shared {
            name: name.to_owned(),
            live: Live::new(acceptor.clone()),
            acceptor,
            stores,
            gate,
            metrics,
            settings: RwLock::new(Arc::new(settings)),
            reloads: watch::Sender::new(()),
        };
        Ok((Self { shared: Arc::new(shared) }, found))
    }

    /// How its listener is made.
    #[must_use]
    pub fn listen_options(&self) -> ListenOptions {
        let mut options = ListenOptions::default();
        options.fast_open = self.shared.settings().section.tcp_fast_open;
        options
    }

    /// Serves until `end` is ready. Then nobody is accepted any more; connections have `drain` to end, and are cut
    /// afterwards. At last the stores are handed to the next process.
    ///
    /// # Errors
    /// If what survives the process could not be written: it is lost then.
    pub async fn run(
        &self,
        listener: Listener,
        end: impl Future<Output = ()>,
        drain: Duration,
    ) -> Result<Drained, ProgramError> {
        let shared = &self.shared;
        let drained = tokio::select! {
            drained = accept::serve(shared, listener, end, drain) => drained,
            never = shared.stores.keep_on(|trouble| shared.warn(trouble)) => match never {},
        };
        shared.stores.close().await?;
        Ok(drained)
    }

    /// What its stores hold.
    #[must_use]
    pub fn stores(&self) -> &Stores {
        &self.shared.stores
    }
}

impl Shared {
    /// Whether a peer's connection begins with a PROXY header.
    fn requires_header(&self, peer: Peer) -> bool {
        let address = match peer {
            Peer::Tcp(address) => Some(address.ip()),
            Peer::Local => None,
        };
        self.settings().trusted.requires_header(address)
    }

    fn warn(&self, trouble: &str) {
        tracing::warn!(tunnel = self.name, role = "server", "{trouble}");
    }

    fn settings(&self) -> Arc<Settings> {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Settings {
    fn new(section: ServerSection) -> Self {
        let mut options = DialOptions::default();
        options.deadline = section.limits.connect;
        let dialler = Dialler::new(section.forward.clone(), options);
        let trusted = TrustedNetworks::new(section.accept_proxy_from.iter().copied());
        Self { section, trusted, dialler }
    }
}

fn gate_limits(limits: &ServerLimits) -> GateLimits {
    let mut places = Limits::for_connections(limits.connections);
    if let Some(count) = limits.connections_per_address {
        places.connections_per_address = count;
    }
    if let Some(count) = limits.handshakes {
        places.handshakes = count;
    }
    if let Some(count) = limits.handshakes_per_address {
        places.handshakes_per_address = count;
    }
    places.idle = limits.idle;
    places.write = limits.write;
    let rate = limits.new_per_second_per_address.and_then(NonZeroU32::new);
    GateLimits { places, new_per_second_per_address: rate }
}
