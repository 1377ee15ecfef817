//! Clients that have been away for long.

use tessera_store::{Change, Condition, Transaction};

use super::Bindings;
use super::attempt::View;
use crate::binding::{Binding, Generation, ProxyName, StepRefused};
use crate::error::BindingError;
use crate::names::ClientName;

impl Bindings {
    /// Unbinds a client that has been away for long. Bound again, it begins a later generation.
    ///
    /// # Errors
    /// If `by` doesn't own it in this generation, or it is moving.
    pub async fn release(
        &self,
        client: &ClientName,
        generation: Generation,
        by: &ProxyName,
    ) -> Result<(), BindingError> {
        self.unbind(client, None, |it| it.may_release(generation, by)).await
    }

    /// Unbinds a client of a proxy that is gone for long. If the client had come back, another proxy would own it.
    ///
    /// # Errors
    /// If the proxy is live or doesn't own the client in this generation, or a move of the client isn't over.
    pub async fn release_abandoned(
        &self,
        client: &ClientName,
        generation: Generation,
        owner: &ProxyName,
    ) -> Result<(), BindingError> {
        let may = |it: &Binding| it.may_abandon(generation, owner, self.now());
        self.unbind(client, Some(owner), may).await
    }

    /// Deletes a binding, if that may be, and this proxy is gone.
    async fn unbind(
        &self,
        client: &ClientName,
        gone: Option<&ProxyName>,
        may: impl Fn(&Binding) -> Result<(), StepRefused>,
    ) -> Result<(), BindingError> {
        let key = self.names.binding(client);
        for view in self.views() {
            let attempt = async {
                let (binding, revision) = match self.read_binding(view, client).await {
                    Err(BindingError::Unbound) if view == View::Store => return Ok(Some(())),
                    read => read?,
                };
                may(&binding)?;
                let mut conditions = vec![Condition::Unchanged(key.clone(), revision)];
                if let Some(gone) = gone {
                    conditions.push(self.gone(view, gone).await?);
                }
                let changes = vec![Change::Delete { key: key.clone() }];
                let committed = self.store.commit(Transaction { conditions, changes }).await?;
                Ok(committed.map(|_| ()))
            };
            if view.settle(attempt.await)?.is_some() {
                return Ok(());
            }
        }
        Err(BindingError::Contended)
    }
}
