//! Which proxy serves a client's request: the steps that lead there are taken on the way.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tessera_bindings::{BindingError, Fence, Generation, ProxyName, Route};
use tokio::time::timeout;

use super::{Edge, PATIENCE};
use crate::clients::{Client, InProgress};

/// What this proxy does with a request.
pub(crate) enum Routed {
    /// It executes the request, and announces this proxy.
    Serve {
        announce: String,
        /// For an instance of a service with state.
        fence: Fence,
        /// Until the request has ended.
        in_progress: InProgress,
    },
    /// It executes the request of a client that has no binding now.
    ServeUnbound,
    /// It forwards the request to the owner.
    Forward {
        /// The owner.
        owner: ProxyName,
        /// Where the owner is reached.
        to: String,
        /// Of the binding.
        generation: Generation,
    },
    /// It refuses the request, which may be sent again.
    Refuse(&'static str),
}

/// How long a request waits until it is settled who serves it: longer than the last changes of a move take.
const LONGEST_ROUTE: Duration = Duration::from_secs(5);

/// How often the bindings are looked at again, when they change meanwhile.
const LOOKS: usize = 6;

const UNBOUND: &str = "no more clients can be bound here now: try again";
const CUT_OFF: &str =
    "this proxy can't reach the store, and another may serve the client: try again";
pub(super) const MOVING: &str =
    "the client is moving, and which proxy serves it isn't settled: try again";

impl Edge {
    /// Returns what to do with a client's request from an address, at a service that `has_state` or not.
    pub(crate) async fn route(
        self: &Arc<Self>,
        client: &Arc<Client>,
        has_state: bool,
        from: Option<IpAddr>,
    ) -> Routed {
        let settled = self.settle(client, has_state, from);
        // What it began goes on without the request.
        timeout(LONGEST_ROUTE, settled).await.unwrap_or(Routed::Refuse(MOVING))
    }

    async fn settle(
        self: &Arc<Self>,
        client: &Arc<Client>,
        has_state: bool,
        from: Option<IpAddr>,
    ) -> Routed {
        let name = &client.name;
        for _ in 0..LOOKS {
            // First: the route is of what the table shows then, or later.
            let is_sure = self.table.is_sure_for(&self.lease);
            let route = self.table.route(name, &self.own);
            if route != Route::Bind {
                client.has_binding();
            }
            match route {
                Route::Serve { announce, generation, fence } => {
                    if has_state && client.is_arriving() {
                        client.arrived().await;
                        continue;
                    }
                    if has_state && self.awaits_changes(client, generation) {
                        self.arrive(client, generation).await;
                        continue;
                    }
                    if has_state && !(is_sure && self.lease.is_held()) {
                        return Routed::Refuse(CUT_OFF);
                    }
                    if let Some(in_progress) = client.begin(generation) {
                        // The announced proxy may have just died: this one still serves.
                        let announce = announce.unwrap_or_else(|| self.entry.authority.clone());
                        return Routed::Serve { announce, fence, in_progress };
                    }
                    // The next proxy owns it already, which the table will show.
                    let is_over =
                        || !matches!(self.table.route(name, &self.own), Route::Serve { .. });
                    if !self.wait_until(name, is_over).await {
                        break;
                    }
                }
                Route::Bind => match self.bind(client, from).await {
                    Ok(true) => {}
                    Ok(false) if !has_state => return Routed::ServeUnbound,
                    Ok(false) => return Routed::Refuse(UNBOUND),
                    Err(_) => break,
                },
                Route::Switch { generation } => self.arrive(client, generation).await,
                Route::TakeOver { generation, is_prepared } => {
                    if !self.take_over(name, generation, is_prepared).await {
                        break;
                    }
                }
                Route::Forward { owner, to, generation } => {
                    return Routed::Forward { owner, to, generation };
                }
            }
        }
        Routed::Refuse(MOVING)
    }

    /// Binds a client that came here first. False: the pool or the client's address has as many as it may, too many others wait,
    /// or the store can't be reached.
    async fn bind(
        self: &Arc<Self>,
        client: &Arc<Client>,
        from: Option<IpAddr>,
    ) -> Result<bool, BindingError> {
        if self.table.is_current() && self.table.len() >= self.settings.bound {
            return Ok(false);
        }
        let is_counted = self.naming.are_free() && !client.has_place();
        if let Some(address) = from.filter(|_| is_counted) {
            match self.newcomers.take(address.into()) {
                // Before the step, which the store may take even if it reports an error: an unbound client soon loses it.
                Some(place) => client.take_place(place),
                None => return Ok(false),
            }
        }
        let name = &client.name;
        let place = timeout(PATIENCE, self.binding.clone().acquire_owned()).await;
        let Ok(Ok(place)) = place else { return Ok(false) };
        let (edge, bound) = (self.clone(), client.clone());
        // A client may cancel its request, but isn't forgotten before the step is taken.
        let bind = tokio::spawn(async move {
            let (_known, _place) = (bound.leaving(), place);
            let binding = edge.bindings.bind(&bound.name, &edge.own).await;
            if binding.is_ok() {
                bound.has_binding();
            }
            binding
        });
        // It doesn't panic.
        let Ok(binding) = bind.await else { return Ok(false) };
        match binding {
            Ok(_) => {
                self.wait_until(name, || self.table.binding(name).is_some()).await;
                Ok(true)
            }
            Err(BindingError::Store(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
