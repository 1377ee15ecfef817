//! A proxy of a pool: what it does with requests, and its part in moves.
//!
//! | file | purpose |
//! |---|---|
//! | `requests.rs` | a client's request: served here, or forwarded to the owner |
//! | `routing.rs` | which of these, and the steps that lead there |
//! | `forwarded.rs` | what other proxies send: requests, and questions for a client's state |
//! | `arrival.rs` | a client's first request here: the switch, and what the earlier owner changed meanwhile |
//! | `abandoned.rs` | clients of proxies that are gone for good |
//! | `moves.rs` | the steps that follow from changes of bindings |
//! | `exchange.rs` | clients' state to and from the instances of services |
//! | `response.rs` | the responses that a proxy makes itself |

mod abandoned;
mod arrival;
mod exchange;
mod forwarded;
mod moves;
mod requests;
mod response;
mod routing;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use http::HeaderValue;
use tessera_bindings::{
    BindingError, BindingTable, Bindings, ClientName, ProxyEntry, ProxyLease, ProxyName,
};
use tessera_tokio::Origin;
use tessera_vault::{SiteVault, WrappingKeys};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

pub(crate) use self::abandoned::GoneOwners;
pub(crate) use self::requests::{ClientConnection, alt_svc};
pub(crate) use self::routing::Routed;
#[cfg(test)]
pub(crate) use self::{forwarded::LAST_CHANGES, moves::Preparation, requests::OwnRequest};
use crate::clients::Clients;
use crate::metrics::Metrics;
use crate::names::Naming;
use crate::peers::Peers;
use crate::places::{Places, SocketHolder};
use crate::services::Services;

/// A proxy of a pool.
pub(crate) struct Edge {
    pub(crate) own: ProxyName,
    /// What it has in the store.
    pub(crate) entry: ProxyEntry,
    /// The field `Alt-Svc` that names it.
    pub(crate) own_alt_svc: Option<HeaderValue>,
    pub(crate) bindings: Bindings,
    pub(crate) table: BindingTable,
    pub(crate) lease: ProxyLease,
    pub(crate) clients: Clients,
    /// The clients of each address that were bound here, if names are free: one must not bind all that the pool may have.
    pub(crate) newcomers: Arc<Places<Origin>>,
    pub(crate) sockets: Arc<Places<SocketHolder>>,
    pub(crate) gone: GoneOwners,
    /// Places for clients that are being bound: a flood of new ones must not keep the store from renewing leases.
    pub(crate) binding: Arc<Semaphore>,
    pub(crate) naming: Naming,
    pub(crate) peers: Peers,
    /// Seals clients' state on its way.
    pub(crate) state_keys: WrappingKeys,
    /// The vault whose keys move with their clients.
    pub(crate) vault: Option<Arc<SiteVault>>,
    pub(crate) services: RwLock<Arc<Services>>,
    pub(crate) settings: Settings,
    pub(crate) metrics: Metrics,
}

/// What the configuration sets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    /// The constant `ma` of announcements.
    pub(crate) ma: Duration,
    /// How long a service may take to answer.
    pub(crate) answer: Duration,
    /// How many clients the pool may have bound before this proxy binds no more.
    pub(crate) bound: usize,
    /// After this time without a request a client loses its binding.
    pub(crate) idle: Duration,
}

/// The most clients that are released at a time, because they have been away for long.
pub(crate) const RELEASES: usize = 100;

/// How long a request waits for a change of the table that must be under way.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many clients are being bound at once.
pub(crate) const BINDING: usize = 8;

impl Edge {
    /// Returns the current services.
    pub(crate) fn services(&self) -> Arc<Services> {
        self.services.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether what the table shows as this proxy's clients are surely its own.
    pub(crate) fn may_own(&self) -> bool {
        self.table.is_sure_for(&self.lease) && self.lease.is_held()
    }

    /// Waits until `is_so` holds for what the table has of a client and of the proxies; false if it doesn't in time.
    async fn wait_until(&self, client: &ClientName, is_so: impl Fn() -> bool) -> bool {
        let deadline = Instant::now() + PATIENCE;
        let mut changes = self.table.changes_for(client);
        loop {
            changes.borrow_and_update();
            if is_so() {
                return true;
            }
            if !matches!(timeout_at(deadline, changes.changed()).await, Ok(Ok(()))) {
                return false;
            }
        }
    }

    /// Returns what a client's certificate names, by which its one-time keys are kept too, if that is known here.
    fn identity_of(&self, client: &ClientName) -> Option<Vec<u8>> {
        let seen = self.clients.get(client).and_then(|client| client.identity.get().cloned());
        seen.or_else(|| self.naming.identity(client))
    }

    /// Counts and logs the clients that this proxy leaves with their state, since it ends and wasn't drained.
    pub(crate) fn leave_clients(&self) {
        if !self.has_state() {
            return;
        }
        let mut left = 0;
        self.table.for_each_binding(|_, binding| left += u64::from(binding.owner() == &self.own));
        if left > 0 {
            self.metrics.left_clients(left);
            tessera_proxy::logging::tracing::warn!(
                clients = left,
                "this proxy ends as the owner of clients: a proxy that takes one over begins without its state, or without \
                 its last changes; drain a proxy before it ends"
            );
        }
    }

    /// Releases clients that have been away for long, and takes the steps that are due: call it each second.
    pub(crate) async fn take_periodic_steps(&self) {
        if let Err(error) = self.bindings.take_due_steps_of(&self.table, &self.own).await {
            tessera_proxy::logging::tracing::debug!(
                "steps that are due wait for the store: {error}"
            );
        }
        self.release_idle(Instant::now()).await;
        self.release_abandoned(Instant::now()).await;
        self.metrics.follow(self.table.len(), self.lease.is_held());
    }

    /// Forgets clients that have been away for long, and releases some of them.
    pub(crate) async fn release_idle(&self, now: Instant) {
        let away = self.settings.idle;
        let mut released = 0;
        for name in self.clients.idle(now, away) {
            let binding = self.table.binding(&name).filter(|it| it.owner() == &self.own);
            let Some(binding) = binding else {
                self.clients.forget(&name, now, away);
                continue;
            };
            self.clients.know(&name, now);
            // Each release takes a while, in which the next client may come back.
            if released == RELEASES || !self.clients.is_idle(&name, now, away) {
                continue;
            }
            released += 1;
            match self.bindings.release(&name, binding.generation, &self.own).await {
                Ok(_) => self.clients.forget(&name, now, away),
                Err(BindingError::Store(_)) => return,
                // It is moving: later.
                Err(_) => drop(self.clients.at(&name, now)),
            }
        }
    }
}
