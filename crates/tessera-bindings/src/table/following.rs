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

/// After how long without a change the store is asked whether there is one.
const ASK_AFTER: Duration = Duration::from_secs(2);

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
            let revision = read.revision;
            *entries = Entries { is_watched: true, heard: asked, revision, ..Entries::default() };
            for entry in read.entries {
                entries.put(this.names.subject(&entry.key), &entry);
            }
        });
        this.signals.read_again();
        drop(this);
        loop {
            let changed = match timeout(ASK_AFTER, changes.next()).await {
                Ok(changed) => Some(changed?),
                Err(_) => {
                    let Some(this) = shared.upgrade() else { return Ok(()) };
                    let asking = this.ask();
                    drop(this);
                    // What the store answers comes before a change, or after it.
                    let hearing = async {
                        tokio::select! {
                            changed = changes.next() => changed.map(Some),
                            heard = asking => match heard? {
                                Some(asked) => {
                                    if let Some(this) = shared.upgrade() {
                                        this.write(|entries| entries.heard = asked);
                                    }
                                    Ok(None)
                                }
                                None => changes.next().await.map(Some),
                            },
                        }
                    };
                    let silent = || StoreError::Unknown("its watch is silent".into());
                    timeout(LONGEST_SILENCE - ASK_AFTER, hearing).await.map_err(|_| silent())??
                }
            };
            let Some(this) = shared.upgrade() else { return Ok(()) };
            if let Some(changed) = changed {
                this.take(changed);
            }
        }
    }

    fn take(&self, changed: Vec<ChangedEntry>) {
        let (mut clients, mut are_all) = (Vec::new(), false);
        self.write(|entries| {
            entries.heard = since_boot();
            for change in changed {
                entries.revision = entries.revision.max(change.revision());
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

    /// Asks the store whether the table has all changes. Returns the time of the question if it has; otherwise a change comes.
    fn ask(&self) -> impl Future<Output = Result<Option<Duration>, StoreError>> + Send + use<> {
        let (store, key) = (self.store.clone(), self.names.mark());
        let (has, mark) = {
            let entries = self.entries();
            (entries.revision, entries.mark)
        };
        async move {
            loop {
                let asked = since_boot();
                match store.read(&key).await {
                    Ok(read) if read.revision <= has => return Ok(Some(asked)),
                    Ok(_) => break,
                    // The caller knows how long this may go on.
                    Err(_) => sleep(PAUSE).await,
                }
            }
            // The change may have another prefix, which isn't watched. If another process writes the mark first, that will do.
            let is_as_here = match mark {
                Revision(0) => Condition::Absent(key.clone()),
                revision => Condition::Unchanged(key.clone(), revision),
            };
            let put = Change::Put { key, value: b"{}".to_vec(), lease: None };
            let mark = Transaction { conditions: vec![is_as_here], changes: vec![put] };
            store.commit(mark).await.map(|_| None)
        }
    }
}
