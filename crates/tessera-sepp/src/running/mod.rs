//! A running SEPP: its listeners, its periodic tasks, its reloads and its end.

mod bound;
pub(crate) mod certificates;
mod listener;
mod peers;
mod registration;
mod shared;
#[cfg(feature = "demo")]
mod shown;

use std::collections::HashMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::HeaderValue;
use tessera_kit::{ProgramError, clock, key_file::FileKey};
use tessera_proxy::admin::{Condition, Routes};
use tessera_proxy::certificates::{ExpiryWarnings, LOOK_EVERY};
use tessera_proxy::gate::Gate;
use tessera_proxy::http::deadline::Deadline;
use tessera_proxy::listen::{InheritedSockets, ListenOptions, Listener};
use tessera_proxy::logging::tracing;
use tessera_proxy::process::{RunningProduct, StartContext};
use tessera_proxy::stores::Stores;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use self::bound::BoundAddresses;
use self::listener::{ListenerContext, Service};
use self::shared::SharedState;
use crate::changes;
use crate::config::{Configuration, ListenAddress};
use crate::events::Events;
use crate::guard::{Guard, LoadShed};
use crate::load::LoadedConfiguration;
use crate::metrics::{self, CountedVault, Metrics};
use crate::n32c::State;
use crate::n32f::reach::Reach;
use crate::sepp::{Sepp, Shares};

/// A SEPP whose listeners take connections.
pub(crate) struct RunningSepp {
    shared: Arc<SharedState>,
    file: PathBuf,
    stores: Stores,
    /// The key that hides names if the configuration has none.
    own_key: FileKey,
    bound: BoundAddresses,
    /// Listener and NRF tasks; joined at shutdown.
    listeners: Mutex<Vec<JoinHandle<()>>>,
    background_tasks: Vec<JoinHandle<()>>,
    runtime: Handle,
    /// Serialises reloads.
    reload_lock: Mutex<()>,
}

impl RunningSepp {
    /// Loads all files, binds all listeners, and accepts connections: all of it or nothing.
    pub(crate) async fn start(
        file: &Path,
        loaded: LoadedConfiguration,
        beginning: StartContext<'_>,
    ) -> Result<Self, ProgramError> {
        let configuration = &loaded.configuration;
        let (mut stores, found) =
            Stores::open(&configuration.tickets.stores()).map_err(|error| loaded.locate(error))?;
        if let Some(found) = found {
            tracing::info!("{found}");
        }
        if let Some(vault) = stores.vault_name() {
            tracing::info!(vault, "other sites know this vault by this name");
        }
        let metrics = Metrics::register(beginning.metrics);
        stores.vault = Arc::new(CountedVault::new(stores.vault.clone(), metrics.clone()));
        metrics.tell_entries(beginning.metrics, stores.vault.clone());
        let started =
            Self::start_with(file, configuration, stores.clone(), metrics, beginning).await;
        started.inspect_err(|_| stores.give_back()).map_err(|error| loaded.locate(error))
    }

    async fn start_with(
        file: &Path,
        configuration: &Configuration,
        stores: Stores,
        metrics: Metrics,
        beginning: StartContext<'_>,
    ) -> Result<Self, ProgramError> {
        for warning in configuration.warnings() {
            tracing::warn!("{warning}");
        }
        let events = Events::new(metrics.clone());
        let own_key = random_key()?;
        let guard = Arc::new(guard(configuration, &own_key)?);
        let listeners = Listeners::bind(configuration, beginning.inherited)?;
        let told = Arc::new(events.clone());
        let bound = listeners.bound();
        let effective = bound.fill(configuration);
        let sepp = Sepp::open(&effective, &stores, guard, told.clone(), told)?;
        let server = HeaderValue::from_str(&format!("SEPP-{}", configuration.local.fqdn));
        let server = server.unwrap_or(HeaderValue::from_static("SEPP"));
        let shared = Arc::new(SharedState {
            sepp: Arc::new(sepp),
            metrics,
            events,
            ending: watch::Sender::new(false),
            drained: watch::Sender::new(HashMap::new()),
            load: LoadShed::new(configuration.limits.requests),
            connections: Shares::of(configuration.limits.connections),
            options: Arc::new(shared::options(configuration, server.clone())),
            server,
        });
        let associated = beginning.health.condition("association");
        let certificate = beginning.health.condition("certificate");
        let background_tasks = vec![
            tokio::spawn(drop_never(keep_stores(stores.clone()))),
            tokio::spawn(drop_never(keep_looking(shared.clone(), associated, certificate))),
            tokio::spawn(drop_never(keep_reaching(shared.clone()))),
        ];
        let nrf = registration::begin(&effective, &shared);
        let listeners = listeners.run(&shared, configuration);
        Ok(Self {
            shared,
            file: file.to_owned(),
            stores,
            own_key,
            bound,
            listeners: Mutex::new(listeners.into_iter().chain(nrf).collect()),
            background_tasks,
            runtime: Handle::current(),
            reload_lock: Mutex::default(),
        })
    }

    fn load_again(&self) -> Result<(), ProgramError> {
        let _lock = self.reload_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let _runtime = self.runtime.enter();
        let sepp = &self.shared.sepp;
        let mut loaded = LoadedConfiguration::read(&self.file)?;
        loaded.configuration = self.bound.fill(&loaded.configuration);
        let waiting = changes::keep(&sepp.live().configuration, &mut loaded.configuration);
        // Neither the file as written nor the configuration that results from it may contradict itself.
        loaded.configuration.check().map_err(|error| loaded.locate(error))?;
        let configuration = &loaded.configuration;
        let reload = || {
            let guard = Arc::new(guard(configuration, &self.own_key)?);
            sepp.reload(configuration, guard)
        };
        let changed = reload().map_err(|error| loaded.locate(error))?;
        for warning in configuration.warnings() {
            tracing::warn!("{warning}");
        }
        waiting.warn();
        let changed: Vec<_> = changed.iter().map(|peer| peer.as_str()).collect();
        match changed.is_empty() {
            true => tracing::info!("reloaded"),
            false => tracing::info!(peers_changed = changed.join(" "), "reloaded"),
        }
        Ok(())
    }
}

impl RunningProduct for RunningSepp {
    const CONDITION: &'static str = "listeners";

    fn log_addresses(&self) {
        for (listener, addresses) in &self.bound.0 {
            for address in addresses {
                tracing::info!(listener, %address, "listening");
            }
        }
    }

    fn status(&self) -> String {
        let peers = self.shared.sepp.associations().peers();
        let is_established = |state: &State| matches!(state, State::Established(_));
        let established = peers.iter().filter(|peer| is_established(&peer.state)).count();
        format!("N32 established with {established} of {} peers", peers.len())
    }

    fn routes(self: &Arc<Self>) -> Routes {
        peers::routes(&self.shared, &self.runtime)
    }

    fn reload(&self) -> Result<(), ProgramError> {
        let reloaded = self.load_again();
        let is_ok = reloaded.is_ok();
        let result = if is_ok { metrics::Result::Ok } else { metrics::Result::Failed };
        self.shared.metrics.reload(result);
        reloaded
    }

    async fn end(&self) -> Result<(), ProgramError> {
        let farewell = self.shared.sepp.live().configuration.process.farewell();
        // GOAWAY: requests in progress finish. Then peers are notified that this SEPP leaves (NONE).
        self.shared.ending.send_replace(true);
        let listeners =
            std::mem::take(&mut *self.listeners.lock().unwrap_or_else(PoisonError::into_inner));
        for listener in listeners {
            // Wait for each, even if another failed.
            let _ = listener.await;
        }
        // Not for one instance of several: their associations remain valid.
        if self.shared.sepp.live().configuration.tickets.fleet.is_none() {
            self.shared.sepp.associations().terminate_all(Deadline::after(farewell)).await;
        }
        self.background_tasks.iter().for_each(JoinHandle::abort);
        self.stores.close().await
    }
}

/// Bound listeners that don't accept yet.
struct Listeners(Vec<(&'static str, Listener)>);

impl Listeners {
    /// Binds all of them before any accepts: a client that reaches one can reach all.
    fn bind(
        configuration: &Configuration,
        inherited: &mut InheritedSockets,
    ) -> Result<Self, ProgramError> {
        let listen = &configuration.listen;
        let mut wanted: Vec<(&'static str, &ListenAddress)> = vec![("sbi", &listen.sbi)];
        match listen.is_shared() {
            true => wanted.push(("n32", &listen.n32c)),
            false => wanted.extend([("n32c", &listen.n32c), ("n32f", &listen.n32f)]),
        }
        let bind = |(name, address)| {
            let listener = Listener::bind(address, ListenOptions::default(), inherited)?;
            Ok((name, listener))
        };
        wanted.into_iter().map(bind).collect::<Result<_, ProgramError>>().map(Self)
    }

    /// Returns their addresses. A listener works even if its address can't be determined.
    fn bound(&self) -> BoundAddresses {
        let of = |(name, listener): &(&'static str, Listener)| {
            (*name, listener.local_addrs().unwrap_or_default())
        };
        BoundAddresses(self.0.iter().map(of).collect())
    }

    fn run(self, shared: &Arc<SharedState>, configuration: &Configuration) -> Vec<JoinHandle<()>> {
        let limit = configuration.process.requests_end();
        let run = |(name, listener): (&'static str, Listener)| {
            let service = match name {
                "sbi" => Some(Service::Functions(shared.sepp.functions_acceptor().cloned())),
                "n32f" => shared.sepp.n32f_acceptor().cloned().map(Service::Peers),
                _ => shared.sepp.n32c_acceptor().cloned().map(Service::Peers),
            };
            let gate = Gate::new(configuration.limits.gate().into());
            shared.metrics.watch(name, &gate);
            let shared = shared.clone();
            tokio::spawn(async move {
                let Some(service) = service else { return };
                let listening = ListenerContext { name, service, gate, shared };
                let drained = listening.run(listener, limit).await;
                tracing::info!(listener = name, "{drained}");
            })
        };
        self.0.into_iter().map(run).collect()
    }
}

/// Builds the rules, with the key that hides names.
pub(crate) fn guard(
    configuration: &Configuration,
    otherwise: &FileKey,
) -> Result<Guard, ProgramError> {
    let named = configuration.guard.hidden_names_key.as_ref();
    let named = named.map(|source| {
        // The key isn't stored next to what it opens.
        source.read("[guard] hidden-names-key", "names", Path::new(""))
    });
    let named = named.transpose()?;
    let key = named.as_ref().unwrap_or(otherwise);
    Guard::new(configuration, key.as_slice())
        .map_err(|error| ProgramError::settings(format!("[guard] {error}")))
}

/// Returns a key for names that stay hidden while the process lives.
pub(crate) fn random_key() -> Result<FileKey, ProgramError> {
    let mut key = FileKey::default();
    let filled = tessera_aws_lc::provider().random.fill(key.as_mut_slice());
    filled.map_err(|_| ProgramError::Failed("the random number generator failed".to_owned()))?;
    Ok(key)
}

async fn drop_never(never: impl Future<Output = Infallible>) {
    match never.await {}
}

async fn keep_stores(stores: Stores) -> Infallible {
    stores.keep_on(|trouble| tracing::warn!("{trouble}")).await
}

/// Checks certificates every hour and whenever an association changes, and whether the SEPP is ready: its own
/// certificate is valid, and if it initiates with any peer, at least one is reachable.
async fn keep_looking(
    shared: Arc<SharedState>,
    associated: Condition,
    certificate: Condition,
) -> Infallible {
    let mut warnings = ExpiryWarnings::default();
    let mut changes = shared.sepp.associations().watch();
    let mut reloads = shared.sepp.watch();
    let mut ways = shared.sepp.watch_ways();
    loop {
        let live = reloads.borrow_and_update().clone();
        let associations = shared.sepp.associations();
        let (configuration, ages) = (&live.configuration, live.tls.ages());
        let own = ages.iter().find(|age| age.anchor.is_none());
        match own.is_none_or(|own| own.expires_at > clock::unix().as_secs()) {
            true => certificate.holds(),
            false => certificate.fails("this SEPP's certificate has expired"),
        }
        let mut ends = certificates::of_files(configuration, ages, live.functions_end);
        ends.extend(certificates::of_peers(associations));
        shared.metrics.certificates(&ends);
        warnings.look(&ends);
        let peers = associations.peers();
        let established: Vec<_> =
            peers.iter().filter(|peer| matches!(peer.state, State::Established(_))).collect();
        let is_unreachable =
            |fqdn: &_| matches!(shared.sepp.reach(fqdn), (Reach::Unreachable { .. }, _));
        let is_there = established.iter().any(|peer| !is_unreachable(&peer.fqdn));
        if is_there || !configuration.peer.values().any(|peer| peer.initiate) {
            associated.holds();
        } else {
            associated.fails(match established.len() {
                0 => "none is established",
                _ => "no peer can be reached on N32-f",
            });
        }
        drop(live);
        tokio::select! {
            _ = changes.changed() => shared.sepp.close_ended(),
            _ = reloads.changed() => {}
            _ = ways.changed() => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

/// Checks every second whether peers can be reached.
async fn keep_reaching(shared: Arc<SharedState>) -> Infallible {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        shared.sepp.look_at_ways();
    }
}
