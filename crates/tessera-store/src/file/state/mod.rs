//! What a store holds, and how requests change it: without files and without a clock.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use super::history::History;
use crate::store::{
    Change, ChangedEntry, Condition, LeaseId, Revision, Snapshot, StoreError, StoredEntry,
    Transaction,
};

/// The most entries.
pub(super) const MAX_ENTRIES: usize = 10_000;

/// The most leases.
pub(super) const MAX_LEASES: usize = 10_000;

/// The most bytes of keys and values together.
pub(super) const MAX_BYTES: usize = 16 * 1024 * 1024;

/// The longest key, in bytes.
pub(super) const MAX_KEY: usize = 1024;

/// The longest value, in bytes.
pub(super) const MAX_VALUE: usize = 1024 * 1024;

/// The most conditions of a transaction, and the most changes: etcd's default.
const MAX_OPERATIONS: usize = 128;

/// The most bytes of a transaction's keys and values.
const MAX_TRANSACTION: usize = 1280 * 1024;

/// A clone is cheap: it shares keys and values.
#[derive(Clone, Default)]
pub(super) struct State {
    pub(super) revision: u64,
    pub(super) entries: BTreeMap<Arc<[u8]>, Entry>,
    /// Their lifetimes, in seconds.
    pub(super) leases: BTreeMap<u64, u32>,
    /// No later lease has a number up to this.
    pub(super) last_lease: u64,
    /// How many bytes keys and values have.
    pub(super) bytes: usize,
    history: History,
}

#[derive(Clone)]
pub(super) struct Entry {
    pub(super) value: Arc<[u8]>,
    pub(super) revision: u64,
    pub(super) lease: Option<u64>,
}

impl State {
    /// Creates the state of a store whose earlier changes are not known.
    pub(super) fn restored(
        revision: u64,
        entries: BTreeMap<Arc<[u8]>, Entry>,
        leases: BTreeMap<u64, u32>,
        last_lease: u64,
    ) -> Self {
        let bytes = entries.iter().map(|(key, entry)| key.len() + entry.value.len()).sum();
        let history = History::after(revision);
        Self { revision, entries, leases, last_lease, bytes, history }
    }

    pub(super) fn read(&self, prefix: &[u8]) -> Snapshot {
        let entries = self.below(prefix).map(|(key, entry)| stored(key, entry)).collect();
        Snapshot { entries, revision: Revision(self.revision) }
    }

    /// Returns the changes of a prefix after a revision.
    ///
    /// # Errors
    /// If they are no longer known.
    pub(super) fn changes(
        &self,
        prefix: &[u8],
        after: u64,
    ) -> Result<Vec<ChangedEntry>, StoreError> {
        self.check_knows(after)?;
        Ok(self.history.changes(prefix, after))
    }

    /// # Errors
    /// If the changes after a revision are not known.
    pub(super) fn check_knows(&self, after: u64) -> Result<(), StoreError> {
        if after > self.revision {
            let revision = self.revision;
            return refuse(format!(
                "the store is at revision {revision}, before revision {after}: an older copy of it was restored; read \
                 again, and watch from there"
            ));
        }
        if !self.history.knows(after) {
            return refuse(format!(
                "the changes after revision {after} are no longer known: read again, and watch from there"
            ));
        }
        Ok(())
    }

    /// Applies a transaction; `None` if a condition doesn't hold.
    ///
    /// # Errors
    /// If it breaks a limit, names a lease that has ended, or changes a key twice. Then nothing has changed.
    pub(super) fn commit(&mut self, it: Transaction) -> Result<Option<Revision>, StoreError> {
        self.check(&it)?;
        if !it.conditions.iter().all(|condition| self.holds(condition)) {
            return Ok(None);
        }
        self.check_room(&it.changes)?;
        let revision = self.revision + 1;
        let changes = it.changes.into_iter().filter_map(|change| match change {
            Change::Put { key, value, lease } => {
                let lease = lease.and_then(|lease| number(&lease));
                Some(self.put(key, value, lease, revision))
            }
            Change::Delete { key } => self.delete(&key, revision),
        });
        let changes = changes.collect();
        self.record(revision, changes);
        Ok(Some(Revision(self.revision)))
    }

    /// Grants a lease.
    ///
    /// # Errors
    /// If there are too many.
    pub(super) fn grant(&mut self, lifetime: u32) -> Result<LeaseId, StoreError> {
        if self.leases.len() >= MAX_LEASES {
            return refuse(format!("the store is full: it has {MAX_LEASES} leases"));
        }
        self.last_lease += 1;
        self.leases.insert(self.last_lease, lifetime);
        Ok(LeaseId(self.last_lease.to_string()))
    }

    /// Ends a lease, if there is one of this number, and deletes its entries.
    pub(super) fn end_lease(&mut self, lease: u64) {
        if self.leases.remove(&lease).is_none() {
            return;
        }
        let revision = self.revision + 1;
        let under = self.entries.iter().filter(|(_, entry)| entry.lease == Some(lease));
        let keys: Vec<_> = under.map(|(key, _)| key.clone()).collect();
        let changes = keys.iter().filter_map(|key| self.delete(key, revision)).collect();
        self.record(revision, changes);
    }

    /// Whether both are the same, if one came from the other.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let version = |it: &Self| (it.revision, it.last_lease, it.leases.len());
        version(self) == version(other)
    }

    fn below<'a>(&'a self, prefix: &'a [u8]) -> impl Iterator<Item = (&'a [u8], &'a Entry)> {
        let from = self.entries.range::<[u8], _>((Bound::Included(prefix), Bound::Unbounded));
        from.map(|(key, entry)| (&**key, entry)).take_while(|(key, _)| key.starts_with(prefix))
    }

    fn holds(&self, condition: &Condition) -> bool {
        match condition {
            Condition::Absent(key) => !self.entries.contains_key(&key[..]),
            Condition::Unchanged(key, revision) => {
                self.entries.get(&key[..]).is_some_and(|entry| entry.revision == revision.0)
            }
            Condition::NoneWrittenSince(prefix, revision) => {
                self.below(prefix).all(|(_, entry)| entry.revision <= revision.0)
            }
        }
    }

    fn put(
        &mut self,
        key: Vec<u8>,
        value: Vec<u8>,
        lease: Option<u64>,
        revision: u64,
    ) -> ChangedEntry {
        self.bytes += key.len() + value.len();
        let entry = Entry { value: value.into(), revision, lease };
        let change = ChangedEntry::Put(stored(&key, &entry));
        let len = key.len();
        if let Some(old) = self.entries.insert(key.into(), entry) {
            self.bytes -= len + old.value.len();
        }
        change
    }

    fn delete(&mut self, key: &[u8], revision: u64) -> Option<ChangedEntry> {
        let old = self.entries.remove(key)?;
        self.bytes -= key.len() + old.value.len();
        Some(ChangedEntry::Deleted { key: key.into(), revision: Revision(revision) })
    }

    fn record(&mut self, revision: u64, changes: Vec<ChangedEntry>) {
        if !changes.is_empty() {
            self.revision = revision;
            self.history.push(revision, changes);
        }
    }

    fn check(&self, it: &Transaction) -> Result<(), StoreError> {
        for (what, count) in [("conditions", it.conditions.len()), ("changes", it.changes.len())] {
            if count > MAX_OPERATIONS {
                return refuse(format!("{count} {what}; at most {MAX_OPERATIONS} are allowed"));
            }
        }
        let keys = it.conditions.iter().map(|condition| match condition {
            // A prefix may be empty.
            Condition::NoneWrittenSince(key, _) => (key, 0),
            Condition::Absent(key) | Condition::Unchanged(key, _) => (key, 1),
        });
        for (key, min) in keys {
            check_length("a key", key.len(), min, MAX_KEY)?;
        }
        let mut keys = BTreeSet::new();
        let mut bytes = 0;
        for change in &it.changes {
            let (Change::Put { key, .. } | Change::Delete { key }) = change;
            check_length("a key", key.len(), 1, MAX_KEY)?;
            if !keys.insert(key) {
                return refuse(format!("two changes of the key {}", String::from_utf8_lossy(key)));
            }
            let Change::Put { value, lease, .. } = change else { continue };
            check_length("a value", value.len(), 0, MAX_VALUE)?;
            bytes += key.len() + value.len();
            if bytes > MAX_TRANSACTION {
                return refuse(format!("the changes have more than {MAX_TRANSACTION} bytes"));
            }
            if let Some(lease) = lease
                && number(lease).is_none_or(|lease| !self.leases.contains_key(&lease))
            {
                return refuse(format!("lease not found: {} has ended", lease.0));
            }
        }
        Ok(())
    }

    /// A store that is full still accepts what doesn't make it larger.
    fn check_room(&self, changes: &[Change]) -> Result<(), StoreError> {
        let (mut entries, mut bytes) = (self.entries.len(), self.bytes);
        for change in changes {
            let (Change::Put { key, .. } | Change::Delete { key }) = change;
            if let Some(old) = self.entries.get(&key[..]) {
                entries -= 1;
                bytes -= key.len() + old.value.len();
            }
            if let Change::Put { value, .. } = change {
                entries += 1;
                bytes += key.len() + value.len();
            }
        }
        if entries > MAX_ENTRIES && entries > self.entries.len() {
            return refuse(format!("the store is full: it has {MAX_ENTRIES} entries"));
        }
        if bytes > MAX_BYTES && bytes > self.bytes {
            return refuse(format!("the store is full: it has {MAX_BYTES} bytes"));
        }
        Ok(())
    }
}

/// Returns a lease's number; `None` if it isn't of this store.
pub(super) fn number(lease: &LeaseId) -> Option<u64> {
    lease.0.parse().ok()
}

fn stored(key: &[u8], entry: &Entry) -> StoredEntry {
    let revision = Revision(entry.revision);
    StoredEntry { key: key.into(), value: entry.value.to_vec(), revision }
}

fn check_length(what: &str, len: usize, min: usize, max: usize) -> Result<(), StoreError> {
    match len {
        len if len > max => refuse(format!("{what} has {len} bytes; at most {max} are allowed")),
        len if len < min => refuse(format!("{what} is empty")),
        _ => Ok(()),
    }
}

fn refuse<T>(why: String) -> Result<T, StoreError> {
    Err(StoreError::Refused(why))
}
