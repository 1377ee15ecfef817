//! A client's first request at the proxy that was announced to it: the switch, and what the earlier owner changed after it
//! had exported the client's state.

use std::sync::Arc;
use std::time::Duration;

use tessera_bindings::{
    BindingError, BindingState, ClientName, Fence, Generation, LaterChanges, Route,
};
use tessera_proxy::http::deadline::Deadline;
use tessera_proxy::logging::tracing;
use tokio::time::Instant;

use super::Edge;
use super::forwarded::LAST_CHANGES;
use crate::clients::{Arrival, Client};
use crate::metrics::MoveStep;

/// How long a client's first request waits until the instances have the earlier owner's last changes. An import that comes later
/// has a lower fence than the request.
const LAST_IMPORT: Duration = Duration::from_secs(1);

/// How long the instances may take to forget a client.
const FORGET: Duration = Duration::from_secs(1);

impl Edge {
    /// Takes the step `switch`, so that this proxy owns the client; returns once the table shows it, or shows something else.
    pub(super) async fn arrive(self: &Arc<Self>, client: &Arc<Client>, generation: Generation) {
        // Others wait for it here, where they are cancelled with their requests.
        let (edge, arrival) = (self.clone(), client.arrive().await);
        // A client may cancel its request, but not between the step and what follows from it.
        let taken = tokio::spawn(async move { edge.take_switch(arrival, generation).await });
        // It doesn't panic.
        let _ = taken.await;
        let is_other = || self.table.route(&client.name, &self.own) != Route::Switch { generation };
        self.wait_until(&client.name, is_other).await;
    }

    async fn take_switch(self: &Arc<Self>, arrival: Arrival, generation: Generation) {
        let began = Instant::now();
        let name = &arrival.client().name;
        // Another request has taken the step meanwhile.
        if !matches!(self.table.route(name, &self.own), Route::Switch { .. })
            && !self.awaits_changes(arrival.client(), generation)
        {
            return;
        }
        match self.bindings.switch(name, generation, &self.own).await {
            Ok(binding) => {
                self.metrics.step(MoveStep::Switched);
                if let BindingState::Switched { earlier, .. } = &binding.state
                    && self.has_state()
                {
                    let forward = self.table.proxy(earlier).map(|proxy| proxy.forward);
                    let changes =
                        self.import_last_changes(name, generation, forward.as_deref()).await;
                    self.record_changes(name, generation, changes);
                }
                arrival.client().note_complete(generation);
                tracing::info!(
                    client = %String::from_utf8_lossy(name.as_bytes()),
                    generation = generation.0,
                    took = ?began.elapsed(),
                    "the client has moved here"
                );
            }
            Err(BindingError::Refused(why)) => {
                tracing::debug!(
                    generation = generation.0,
                    "the client can't switch here now: {why}"
                );
            }
            Err(error) => {
                tracing::warn!("a client that was announced this proxy can't switch: {error}");
            }
        }
    }

    /// Whether an earlier process of this proxy took the step `switch`, and may have ended before the import that follows. If
    /// it came further, its instances have a higher fence, and refuse what is imported again.
    pub(super) fn awaits_changes(&self, client: &Client, generation: Generation) -> bool {
        if client.is_complete_in(generation) {
            return false;
        }
        let binding = self.table.binding(&client.name).filter(|it| it.generation == generation);
        let Some(binding) = binding.filter(|it| it.owner() == &self.own) else { return false };
        let is_awaited =
            matches!(binding.state, BindingState::Switched { changes: LaterChanges::Awaited, .. });
        if !is_awaited {
            client.note_complete(generation);
        }
        is_awaited
    }

    /// Imports what the earlier owner changed since the first import.
    async fn import_last_changes(
        &self,
        name: &ClientName,
        generation: Generation,
        earlier: Option<&str>,
    ) -> LaterChanges {
        let import = async {
            let Some(earlier) = earlier else { return Err("the earlier proxy is gone".to_owned()) };
            let last = self.peers.last_changes(earlier, name, generation, LAST_CHANGES).await?;
            let fence = Fence::of_last_changes(generation);
            let deadline = Deadline::after(LAST_IMPORT);
            self.import(name, generation, fence, &last.sealed, deadline).await?;
            match last.is_complete {
                true => Ok(()),
                false => Err("requests at the earlier proxy were still in progress".to_owned()),
            }
        };
        match import.await {
            Ok(()) => LaterChanges::Arrived,
            Err(why) => {
                self.metrics.step(MoveStep::ChangesLost);
                tracing::warn!(
                    client = %String::from_utf8_lossy(name.as_bytes()),
                    generation = generation.0,
                    "what changed last in the client's state is lost: {why}"
                );
                LaterChanges::Lost
            }
        }
    }

    /// Records what came of the earlier owner's changes, while the client's request goes on: the result stands here.
    fn record_changes(
        self: &Arc<Self>,
        name: &ClientName,
        generation: Generation,
        changes: LaterChanges,
    ) {
        let (edge, name) = (self.clone(), name.clone());
        tokio::spawn(async move {
            let _ = edge.bindings.changes(&name, generation, &edge.own, changes).await;
        });
    }

    /// Has the instances forget what they have of a client from an earlier time: its dead owner had the state. Returns whether
    /// nothing is lost, since they served that one, too, or no service has state. If the owner isn't dead after all, or another
    /// proxy takes the client over, they have forgotten what would have been replaced.
    async fn forget_earlier_state(&self, name: &ClientName) -> bool {
        let Some(binding) = self.table.binding(name).filter(|_| self.has_state()) else {
            return true;
        };
        if let BindingState::Switched { earlier, changes: LaterChanges::Awaited, .. } =
            &binding.state
            && earlier == &self.own
        {
            // The dead owner had yet to fetch it here.
            return true;
        }
        self.forget(name, binding.fence_of_forgetting(), Deadline::after(FORGET)).await
    }

    /// Takes over a client whose owner is dead; false if it can't now.
    pub(super) async fn take_over(
        &self,
        name: &ClientName,
        generation: Generation,
        is_prepared: bool,
    ) -> bool {
        let (taken, has_state) = match is_prepared {
            true => (self.bindings.promote(name, generation, &self.own).await, true),
            false => {
                // Before the step, or a process that ends in between would serve it.
                let has_state = self.forget_earlier_state(name).await;
                (self.bindings.adopt(name, generation, &self.own).await, has_state)
            }
        };
        match taken {
            Ok(binding) => {
                self.metrics.step(MoveStep::TakenOver);
                if !has_state {
                    self.metrics.step(MoveStep::WithoutState);
                }
                if let BindingState::Switched { changes: LaterChanges::Lost, .. } = binding.state {
                    self.metrics.step(MoveStep::ChangesLost);
                }
                tracing::info!(
                    client = %String::from_utf8_lossy(name.as_bytes()),
                    has_state,
                    "took over the client of a proxy that is gone"
                );
                self.wait_until(name, || {
                    self.table.binding(name).is_some_and(|it| it.owner() == &self.own)
                })
                .await
            }
            // The table is behind.
            Err(BindingError::ProxyLive(owner)) => {
                self.wait_until(name, || self.table.proxy(&owner).is_some()).await
            }
            Err(BindingError::Refused(_)) => {
                let before = self.table.binding(name);
                self.wait_until(name, || self.table.binding(name) != before).await
            }
            // Another process has imported what this one lacks: begin without.
            Err(BindingError::ImportLost(_)) if is_prepared => {
                self.bindings.adopt(name, generation, &self.own).await.is_ok()
            }
            Err(error) => {
                tracing::warn!("a client of a proxy that is gone can't be taken over: {error}");
                false
            }
        }
    }
}
