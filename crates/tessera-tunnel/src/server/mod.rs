//! The server end of a tunnel: TLS in, a backend out.
//!
//! # Backend first
//! The server end connects to the backend before it takes the key of a client's early data: it dials while the client
//! waits for the server's flight. If that fails, it takes the key and discards it, and answers `burned`: the data was
//! not executed and can't be any more. The client sends it again on the same connection, for which the server end dials
//! once more. So a dead backend never costs a request its verdict.
//!
//! A replayed flight makes the server end dial too, before the vault has answered that its key is gone. That connection
//! carries nothing, and is closed at the vault's answer. For a client whose flight is not accepted, the server end
//! dials again when the handshake is complete, which an attacker who replays a flight can't achieve.
//!
//! # Taken, not done
//! If the backend's connection breaks after the key was taken, it is unknown what the backend did. The client's
//! connection ends without an answer, and the receipt of its flight is `taken, not done`. This holds even if the
//! backend received no byte: a tunnel never reports `done`, and a taken key can't be restored.
//!
//! # Reload
//! A reload replaces certificates, peers and PSKs, all or none, as well as `forward` and what is sent to it. It ends
//! connections whose peer is no longer allowed: at once, or, while the backend isn't reading, as soon as that is over.
//! The listening address, limits and stores stay until a restart.

mod answers;
mod backend;
mod carrier;
mod connection;
mod ended;
mod reload;

use std::future::Future;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tessera_kit::ProgramError;
use tessera_kit::live::LiveTarget;
use tessera_kit::state::StateContents;
use tessera_proxy::dial::{DialOptions, Dialler};
use tessera_proxy::drain::{DrainSummary, accept_until, drain};
use tessera_proxy::gate::Gate;
use tessera_proxy::listen::{ListenOptions, Listener};
use tessera_proxy::logging::tracing;
use tessera_proxy::socket::Peer;
use tessera_proxy::stores::Stores;
use tessera_tokio::{Acceptor, Origin};
use tokio::sync::watch;

use self::connection::Connection;
use crate::config::{ServerSection, TrustedNetworks};
use crate::metrics::TunnelMetrics;
use crate::tls;

/// The server end of one tunnel. Clones share the same state.
#[derive(Clone)]
pub struct ServerEnd {
    shared: Arc<Shared>,
}

/// The state that its connections share.
struct Shared {
    name: String,
    acceptor: Acceptor,
    live: LiveTarget<Acceptor>,
    stores: Stores,
    gate: Gate,
    metrics: Arc<TunnelMetrics>,
    settings: RwLock<Arc<Settings>>,
    /// Notified of every reload.
    reloads: watch::Sender<()>,
}

/// What a reload may replace, besides the TLS configuration.
struct Settings {
    section: ServerSection,
    /// Networks whose connections begin with a PROXY header.
    trusted: TrustedNetworks,
    dialler: Dialler,
}

impl ServerEnd {
    /// Loads the files of the section of this name, opens its stores, and returns what its state directory held.
    ///
    /// # Errors
    /// If a file, directory or key is invalid.
    ///
    /// # Panics
    /// Outside of a tokio runtime, with a fleet.
    pub fn open(
        name: &str,
        section: ServerSection,
        metrics: Arc<TunnelMetrics>,
    ) -> Result<(Self, Option<StateContents>), ProgramError> {
        let (stores, found) = Stores::open(&section.stores(&format!("server.{name}")))?;
        if let Some(vault) = stores.vault_name() {
            tracing::info!(
                tunnel = name,
                role = "server",
                vault,
                "other sites know this vault by this name"
            );
        }
        let config = tls::server(name, &section, &stores).inspect_err(|_| stores.give_back())?;
        let acceptor = Acceptor::new(config);
        let gate = Gate::new(section.limits.gate().into());
        metrics.watch(&gate);
        let settings = Settings::new(section);
        let shared = Shared {
            name: name.to_owned(),
            live: LiveTarget::new(acceptor.clone()),
            acceptor,
            stores,
            gate,
            metrics,
            settings: RwLock::new(Arc::new(settings)),
            reloads: watch::Sender::new(()),
        };
        Ok((Self { shared: Arc::new(shared) }, found))
    }

    /// Returns the options of its listener.
    #[must_use]
    pub fn listen_options(&self) -> ListenOptions {
        let mut options = ListenOptions::default();
        options.fast_open = self.shared.settings().section.tcp_fast_open;
        options
    }

    /// Serves until `end` is ready. Then it accepts the connections that are already in the queue, stops listening,
    /// gives connections `limit` to end, and cuts the rest. At last it hands the stores to the next process.
    ///
    /// # Errors
    /// If persistent state could not be written: it is lost then.
    pub async fn run(
        &self,
        listener: Listener,
        end: impl Future<Output = ()>,
        limit: Duration,
    ) -> Result<DrainSummary, ProgramError> {
        let shared = &self.shared;
        let origin = |peer| match shared.requires_header(peer) {
            true => Origin::TRUSTED,
            false => Origin::from(peer),
        };
        let handle = |admitted| Connection::new(shared.clone(), admitted).run();
        let serve = async {
            let mut connections = accept_until(end, listener, &shared.gate, origin, handle).await;
            drain(&mut connections, limit).await
        };
        let drained = tokio::select! {
            drained = serve => drained,
            never = shared.stores.keep_on(|trouble| shared.warn(trouble)) => match never {},
        };
        shared.stores.close().await?;
        Ok(drained)
    }

    /// Returns its stores.
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
