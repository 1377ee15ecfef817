//! Which proxies give up their clients.

use tessera_store::{Change, Condition, Transaction};

use super::Bindings;
use crate::drain::{Drain, DrainScope};
use crate::entry::encode;
use crate::error::BindingError;

impl Bindings {
    /// Begins to drain a proxy or a site, unless it is drained already.
    ///
    /// # Errors
    /// If the name is empty or too long, or the store fails.
    pub async fn drain(&self, scope: &DrainScope) -> Result<(), BindingError> {
        let key = self.names.drain(scope)?;
        let value = encode(&Drain { since: self.now() });
        let conditions = vec![Condition::Absent(key.clone())];
        let changes = vec![Change::Put { key, value, lease: None }];
        // Otherwise it is there, and keeps its time.
        self.store.commit(Transaction { conditions, changes }).await?;
        Ok(())
    }

    /// Ends a drain, if there is one. Clients that have moved stay where they are.
    ///
    /// # Errors
    /// If the name is empty or too long, or the store fails.
    pub async fn undo_drain(&self, scope: &DrainScope) -> Result<(), BindingError> {
        let changes = vec![Change::Delete { key: self.names.drain(scope)? }];
        self.store.commit(Transaction { conditions: Vec::new(), changes }).await?;
        Ok(())
    }
}
