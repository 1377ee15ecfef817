//! How a step is taken: from the table's copies, then from reads; always under the condition that they are the store's.

use std::iter::repeat_n;

use serde::de::DeserializeOwned;
use tessera_store::{Change, Condition, Revision, Transaction};

use super::Bindings;
use crate::binding::{Binding, ProxyName};
use crate::entry::{decode, encode};
use crate::error::BindingError;
use crate::names::ClientName;
use crate::proxies::ProxyEntry;
use crate::table::BindingTable;

/// How often a step is tried when others change the binding at the same time.
const TRIES: usize = 8;

/// Where a step finds what it depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    /// In the table, which may be old.
    Table,
    /// In the store, as of after the call.
    Store,
}

impl View {
    /// Returns the result of an attempt; none: it begins again, with the next view. An attempt returns none if another
    /// process changed what it depends on.
    pub(super) fn settle<T>(
        self,
        attempt: Result<Option<T>, BindingError>,
    ) -> Result<Option<T>, BindingError> {
        match (self, attempt) {
            (_, Err(error @ BindingError::Store(_))) => Err(error),
            // The table may be old: only the store refuses.
            (Self::Table, Err(_)) => Ok(None),
            (_, attempt) => attempt,
        }
    }
}

impl Bindings {
    /// Returns the views for the attempts at a step.
    pub(super) fn views(&self) -> impl Iterator<Item = View> + Send + use<> {
        let is_current = self.table.as_ref().is_some_and(BindingTable::is_current);
        is_current.then_some(View::Table).into_iter().chain(repeat_n(View::Store, TRIES))
    }

    /// Replaces a binding that was read, if it is unchanged and the conditions hold.
    pub(super) async fn replace(
        &self,
        view: View,
        client: &ClientName,
        (read, revision): (Binding, Revision),
        next: Binding,
        mut conditions: Vec<Condition>,
    ) -> Result<Option<Binding>, BindingError> {
        if next == read {
            // Without a transaction only a read shows that it still is so.
            return Ok((view == View::Store).then_some(next));
        }
        let key = self.names.binding(client);
        conditions.push(Condition::Unchanged(key.clone(), revision));
        Ok(self.commit(conditions, &key, &next).await?.then_some(next))
    }

    pub(super) async fn commit(
        &self,
        conditions: Vec<Condition>,
        key: &[u8],
        binding: &Binding,
    ) -> Result<bool, BindingError> {
        let put = Change::Put { key: key.to_vec(), value: encode(binding), lease: None };
        let transaction = Transaction { conditions, changes: vec![put] };
        Ok(self.store.commit(transaction).await?.is_some())
    }

    pub(super) async fn read_binding(
        &self,
        view: View,
        client: &ClientName,
    ) -> Result<(Binding, Revision), BindingError> {
        let read = match (view, &self.table) {
            (View::Table, Some(table)) => table.stored_binding(client),
            _ => self.read_entry(&self.names.binding(client)).await?,
        };
        read.ok_or(BindingError::Unbound)
    }

    /// Returns the condition that a proxy that becomes a client's owner is live: a step of one that has left may come late. An
    /// owner only repeats the step.
    pub(super) async fn live_unless_owner(
        &self,
        view: View,
        by: &ProxyName,
        binding: &Binding,
        needs_import: bool,
    ) -> Result<Vec<Condition>, BindingError> {
        if binding.owner() == by {
            return Ok(Vec::new());
        }
        let (entry, is_live) = self.live(view, by).await?;
        let import = binding.import_of(by).filter(|_| needs_import);
        match import.is_some_and(|import| import.life != entry.life) {
            true => Err(BindingError::ImportLost(by.clone())),
            false => Ok(vec![is_live]),
        }
    }

    /// Returns the entry of a live proxy, and the condition that it still is.
    pub(super) async fn live(
        &self,
        view: View,
        proxy: &ProxyName,
    ) -> Result<(ProxyEntry, Condition), BindingError> {
        let key = self.names.proxy(proxy)?;
        let read = match (view, &self.table) {
            (View::Table, Some(table)) => table.stored_proxy(proxy),
            _ => self.read_entry(&key).await?,
        };
        match read {
            Some((entry, revision)) => Ok((entry, Condition::Unchanged(key, revision))),
            None => Err(BindingError::ProxyGone(proxy.clone())),
        }
    }

    /// Returns the condition that a proxy isn't live.
    pub(super) async fn gone(
        &self,
        view: View,
        proxy: &ProxyName,
    ) -> Result<Condition, BindingError> {
        match self.live(view, proxy).await {
            Ok(_) | Err(BindingError::Unreadable) => Err(BindingError::ProxyLive(proxy.clone())),
            Err(BindingError::ProxyGone(_)) => Ok(Condition::Absent(self.names.proxy(proxy)?)),
            Err(error) => Err(error),
        }
    }

    /// Reads an entry, as of after this call, with the revision of its last change.
    pub(super) async fn read_entry<T: DeserializeOwned>(
        &self,
        key: &[u8],
    ) -> Result<Option<(T, Revision)>, BindingError> {
        let entries = self.store.read(key).await?.entries;
        let Some(entry) = entries.into_iter().find(|entry| entry.key == key) else {
            return Ok(None);
        };
        let value = decode(&entry.value).ok_or(BindingError::Unreadable)?;
        Ok(Some((value, entry.revision)))
    }
}
