//! Entries that connections depend on, in the store or evicted from it.

use hashbrown::HashTable;

use crate::key::{Key, short};
use crate::record::Record;

/// The pinned entries of a store.
#[derive(Default)]
pub(crate) struct PinnedEntries(HashTable<PinnedEntry>);

struct PinnedEntry {
    key: Key,
    connections: usize,
    /// The record, once it has left the entries.
    record: Option<Record>,
}

impl PinnedEntries {
    /// Counts one more pin of an entry. `None` without memory for it.
    pub(crate) fn add(&mut self, key: Key) -> Option<()> {
        if let Some(pinned) = self.find(&key) {
            pinned.connections += 1;
            return Some(());
        }
        let hash = |pinned: &PinnedEntry| short(&pinned.key);
        self.0.try_reserve(1, hash).ok()?;
        self.0.insert_unique(short(&key), PinnedEntry { key, connections: 1, record: None }, hash);
        Some(())
    }

    /// Counts one pin less.
    pub(crate) fn release(&mut self, key: &Key) {
        let Ok(mut pinned) = self.0.find_entry(short(key), |pinned| pinned.key == *key) else {
            return;
        };
        pinned.get_mut().connections -= 1;
        if pinned.get().connections == 0 {
            pinned.remove();
        }
    }

    /// Keeps the record of an entry that has left the entries, if it is pinned; `None` is for one that is back.
    pub(crate) fn keep(&mut self, key: &Key, record: Option<Record>) {
        if let Some(pinned) = self.find(key) {
            pinned.record = record;
        }
    }

    /// Returns a record that has left the entries.
    pub(crate) fn record(&self, key: &Key) -> Option<&Record> {
        self.0.find(short(key), |pinned| pinned.key == *key)?.record.as_ref()
    }

    /// Returns how many of the entries have left.
    pub(crate) fn held(&self) -> usize {
        self.0.iter().filter(|pinned| pinned.record.is_some()).count()
    }

    fn find(&mut self, key: &Key) -> Option<&mut PinnedEntry> {
        self.0.find_mut(short(key), |pinned| pinned.key == *key)
    }
}
