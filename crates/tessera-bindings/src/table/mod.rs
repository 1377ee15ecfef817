//! All bindings and live proxies, as one process sees them.

mod entries;
mod following;

use std::sync::{Arc, RwLock};
use std::time::Duration;

use tessera_store::{Revision, Store};
use tokio::sync::watch;

use self::entries::Entries;
use crate::binding::{Binding, BindingState, Fence, Generation, ProxyName};
use crate::drain::{Drain, DrainScope};
use crate::names::{ClientName, Names};
use crate::proxies::{ProxyEntry, ProxyLease};
use crate::signals::{ChangedBindings, Signals};

/// Follows all bindings and live proxies: requests are routed by it, and never wait for the store.
///
/// While the store can't be reached, it keeps what it has. What it has may be old: steps are taken in the store, which refuses
/// one that no longer fits, and a proxy that received a request by mistake forwards it, or refuses what was forwarded already.
///
/// A watch whose connection has vanished is as silent as one without changes. So a table that hears nothing for two seconds asks
/// for the store's revision, and if that has moved on, writes the pool's mark, an entry that has no other use. If it doesn't hear
/// of that within five, it isn't current, and reads again.
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

    /// Whether the store was read, is watched since, and was heard of in the last five seconds.
    #[must_use]
    pub fn is_current(&self) -> bool {
        let entries = self.shared.entries();
        entries.is_watched && entries.is_fresh()
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
    /// table shows as the proxy's after this call is its alone, as long as the lease is held. False as well if the store was not
    /// heard of in the last five seconds, or another process has joined under the proxy's name.
    #[must_use]
    pub fn is_sure_for(&self, lease: &ProxyLease) -> bool {
        let entries = self.shared.entries();
        entries.is_fresh()
            && lease.begun().is_some_and(|(proxy, life, begun)| {
                let entry = entries.proxies.get(proxy);
                entry.is_some_and(|(entry, revision)| *revision >= begun && entry.life == life)
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
