//! The steps that are due by time.

use tokio::task::JoinSet;

use crate::binding::{Binding, BindingState, Generation, LaterChanges, ProxyName};
use crate::bindings::Bindings;
use crate::error::BindingError;
use crate::names::ClientName;
use crate::table::{BindingTable, DueStep};

/// The most steps in progress: after a proxy has died, thousands may be due.
const AT_ONCE: usize = 16;

impl Bindings {
    /// Takes the steps that are due: moves that have taken too long are given up, and those that are over are settled. Any
    /// number of processes may call this at once. Returns how many it took.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn take_due_steps(&self, table: &BindingTable) -> Result<usize, BindingError> {
        self.take(table.due(self.now())).await
    }

    /// Takes the steps that are due of the clients that a proxy owns: those of a proxy that is gone are for an orchestrator, or
    /// for the proxy that takes its clients over.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn take_due_steps_of(
        &self,
        table: &BindingTable,
        owner: &ProxyName,
    ) -> Result<usize, BindingError> {
        let mut due = table.due(self.now());
        due.retain(|(client, ..)| table.binding(client).is_some_and(|it| it.owner() == owner));
        self.take(due).await
    }

    async fn take(
        &self,
        due: Vec<(ClientName, Generation, DueStep)>,
    ) -> Result<usize, BindingError> {
        let (mut due, mut count) = (due.into_iter(), 0);
        let mut taking = JoinSet::new();
        loop {
            while taking.len() < AT_ONCE
                && let Some((client, generation, step)) = due.next()
            {
                let bindings = self.clone();
                taking.spawn(async move { bindings.take_one(&client, generation, step).await });
            }
            match taking.join_next().await {
                None => return Ok(count),
                Some(Ok(Ok(_))) => count += 1,
                Some(Ok(Err(error @ BindingError::Store(_)))) => return Err(error),
                // Another process took it, or a later one.
                Some(_) => (),
            }
        }
    }

    async fn take_one(
        &self,
        client: &ClientName,
        generation: Generation,
        step: DueStep,
    ) -> Result<Binding, BindingError> {
        if step == DueStep::Abort {
            return self.expire(client, generation).await;
        }
        let binding = self.read(client).await;
        if let Ok(binding) = binding
            && let BindingState::Switched { owner, changes: LaterChanges::Awaited, .. } =
                &binding.state
        {
            // The earlier owner had all this time to send them.
            let _ = self.changes(client, generation, owner, LaterChanges::Lost).await;
        }
        self.settle(client, generation).await
    }
}
