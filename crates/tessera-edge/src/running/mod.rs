//! A running proxy: its listeners, its periodic tasks, its reloads and its end.

mod listener;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use tessera_bindings::{Bindings, PoolSettings, ProxyEntry, ProxyName};
use tessera_kit::clock::unix;
use tessera_kit::live::LiveTarget;
use tessera_kit::{ProgramError, hex};
use tessera_proxy::admin::Condition;
use tessera_proxy::gate::Gate;
use tessera_proxy::http::client::Tls;
use tessera_proxy::listen::{ListenOptions, Listener, listen_private};
use tessera_proxy::logging::tracing;
use tessera_proxy::process::{RunningProduct, StartContext};
use tessera_proxy::stores::{PoolStores, Stores};
use tessera_store::Store;
use tessera_tokio::{Acceptor, Answers, Connector, MemorySessionStore};
use tessera_vault::WrappingPurpose;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::listener::{Audience, ListenerContext};
use crate::clients::Clients;
use crate::config::{self, LoadedEdge};
use crate::edge::{BINDING, Edge, GoneOwners, Settings, alt_svc};
use crate::envoy::AuthorizationService;
use crate::metrics::Metrics;
use crate::names::Naming;
use crate::peers::Peers;
use crate::places::Places;
use crate::signer::{self, ProxySigner};
use crate::troubles::Troubles;
use crate::{changes, load, tls, warnings};

/// A proxy that takes connections.
pub(crate) struct RunningEdge {
    edge: Arc<Edge>,
    file: PathBuf,
    configuration: Mutex<config::EdgeConfig>,
    for_clients: LiveTarget<Acceptor>,
    for_peers: LiveTarget<Acceptor>,
    to_peers: LiveTarget<Connector>,
    signer: Option<ProxySigner>,
    stores: Stores,
    addresses: Vec<(&'static str, std::net::SocketAddr)>,
    /// Of clients: connections of theirs, or Envoy's questions.
    for_clients_end: Ending,
    for_peers_end: Ending,
    tasks: Vec<JoinHandle<()>>,
    runtime: Handle,
}

/// A listener that can be ended.
struct Ending {
    begin: watch::Sender<bool>,
    listener: Mutex<Option<JoinHandle<()>>>,
}

/// How long this proxy stays live for the others after the store or the process was lost: so long its clients wait before
/// another takes them over.
const LEASE: Duration = Duration::from_secs(5);

impl RunningEdge {
    /// Loads all files, binds all listeners, and accepts connections: all of it or nothing.
    pub(crate) async fn start(
        file: &Path,
        loaded: LoadedEdge,
        store: Arc<dyn Store>,
        beginning: StartContext<'_>,
    ) -> Result<Self, ProgramError> {
        let started = Self::start_with(file, &loaded.edge, store, beginning).await;
        started.map_err(|error| loaded.locate(error))
    }

    async fn start_with(
        file: &Path,
        configuration: &config::EdgeConfig,
        store: Arc<dyn Store>,
        beginning: StartContext<'_>,
    ) -> Result<Self, ProgramError> {
        let (pool, proxy) = (&configuration.pool, &configuration.proxy);
        let leaf = tls::leaf(proxy)?;
        for warning in warnings::of(configuration)? {
            tracing::warn!("{warning}");
        }
        let stores = match &configuration.ext_authz {
            // Envoy's keys are those of `tessera stek`.
            Some(_) => Stores::in_memory(),
            None => Stores::open_pool(PoolStores {
                section: "proxy",
                store: store.clone(),
                prefix: pool.prefix().to_owned(),
                key: &pool.key,
                sites: proxy.one_time_keys.as_ref(),
                envoys: tls::envoys(configuration, &leaf),
            })?,
        };
        let services = load::services(configuration)?;
        let acceptor = Acceptor::new(tls::for_clients(configuration, &stores)?);
        let signer = ProxySigner::open(proxy, stores.answers.clone())?;
        let answers = signer.as_ref().map(|signer| signer.remote.clone() as Arc<dyn Answers>);
        let for_clients = match answers.or_else(|| stores.answers.clone()) {
            Some(answers) => acceptor.with_answers(answers),
            None => acceptor,
        };
        let (peers_server, peers_client) = tls::for_peers(&configuration.peers)?;
        let for_peers = Acceptor::new(peers_server);
        let sessions = Arc::new(MemorySessionStore::default());
        let connector = Connector::new(peers_client).with_sessions(sessions);
        let entry = ProxyEntry {
            authority: proxy.announce.clone(),
            forward: configuration.peers.address.clone(),
            resumption: tls::resumption(configuration)?,
            site: proxy.site.clone(),
            life: hex::encode(&random()?),
            vault: stores.moving().and_then(|_| stores.vault_name()),
            settings: load::pool_settings(configuration)?,
        };
        let bind = |address, inherited: &mut _| {
            Listener::bind(address, ListenOptions::default(), inherited)
        };
        let clients = proxy.listen.as_ref().map(|listen| bind(listen, beginning.inherited));
        let clients = clients.transpose()?;
        let envoy = configuration.ext_authz.as_ref().map(|envoy| listen_private(&envoy.socket));
        let envoy = envoy.transpose()?;
        let peers = bind(&configuration.peers.listen, beginning.inherited)?;

        let metrics = Metrics::register(beginning.metrics);
        let own = ProxyName(proxy.name.clone());
        let bindings = Bindings::new(store, &format!("{}edge/", pool.prefix()), pool.times(), unix);
        let joined = bindings.join(&own, entry.clone(), LEASE);
        let lease =
            joined.map_err(|error| ProgramError::settings(format!("[proxy] name: {error}")))?;
        let table = bindings.table();
        let edge = Arc::new(Edge {
            own,
            own_alt_svc: alt_svc(&entry.authority, pool.ma),
            entry,
            bindings: bindings.with_table(&table),
            table,
            lease,
            clients: Clients::new(Instant::now()),
            gone: GoneOwners::default(),
            binding: Arc::new(Semaphore::new(BINDING)),
            newcomers: Places::new(configuration.clients.bound_per_address()),
            sockets: Places::new(configuration.limits.websockets_per_client),
            naming: Naming::new(
                &configuration.clients,
                load::pool_keys(&pool.key, WrappingPurpose::ClientCookie)?,
            ),
            peers: Peers::new(Arc::new(Tls::new(connector.clone()))),
            state_keys: load::pool_keys(&pool.key, WrappingPurpose::ClientState)?,
            vault: stores.moving(),
            services: RwLock::new(Arc::new(services)),
            settings: Settings {
                ma: pool.ma,
                answer: configuration.limits.answer,
                bound: configuration.clients.bound,
                idle: configuration.clients.idle,
            },
            metrics,
        });
        let bound = clients.iter().map(|it| ("clients", it)).chain([("peers", &peers)]);
        let addresses = bound.flat_map(|(name, it)| {
            // An unknown address is no reason not to listen.
            it.local_addrs().unwrap_or_default().into_iter().map(move |address| (name, address))
        });
        let addresses = addresses.collect();
        let changed = edge.table.changed_bindings();
        let tasks = vec![
            tokio::spawn(edge.clone().take_steps(changed)),
            tokio::spawn(take_periodic_steps(edge.clone())),
            tokio::spawn(show_lease(edge.clone(), beginning.health.condition("pool"))),
            tokio::spawn(keep_stores(stores.clone())),
            // Its own are in the table, too.
            tokio::spawn(edge.table.clone().log_differing_settings(PoolSettings::default())),
        ];
        let [clients_end, peers_end] = [(); 2].map(|()| watch::Sender::new(false));
        let (limits, drain) = (&configuration.limits, configuration.process.drain);
        let listen = |audience, acceptor: &Acceptor, listener, ending: &watch::Sender<bool>| {
            // What others have forwarded had `drain` before, with the requests of clients.
            let limit = if audience == Audience::Peers { drain.min(LEASE) } else { drain };
            let (gate, options) = match audience {
                Audience::Clients => (limits.gate(), listener::options(limits, drain)),
                Audience::Peers => {
                    (listener::peers_gate(limits), listener::peers_options(limits, drain))
                }
            };
            let context = ListenerContext {
                audience,
                acceptor: acceptor.clone(),
                gate: Gate::new(gate.into()),
                edge: edge.clone(),
                options: Arc::new(options),
                ending: ending.clone(),
                troubles: Arc::new(Troubles::new()),
            };
            tokio::spawn(context.run(listener, limit))
        };
        let peers = listen(Audience::Peers, &for_peers, peers, &peers_end);
        let clients = match (clients, envoy) {
            (Some(clients), _) => {
                Some(listen(Audience::Clients, &for_clients, clients, &clients_end))
            }
            (None, Some((listener, file))) => {
                let service =
                    AuthorizationService { edge: edge.clone(), ending: clients_end.clone() };
                Some(tokio::spawn(async move {
                    service.serve(listener).await;
                    // Removes the socket.
                    drop(file);
                }))
            }
            (None, None) => None,
        };
        Ok(Self {
            edge,
            file: file.to_owned(),
            configuration: Mutex::new(configuration.clone()),
            for_clients: LiveTarget::new(for_clients),
            for_peers: LiveTarget::new(for_peers),
            to_peers: LiveTarget::new(connector),
            signer,
            stores,
            addresses,
            for_clients_end: Ending { begin: clients_end, listener: Mutex::new(clients) },
            for_peers_end: Ending { begin: peers_end, listener: Mutex::new(Some(peers)) },
            tasks,
            runtime: Handle::current(),
        })
    }

    /// Ends everything at once, as a crash does: the lease is not given up.
    #[cfg(test)]
    pub(crate) fn cut(&self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        for end in [&self.for_clients_end, &self.for_peers_end] {
            end.listener().iter().for_each(JoinHandle::abort);
        }
    }

    #[cfg(test)]
    pub(crate) fn edge(&self) -> &Arc<Edge> {
        &self.edge
    }

    fn load_again(&self) -> Result<(), ProgramError> {
        let mut configuration = self.configuration.lock().unwrap_or_else(PoisonError::into_inner);
        let _runtime = self.runtime.enter();
        let mut loaded = LoadedEdge::read(&self.file)?;
        let waiting = changes::keep(&configuration, &mut loaded.edge);
        let explain = |error| loaded.locate(changes::explain(&waiting, error));
        loaded.edge.check().map_err(explain)?;
        let wanted = &loaded.edge;
        let prepare = || {
            let services = load::services(wanted)?;
            if tls::resumption(wanted)? != self.edge.entry.resumption {
                return Err(ProgramError::settings(
                    "[proxy] certificate: its names, its issuer or the authorities of [clients] ca have changed, which \
                     ends the resumption of sessions across proxies: restart this proxy",
                ));
            }
            let clients = self.for_clients.prepare(|| tls::for_clients(wanted, &self.stores))?;
            let (server, client) = tls::for_peers(&wanted.peers)?;
            let peers = self.for_peers.prepare(|| Ok(server))?;
            let to_peers = self.to_peers.prepare(|| Ok(client))?;
            let signer = match (&self.signer, &wanted.proxy.signer) {
                (Some(own), Some(section)) => {
                    let tls = own.connector.prepare(|| signer::tls(section))?;
                    signer::key(&wanted.proxy)?.map(|key| (own, tls, key))
                }
                _ => None,
            };
            Ok((services, clients, peers, to_peers, signer))
        };
        let (services, clients, peers, to_peers, signer) = prepare().map_err(explain)?;
        // Before handshakes with a new certificate.
        if let Some((own, tls, key)) = signer {
            own.remote.add(&key);
            tls.exchange();
        }
        let changed = clients.exchange();
        peers.exchange();
        to_peers.exchange();
        self.edge.peers.renew();
        *self.edge.services.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(services);
        waiting.warn();
        tracing::info!(generation = changed.generation, "reloaded");
        *configuration = loaded.edge;
        Ok(())
    }
}

impl RunningProduct for RunningEdge {
    const CONDITION: &'static str = "listeners";

    fn log_addresses(&self) {
        for (listener, address) in &self.addresses {
            tracing::info!(listener, %address, "listening");
        }
    }

    fn status(&self) -> String {
        format!("{} clients of the pool are bound", self.edge.table.len())
    }

    fn reload(&self) -> Result<(), ProgramError> {
        self.load_again()
    }

    async fn end(&self) -> Result<(), ProgramError> {
        // Its clients' requests end here, while the others still forward to it what comes to them.
        self.for_clients_end.end().await;
        self.edge.leave_clients();
        // From now on the others take its clients over.
        let left = tokio::time::timeout(LEASE, self.edge.lease.leave()).await;
        if !matches!(left, Ok(Ok(()))) {
            tracing::warn!(
                "the store can't be reached: the others notice in {LEASE:?} that this proxy is gone"
            );
        }
        self.for_peers_end.end().await;
        self.tasks.iter().for_each(JoinHandle::abort);
        self.stores.close().await
    }
}

impl Ending {
    /// Ends it, and waits for the requests in progress.
    async fn end(&self) {
        self.begin.send_replace(true);
        let listener = self.listener().take();
        if let Some(listener) = listener {
            // It doesn't panic.
            let _ = listener.await;
        }
    }

    fn listener(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn take_periodic_steps(edge: Arc<Edge>) {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        edge.take_periodic_steps().await;
    }
}

/// Shows whether this proxy may serve state: others may own its clients without its lease.
async fn show_lease(edge: Arc<Edge>, condition: Condition) {
    const LOOK: Duration = Duration::from_millis(250);
    loop {
        match edge.may_own() {
            true => condition.holds(),
            false => condition.fails(
                "no lease: the store can't be reached, this process stood still, or another has its [proxy] name",
            ),
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn keep_stores(stores: Stores) {
    match stores.keep_on(|trouble| tracing::warn!("{trouble}")).await {}
}

fn random() -> Result<[u8; 16], ProgramError> {
    let mut random = [0; 16];
    let filled = tessera_aws_lc::provider().random.fill(&mut random);
    filled.map_err(|_| ProgramError::Failed("the system has no random bytes".to_owned()))?;
    Ok(random)
}
