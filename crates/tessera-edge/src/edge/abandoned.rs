//! Clients of proxies that are gone for good. One that comes back is taken over; the others would stay bound forever.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use tessera_bindings::{BindingError, ClientName, Generation, ProxyName};
use tokio::time::Instant;

use super::Edge;

/// Since when owners of clients have been gone, as far as this proxy saw.
#[derive(Default)]
pub(crate) struct GoneOwners(Mutex<HashMap<ProxyName, Instant>>);

/// The most clients that are released at a time.
const AT_ONCE: usize = 100;

impl Edge {
    /// Releases some clients of proxies that have been gone for as long as a client may be away. Each proxy does so: a step
    /// that another one has taken changes nothing.
    pub(super) async fn release_abandoned(&self, now: Instant) {
        if !self.table.is_sure_for(&self.lease) || !self.table.is_current() {
            return;
        }
        for (client, generation, owner) in self.abandoned(now) {
            let released = self.bindings.release_abandoned(&client, generation, &owner).await;
            if let Err(BindingError::Store(_)) = released {
                return;
            }
            // Otherwise the proxy is back, or a move isn't over: later.
        }
    }

    fn abandoned(&self, now: Instant) -> Vec<(ClientName, Generation, ProxyName)> {
        let live: HashSet<_> = self.table.proxies().into_iter().map(|(name, _)| name).collect();
        let mut gone = self.gone.0.lock().unwrap_or_else(PoisonError::into_inner);
        gone.retain(|owner, _| !live.contains(owner));
        let mut abandoned = Vec::new();
        self.table.for_each_binding(|client, binding| {
            let owner = binding.owner();
            if live.contains(owner) {
                return;
            }
            match gone.get(owner) {
                None => drop(gone.insert(owner.clone(), now)),
                Some(since) => {
                    let is_long = now.saturating_duration_since(*since) >= self.settings.idle;
                    if is_long && abandoned.len() < AT_ONCE {
                        abandoned.push((client.clone(), binding.generation, owner.clone()));
                    }
                }
            }
        });
        abandoned
    }
}
