//! A live orchestrator.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use http::Request;
use tessera_bindings::{BindingTable, Bindings};
use tessera_kit::ProgramError;
use tessera_kit::clock::unix;
use tessera_proxy::admin::Metrics;
use tessera_proxy::drain::{accept_until, drain};
use tessera_proxy::gate::{AdmittedClient, Gate, GateLimits};
use tessera_proxy::http::body::{Body, BodyLimits};
use tessera_proxy::http::server::{AcceptedConnection, ServerOptions, serve};
use tessera_proxy::listen::{InheritedSockets, ListenOptions, Listener};
use tessera_proxy::logging::tracing;
use tessera_store::Store;
use tessera_tokio::{Acceptor, Limits, Origin};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::api::{Api, MOST_BYTES, Operators, of_server};
use crate::config::{ApiSection, Configuration};
use crate::load;
use crate::metrics::MoveMetrics;
use crate::moves::{Drainer, Mover, take_due_steps};

/// An orchestrator. Dropped, it ends at once: what it began is in the store, and goes on.
pub struct Orchestrator {
    addresses: Vec<SocketAddr>,
    shared: Arc<Shared>,
    /// Steps that are due, drains, and what is counted.
    _tasks: JoinSet<()>,
    listener: std::sync::Mutex<Option<JoinHandle<()>>>,
    cut: tokio::task::AbortHandle,
}

/// What all connections share.
struct Shared {
    api: Api,
    acceptor: Acceptor,
    operators: std::sync::RwLock<Operators>,
    options: Arc<ServerOptions>,
    gate: Gate,
    table: BindingTable,
    ending: watch::Sender<bool>,
    drain: Duration,
}

impl Orchestrator {
    /// Starts with the store that the configuration names, whether or not it can be reached. Blocks for a moment while it reads
    /// files.
    ///
    /// # Errors
    /// If the configuration has a contradiction, a file is invalid, or the address is unavailable.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(
        configuration: &Configuration,
        inherited: &mut InheritedSockets,
        metrics: &Metrics,
    ) -> Result<Self, ProgramError> {
        configuration.check()?;
        let store = load::store(&configuration.pool)?;
        Self::start_on(store, configuration, inherited, metrics)
    }

    /// Starts with a store that is open, in place of the configuration's: a process can share it with proxies.
    ///
    /// # Errors
    /// If a file is invalid, or the address is unavailable.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start_on(
        store: Arc<dyn Store>,
        configuration: &Configuration,
        inherited: &mut InheritedSockets,
        metrics: &Metrics,
    ) -> Result<Self, ProgramError> {
        let section = &configuration.api;
        let acceptor = Acceptor::new(load::api(section)?);
        let listener = Listener::bind(&section.listen, ListenOptions::default(), inherited)?;
        let addresses = listener.local_addrs();
        let addresses = addresses.map_err(|error| ProgramError::failed("[api] listen", error))?;

        let times = configuration.pool.times();
        let bindings = Bindings::new(store, &configuration.pool.prefix(), times, unix);
        let table = bindings.table();
        let bindings = bindings.with_table(&table);
        let move_metrics = Arc::new(MoveMetrics::register(metrics));
        let mover = Arc::new(Mover::new(configuration, bindings, table.clone(), move_metrics));
        let mut tasks = JoinSet::new();
        tasks.spawn(mover.tracker.clone().run(table.clone()));
        tasks.spawn(take_due_steps(mover.clone()));
        tasks.spawn(table.clone().log_differing_settings(mover.settings.clone()));
        tasks.spawn(Drainer::new(mover.clone(), &configuration.moves).run());

        let mut places = Limits::for_connections(section.connections);
        // Its callers are few, and often at one address: but that must not lock the others out.
        places.connections_per_address = section.connections.div_ceil(2);
        let limits = GateLimits { places, new_per_second_per_address: None };
        let options = ServerOptions {
            body: BodyLimits { max_len: MOST_BYTES as u64, idle: Duration::from_secs(10) },
            streams: STREAMS,
            stream_window: MOST_BYTES as u32,
            request_time: Mover::longest(&times),
            idle_time: IDLE,
            drain_time: configuration.process.drain,
            // A caller that is gone must not keep its place in the queue.
            half_close: false,
            refusal: Arc::new(of_server),
            ..ServerOptions::default()
        };
        let shared = Arc::new(Shared {
            api: Api::new(mover),
            acceptor,
            operators: std::sync::RwLock::new(Operators::new(section.operators.as_deref())),
            options: Arc::new(options),
            gate: Gate::new(limits),
            table,
            ending: watch::Sender::new(false),
            drain: configuration.process.drain,
        });
        let listening = tokio::spawn(listen(shared.clone(), listener));
        let cut = listening.abort_handle();
        let listener = std::sync::Mutex::new(Some(listening));
        Ok(Self { addresses, shared, _tasks: tasks, listener, cut })
    }

    /// Returns the TCP addresses at which it listens, with the actual port if 0 was requested.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns the table of bindings that it follows.
    #[must_use]
    pub fn table(&self) -> &BindingTable {
        &self.shared.table
    }

    /// Reads the API's certificates and names again. Connections that are open stay.
    ///
    /// # Errors
    /// If a file is invalid: all stays as it was.
    pub fn reload(&self, section: &ApiSection) -> Result<(), ProgramError> {
        let config = load::api(section)?;
        self.shared.acceptor.replace(config);
        let operators = Operators::new(section.operators.as_deref());
        *self.shared.operators.write().unwrap_or_else(PoisonError::into_inner) = operators;
        Ok(())
    }

    /// Stops accepting, lets open requests end within `[process] drain`, and cuts the rest.
    pub async fn end(&self) {
        self.shared.ending.send_replace(true);
        let listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(listener) = listener {
            let _ = listener.await;
        }
    }
}

impl Drop for Orchestrator {
    fn drop(&mut self) {
        self.cut.abort();
    }
}

/// The requests that an HTTP/2 connection may have open at once.
const STREAMS: u32 = 256;

/// How long a connection without a request stays open.
const IDLE: Duration = Duration::from_secs(60);

async fn listen(shared: Arc<Shared>, listener: Listener) {
    let mut ending = shared.ending.subscribe();
    let end = async move { drop(ending.wait_for(|ending| *ending).await) };
    let handle = |admitted| connection(shared.clone(), admitted);
    let mut open = accept_until(end, listener, &shared.gate, Origin::from, handle).await;
    drain(&mut open, shared.drain).await;
}

async fn connection(shared: Arc<Shared>, admitted: AdmittedClient) {
    let AdmittedClient { socket, handshake, peer, .. } = admitted;
    let stream = match shared.acceptor.accept(socket).await {
        Ok(stream) => stream,
        Err(error) => {
            // Anyone may fail as often as they like.
            tracing::debug!(?peer, "a connection to the API was refused: {error}");
            return;
        }
    };
    drop(handshake);
    let identity = stream.facts().peer.clone();
    let service = async |request: Request<Body>| {
        // As of now: it may have been taken from the list.
        let operators = shared.operators.read().unwrap_or_else(PoisonError::into_inner).clone();
        shared.api.answer(&operators.caller(identity.as_ref()), request).await
    };
    let mut ending = shared.ending.subscribe();
    let asked = async move { drop(ending.wait_for(|ending| *ending).await) };
    let accepted = AcceptedConnection::tls(stream);
    let ended = Box::pin(serve(accepted, shared.options.clone(), service, asked)).await;
    tracing::debug!(?peer, "a connection to the API ended: {}", ended.cause);
}
