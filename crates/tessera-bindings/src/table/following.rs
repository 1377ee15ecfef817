//! How a table follows the store.

use std::sync::{Arc, PoisonError, RwLockReadGuard, Weak};
use std::time::Duration;

use tessera_store::{Change, ChangedEntry, Condition, Revision, Store, StoreError, Transaction};
use tokio::time::{sleep, timeout};

use super::SharedTable;
use super::entries::{Entries, LONGEST_SILENCE};
use crate::clock::since_boot;
use crate::names::Subject;

/// How long to wait before the store is tried again.
const PAUSE: Duration = Duration::from_millis(500);

/// After how long without a change the mark is written: of all processes that hear nothing, one writes.
const MARK_AFTER: Duration = Duration::from_secs(2);

impl SharedTable {
    pub(super) fn entries(&self) -> RwLockReadGuard<'_, Entries> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, change: impl FnOnce(&mut Entries)) {
        change(&mut self.entries.write().unwrap_or_else(PoisonError::into_inner));
    }

    fn change(&self, change: impl FnOnce(&mut Entries)) {
        self.write(change);
        self.signals.changed();
    }

    pub(super) async fn run(shared: Weak<Self>) {
        while let Some(this) = shared.upgrade() {
            let store = this.store.clone();
            let ended = Self::watch(&shared, store, this).await;
            let Some(this) = shared.upgrade() else { return };
            this.change(|entries| entries.is_watched = false);
            if let Err(error) = ended {
                tracing::warn!("the bindings can't be followed, and stay as they are: {error}");
            }
            drop(this);
            sleep(PAUSE).await;
        }
    }

    /// Reads the store and watches it, until that fails or the table is dropped.
    async fn watch(
        shared: &Weak<Self>,
        store: Arc<dyn Store>,
        this: Arc<Self>,
    ) -> Result<(), StoreError> {
        let prefix = this.names.all().to_vec();
        let asked = since_boot();
        let read = store.read(&prefix).await?;
        let mut changes = store.watch(&prefix, read.revision).await?;
        this.change(|entries| {
            *entries = Entries { is_watched: true, heard: asked, ..Entries::default() };
            for entry in read.entries {
                entries.put(this.names.subject(&entry.key), &entry);
            }
        });
        this.signals.read_again();
        drop(this);
        loop {
            let changed = match timeout(MARK_AFTER, changes.next()).await {
                Ok(changed) => changed?,
                Err(_) => {
                    let Some(this) = shared.upgrade() else { return Ok(()) };
                    let mark = this.mark();
                    drop(this);
                    // Another process may write it at the same time: any of the changes will do.
                    let (store, rest) = (store.clone(), LONGEST_SILENCE - MARK_AFTER);
                    tokio::spawn(async move { drop(store.commit(mark).await) });
                    let silent = || StoreError::Unknown("its watch is silent".into());
                    timeout(rest, changes.next()).await.map_err(|_| silent())??
                }
            };
            let Some(this) = shared.upgrade() else { return Ok(()) };
            this.take(changed);
        }
    }

    fn take(&self, changed: Vec<ChangedEntry>) {
        let (mut clients, mut are_all) = (Vec::new(), false);
        self.write(|entries| {
            entries.heard = since_boot();
            for change in changed {
                let subject = self.names.subject(change.key());
                match &subject {
                    Some(Subject::Client(client)) => clients.push(client.clone()),
                    // It concerns no reader.
                    Some(Subject::Mark) => (),
                    _ => are_all = true,
                }
                match change {
                    ChangedEntry::Put(entry) => entries.put(subject, &entry),
                    ChangedEntry::Deleted { .. } => entries.remove(subject),
                }
            }
        });
        if are_all || !clients.is_empty() {
            self.signals.changed();
        }
        if are_all {
            self.signals.proxies();
        }
        clients.into_iter().for_each(|client| self.signals.binding(client));
    }

    /// Returns what writes the mark, if it is as the table has it.
    fn mark(&self) -> Transaction {
        let key = self.names.mark();
        let is_as_here = match self.entries().mark {
            Revision(0) => Condition::Absent(key.clone()),
            revision => Condition::Unchanged(key.clone(), revision),
        };
        let put = Change::Put { key, value: b"{}".to_vec(), lease: None };
        Transaction { conditions: vec![is_as_here], changes: vec![put] }
    }
}
