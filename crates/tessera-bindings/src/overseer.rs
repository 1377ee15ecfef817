//! The steps that are due by time.

use crate::binding::{BindingState, LaterChanges};
use crate::bindings::Bindings;
use crate::error::BindingError;
use crate::table::{BindingTable, DueStep};

impl Bindings {
    /// Takes the steps that are due: moves that have taken too long are given up, and those that are over are settled. Any
    /// number of processes may call this at once. Returns how many it took.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn take_due_steps(&self, table: &BindingTable) -> Result<usize, BindingError> {
        let mut count = 0;
        for (client, generation, step) in table.due(self.now()) {
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
