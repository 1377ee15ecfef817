//! The entries of the store, as a watch last reported them.

use std::collections::BTreeMap;

use tessera_store::{ChangedEntry, Revision, Snapshot, StoredEntry};

/// A copy of the entries that a watch keeps up to date: a look at a change needs no read of the store then, which is a
/// third of the time from a key to its acknowledgement.
///
/// It may be behind the store. That costs nothing: changes are committed under conditions, and the store is read at
/// intervals all the same.
pub(crate) struct WatchedEntries {
    entries: BTreeMap<Vec<u8>, StoredEntry>,
    revision: Revision,
}

impl WatchedEntries {
    pub(crate) fn new(snapshot: Snapshot) -> Self {
        let Snapshot { entries, revision } = snapshot;
        let entries = entries.into_iter().map(|entry| (entry.key.clone(), entry));
        Self { entries: entries.collect(), revision }
    }

    pub(crate) fn apply(&mut self, change: ChangedEntry) {
        self.revision = self.revision.max(change.revision());
        match change {
            ChangedEntry::Put(entry) => drop(self.entries.insert(entry.key.clone(), entry)),
            ChangedEntry::Deleted { key, .. } => drop(self.entries.remove(&key)),
        }
    }

    /// Returns the entries if they are those of this revision or of a later one: older ones would bring revoked keys back,
    /// as a backup does.
    pub(crate) fn at_least(&self, revision: Revision) -> Option<Snapshot> {
        (self.revision >= revision).then(|| Snapshot {
            entries: self.entries.values().cloned().collect(),
            revision: self.revision,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: &str, revision: u64) -> StoredEntry {
        StoredEntry { key: key.into(), value: key.into(), revision: Revision(revision) }
    }

    #[test]
    fn entries_are_those_of_a_read_with_all_changes_since() {
        let read = Snapshot { entries: vec![entry("a", 1), entry("b", 2)], revision: Revision(4) };
        let mut watched = WatchedEntries::new(read);
        watched.apply(ChangedEntry::Put(entry("c", 5)));
        watched.apply(ChangedEntry::Put(entry("a", 6)));
        watched.apply(ChangedEntry::Deleted { key: b"b".to_vec(), revision: Revision(7) });
        let entries = vec![entry("a", 6), entry("c", 5)];
        assert_eq!(
            watched.at_least(Revision(7)),
            Some(Snapshot { entries, revision: Revision(7) })
        );
    }

    #[test]
    fn entries_older_than_the_last_read_are_not_used() {
        let mut watched =
            WatchedEntries::new(Snapshot { entries: Vec::new(), revision: Revision(4) });
        assert_eq!(watched.at_least(Revision(5)), None);
        watched.apply(ChangedEntry::Put(entry("a", 5)));
        assert!(watched.at_least(Revision(5)).is_some());
        assert_eq!(watched.at_least(Revision(6)), None);
    }
}
