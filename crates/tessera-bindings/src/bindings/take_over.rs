//! Steps that are taken since a client's owner is dead.

use std::time::Duration;

use super::Bindings;
use crate::binding::{Binding, Generation, ProxyName, StepRefused};
use crate::error::BindingError;
use crate::names::ClientName;

impl Bindings {
    /// The next proxy takes the client over, since the owner's lease has ended.
    ///
    /// # Errors
    /// If the owner is live, or this proxy isn't, or hasn't prepared.
    pub async fn promote(
        &self,
        client: &ClientName,
        generation: Generation,
        by: &ProxyName,
    ) -> Result<Binding, BindingError> {
        let promote = |it: &Binding, now| it.promote(generation, by, &self.times, now);
        self.take_over(client, (by, true), promote).await
    }

    /// A proxy takes over a client whose owner's lease has ended, and for which none has prepared.
    ///
    /// # Errors
    /// If the owner is live, or this proxy isn't.
    pub async fn adopt(
        &self,
        client: &ClientName,
        generation: Generation,
        by: &ProxyName,
    ) -> Result<Binding, BindingError> {
        self.take_over(client, (by, false), |it, now| it.adopt(generation, by, now)).await
    }

    /// Takes a step if the owner's lease has ended. The proxy needs what it imported, or begins without.
    async fn take_over(
        &self,
        client: &ClientName,
        (by, needs_import): (&ProxyName, bool),
        step: impl Fn(&Binding, Duration) -> Result<Binding, StepRefused>,
    ) -> Result<Binding, BindingError> {
        for view in self.views() {
            let attempt = async {
                let read = self.read_binding(view, client).await?;
                let owner = read.0.owner();
                let mut conditions =
                    self.live_unless_owner(view, by, &read.0, needs_import).await?;
                // Otherwise the step was taken before.
                if owner != by {
                    conditions.push(self.gone(view, owner).await?);
                }
                let next = step(&read.0, self.now())?;
                self.replace(view, client, read, next, conditions).await
            };
            if let Some(binding) = view.settle(attempt.await)? {
                return Ok(binding);
            }
        }
        Err(BindingError::Contended)
    }
}
