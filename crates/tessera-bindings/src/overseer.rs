//! The steps that are due by time.

use crate::binding::{BindingState, Generation, LaterChanges, ProxyName};
use crate::bindings::Bindings;
use crate::error::BindingError;
use crate::names::ClientName;
use crate::table::{BindingTable, DueStep};

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
        let mut count = 0;
        for (client, generation, step) in due {
            let taken = match step {
                DueStep::Abort => self.expire(&client, generation).await,
                DueStep::Settle => {
                    let binding = self.read(&client).await;
                    if let Ok(binding) = binding
                        && let BindingState::Switched {
                            owner, changes: LaterChanges::Awaited, ..
                        } = &binding.state
                    {
                        // The earlier owner had all this time to send them.
                        let lost = LaterChanges::Lost;
                        let _ = self.changes(&client, generation, owner, lost).await;
                    }
                    self.settle(&client, generation).await
                }
            };
            match taken {
                Ok(_) => count += 1,
                Err(error @ BindingError::Store(_)) => return Err(error),
                // Another process took it, or a later one.
                Err(_) => (),
            }
        }
        Ok(count)
    }
}
