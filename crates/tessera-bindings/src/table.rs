//! All bindings and live proxies, as one process sees them.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, Weak};
use std::time::Duration;

use serde::de::DeserializeOwned;
use tessera_store::{ChangedEntry, Revision, Store, StoreError, StoredEntry};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::binding::{Binding, BindingState, Fence, Generation, ProxyName};
use crate::drain::{Drain, DrainScope};
use crate::entry::decode;
use crate::names::{ClientName, Names, Subject};
use crate::proxies::{ProxyEntry, ProxyLease};
use crate::signals::{ChangedBindings, Signals};

/// Follows all bindings and live proxies: requests are routed by it, and never wait for the store.
///
/// While the store can't be reached, it keeps what it has. What it has may be old: steps are taken in the store, which refuses
/// one that no longer fits, and a proxy that received a request by mistake forwards it, or refuses what was forwarded already.
///
/// Clones share the same table.
#[derive(Clone)]
pub struct BindingTable {
    shared: Arc<SharedTable>,
}

struct SharedTable {
    store: Arc<dyn Store>,
    names: Names,
    entries: RwLock<Entries>,
    signals: Signals,
}

/// Those of the store's entries that can be read, each with the revision of its last change.
#[derive(Default)]
struct Entries {
    bindings: HashMap<ClientName, (Binding, Revision)>,
    proxies: HashMap<ProxyName, (ProxyEntry, Revision)>,
    drains: HashMap<DrainScope, (Drain, Revision)>,
    /// Whether the store was read, and is watched since.
    is_current: bool,
}

/// What a proxy does with a client's request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// It serves the request.
    Serve {
        /// Where the response sends the client: [`ProxyEntry::authority`] of the announced proxy. None if that
        /// isn't live.
        announce: Option<String>,
        /// Of the binding.
        generation: Generation,
        /// What the instances of services with state compare.
        fence: Fence,
    },
    /// It is announced to the client: it takes the step [`switch`](crate::Bindings::switch), then serves.
    Switch {
        /// Of the move.
        generation: Generation,
    },
    /// It forwards the request to the owner, and names the generation there.
    Forward {
        /// The owner.
        owner: ProxyName,
        /// [`ProxyEntry::forward`] of the owner.
        to: String,
        /// Of the binding.
        generation: Generation,
    },
    /// The owner isn't live: it takes the client over by [`promote`](crate::Bindings::promote) or
    /// [`adopt`](crate::Bindings::adopt), then serves.
    TakeOver {
        /// Of the binding.
        generation: Generation,
        /// Whether it has prepared for the client, and so promotes itself.
        is_prepared: bool,
    },
    /// The client has no binding: it takes the step [`bind`](crate::Bindings::bind), then serves.
    Bind,
}

/// What a proxy does with a request that another proxy forwarded. There is no second hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForwardedRoute {
    /// It serves the request.
    Serve,
    /// The other proxy knows of a later move: this one waits for the change, then looks again.
    Wait,
    /// It refuses the request: the other proxy looks again.
    Refuse,
}

/// A step that is due by time, whatever the proxies do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DueStep {
    /// The move has taken too long.
    Abort,
    /// No announcement leads to the earlier proxy any more.
    Settle,
}

/// How long to wait before the store is tried again.
const PAUSE: Duration = Duration::from_millis(500);

impl BindingTable {
    pub(crate) fn follow(store: Arc<dyn Store>, names: Names) -> Self {
        let (entries, signals) = (RwLock::default(), Signals::new());
        let shared = Arc::new(SharedTable { store, names, entries, signals });
        tokio::spawn(SharedTable::run(Arc::downgrade(&shared)));
        Self { shared }
    }

    /// Returns a signal for each change.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.signals.all()
    }

    /// Returns a signal for each change that may concern a client: of its binding, of the live proxies, or, rarely, of another
    /// client.
    #[must_use]
    pub fn changes_for(&self, client: &ClientName) -> watch::Receiver<u64> {
        self.shared.signals.of(client)
    }

    /// Returns the clients whose bindings change from now on.
    #[must_use]
    pub fn changed_bindings(&self) -> ChangedBindings {
        self.shared.signals.bindings()
    }

    /// Returns the clients that a proxy owns, is announced to, or owned before: those whose bindings concern it.
    #[must_use]
    pub fn clients_of(&self, proxy: &ProxyName) -> Vec<ClientName> {
        let entries = self.shared.entries();
        let concerned = entries.bindings.iter().filter(|(_, (it, _))| it.concerns(proxy));
        concerned.map(|(client, _)| client.clone()).collect()
    }

    /// Whether the store was read, and is watched since.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.shared.entries().is_current
    }

    /// Returns a client's binding.
    #[must_use]
    pub fn binding(&self, client: &ClientName) -> Option<Binding> {
        self.stored_binding(client).map(|(binding, _)| binding)
    }

    /// Returns a live proxy.
    #[must_use]
    pub fn proxy(&self, proxy: &ProxyName) -> Option<ProxyEntry> {
        self.stored_proxy(proxy).map(|(entry, _)| entry)
    }

    pub(crate) fn stored_binding(&self, client: &ClientName) -> Option<(Binding, Revision)> {
        self.shared.entries().bindings.get(client).cloned()
    }

    pub(crate) fn stored_proxy(&self, proxy: &ProxyName) -> Option<(ProxyEntry, Revision)> {
        self.shared.entries().proxies.get(proxy).cloned()
    }

    /// Returns all live proxies, in no particular order.
    #[must_use]
    pub fn proxies(&self) -> Vec<(ProxyName, ProxyEntry)> {
        let entries = self.shared.entries();
        entries.proxies.iter().map(|(name, (entry, _))| (name.clone(), entry.clone())).collect()
    }

    /// Whether a proxy's lease [is held](ProxyLease::is_held), and the table shows which of its clients others took over before
    /// that lease began: a proxy that was cut off, or stopped for a while, joins again before its table has followed. What the
    /// table shows as the proxy's after this call is its alone, as long as the lease is held.
    #[must_use]
    pub fn is_sure_for(&self, lease: &ProxyLease) -> bool {
        let entries = self.shared.entries();
        lease.begun().is_some_and(|(proxy, begun)| {
            entries.proxies.get(proxy).is_some_and(|(_, revision)| *revision >= begun)
        })
    }

    /// Returns what is drained, in no particular order.
    #[must_use]
    pub fn drains(&self) -> Vec<(DrainScope, Drain)> {
        let entries = self.shared.entries();
        entries.drains.iter().map(|(scope, (drain, _))| (scope.clone(), drain.clone())).collect()
    }

    /// Calls a function with each client's binding, in no particular order. Changes wait meanwhile.
    pub fn for_each_binding(&self, mut call: impl FnMut(&ClientName, &Binding)) {
        let entries = self.shared.entries();
        entries.bindings.iter().for_each(|(client, (binding, _))| call(client, binding));
    }

    /// Returns how many clients have bindings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.entries().bindings.len()
    }

    /// Whether no client has one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns what the proxy `own` does with a client's request.
    #[must_use]
    pub fn route(&self, client: &ClientName, own: &ProxyName) -> Route {
        let entries = self.shared.entries();
        let Some((binding, _)) = entries.bindings.get(client) else { return Route::Bind };
        let generation = binding.generation;
        if binding.owner() == own {
            let announced = entries.proxies.get(binding.announced());
            let announce = announced.map(|(proxy, _)| proxy.authority.clone());
            return Route::Serve { announce, generation, fence: binding.fence() };
        }
        let is_next = |next: &ProxyName| next == own;
        let is_announced =
            matches!(&binding.state, BindingState::Announced { next, .. } if is_next(next));
        let is_prepared = is_announced
            || matches!(
                &binding.state,
                BindingState::Preparing { next, import: Some(_), .. } if is_next(next)
            );
        match entries.proxies.get(binding.owner()) {
            None => Route::TakeOver { generation, is_prepared },
            _ if is_announced => Route::Switch { generation },
            Some((ProxyEntry { forward, .. }, _)) => {
                Route::Forward { owner: binding.owner().clone(), to: forward.clone(), generation }
            }
        }
    }

    /// Returns what the proxy `own` does with a request that was forwarded in this generation.
    #[must_use]
    pub fn route_forwarded(
        &self,
        client: &ClientName,
        own: &ProxyName,
        generation: Generation,
    ) -> ForwardedRoute {
        let entries = self.shared.entries();
        match entries.bindings.get(client) {
            Some((binding, _)) if binding.owner() == own => ForwardedRoute::Serve,
            Some((binding, _)) if binding.generation > generation => ForwardedRoute::Refuse,
            // A switch keeps the generation: this proxy may have to learn of it yet.
            _ => ForwardedRoute::Wait,
        }
    }

    /// Returns the steps that are due at `now`.
    #[must_use]
    pub fn due(&self, now: Duration) -> Vec<(ClientName, Generation, DueStep)> {
        let entries = self.shared.entries();
        let all = entries.bindings.iter().map(|(client, (binding, _))| (client, binding));
        let due = all.filter(|(_, it)| it.due().is_some_and(|at| at <= now));
        let step = |binding: &Binding| match binding.state {
            BindingState::Switched { .. } => DueStep::Settle,
            _ => DueStep::Abort,
        };
        due.map(|(client, it)| (client.clone(), it.generation, step(it))).collect()
    }
}

impl SharedTable {
    fn entries(&self) -> RwLockReadGuard<'_, Entries> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Entries)) {
        change(&mut self.entries.write().unwrap_or_else(PoisonError::into_inner));
        self.signals.changed();
    }

    async fn run(shared: Weak<Self>) {
        while let Some(this) = shared.upgrade() {
            let store = this.store.clone();
            let ended = Self::watch(&shared, &*store, this).await;
            let Some(this) = shared.upgrade() else { return };
            this.change(|entries| entries.is_current = false);
            if let Err(error) = ended {
                tracing::warn!("the bindings can't be followed, and stay as they are: {error}");
            }
            drop(this);
            sleep(PAUSE).await;
        }
    }

    /// Reads the store and watches it, until that fails or the table is dropped.
    async fn watch(
        shared: &Weak<Self>,
        store: &dyn Store,
        this: Arc<Self>,
    ) -> Result<(), StoreError> {
        let prefix = this.names.all().to_vec();
        let read = store.read(&prefix).await?;
        let mut changes = store.watch(&prefix, read.revision).await?;
        this.change(|entries| {
            *entries = Entries { is_current: true, ..Entries::default() };
            for entry in read.entries {
                entries.put(this.names.subject(&entry.key), &entry);
            }
        });
        this.signals.read_again();
        drop(this);
        loop {
            let changed = changes.next().await?;
            let Some(this) = shared.upgrade() else { return Ok(()) };
            let (mut clients, mut are_all) = (Vec::new(), false);
            this.change(|entries| {
                for change in changed {
                    let subject = this.names.subject(change.key());
                    match &subject {
                        Some(Subject::Client(client)) => clients.push(client.clone()),
                        _ => are_all = true,
                    }
                    match change {
                        ChangedEntry::Put(entry) => entries.put(subject, &entry),
                        ChangedEntry::Deleted { .. } => entries.remove(subject),
                    }
                }
            });
            if are_all {
                this.signals.proxies();
            }
            clients.into_iter().for_each(|client| this.signals.binding(client));
        }
    }
}

impl Entries {
    /// Takes an entry. One that can't be read counts as none.
    fn put(&mut self, subject: Option<Subject>, entry: &StoredEntry) {
        match subject {
            Some(Subject::Client(name)) => put(&mut self.bindings, name, entry),
            Some(Subject::Proxy(name)) => put(&mut self.proxies, name, entry),
            Some(Subject::Drain(scope)) => put(&mut self.drains, scope, entry),
            None => (),
        }
    }

    fn remove(&mut self, subject: Option<Subject>) {
        match subject {
            Some(Subject::Client(name)) => drop(self.bindings.remove(&name)),
            Some(Subject::Proxy(name)) => drop(self.proxies.remove(&name)),
            Some(Subject::Drain(scope)) => drop(self.drains.remove(&scope)),
            None => (),
        }
    }
}

fn put<K: Eq + Hash, T: DeserializeOwned>(
    all: &mut HashMap<K, (T, Revision)>,
    key: K,
    entry: &StoredEntry,
) {
    match decode(&entry.value) {
        Some(value) => drop(all.insert(key, (value, entry.revision))),
        None => drop(all.remove(&key)),
    }
}
