//! The latest changes of a store, for its watches.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::store::ChangedEntry;

/// The most changes that are remembered.
const MAX_CHANGES: usize = 10_000;

/// The most bytes of keys and values that are remembered.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// Bounded: what is too old is forgotten, whole revisions at a time.
#[derive(Clone, Default)]
pub(super) struct History {
    /// All changes after this revision are here.
    after: u64,
    commits: VecDeque<Arc<Commit>>,
    changes: usize,
    bytes: usize,
}

struct Commit {
    revision: u64,
    changes: Vec<ChangedEntry>,
    bytes: usize,
}

impl History {
    /// Creates a history that begins after a revision.
    pub(super) fn after(revision: u64) -> Self {
        Self { after: revision, ..Self::default() }
    }

    pub(super) fn push(&mut self, revision: u64, changes: Vec<ChangedEntry>) {
        let bytes = changes.iter().map(size).sum();
        self.changes += changes.len();
        self.bytes += bytes;
        self.commits.push_back(Arc::new(Commit { revision, changes, bytes }));
        while self.changes > MAX_CHANGES || self.bytes > MAX_BYTES {
            let Some(oldest) = self.commits.pop_front() else { return };
            self.after = oldest.revision;
            self.changes -= oldest.changes.len();
            self.bytes -= oldest.bytes;
        }
    }

    /// Whether all changes after a revision are here.
    pub(super) fn knows(&self, after: u64) -> bool {
        after >= self.after
    }

    /// Returns the changes of a prefix after a revision that it [knows](Self::knows).
    pub(super) fn changes(&self, prefix: &[u8], after: u64) -> Vec<ChangedEntry> {
        let seen = self.commits.partition_point(|commit| commit.revision <= after);
        let changes = self.commits.range(seen..).flat_map(|commit| &commit.changes);
        changes.filter(|change| change.key().starts_with(prefix)).cloned().collect()
    }
}

fn size(change: &ChangedEntry) -> usize {
    let value = match change {
        ChangedEntry::Put(entry) => entry.value.len(),
        ChangedEntry::Deleted { .. } => 0,
    };
    change.key().len() + value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Revision, StoredEntry};

    fn change(key: &str, len: usize, revision: u64) -> ChangedEntry {
        let revision = Revision(revision);
        ChangedEntry::Put(StoredEntry { key: key.into(), value: vec![0; len], revision })
    }

    fn count(history: &History, after: u64) -> Option<usize> {
        history.knows(after).then(|| history.changes(b"", after).len())
    }

    #[test]
    fn a_revision_too_old_is_unknown_and_never_a_gap() {
        let mut history = History::after(10);
        assert_eq!(count(&history, 9), None, "what was before isn't known");
        assert_eq!(count(&history, 10), Some(0));
        for revision in 11..=20 {
            history.push(revision, vec![change("a", 1, revision), change("b", 1, revision)]);
        }
        assert_eq!(history.changes(b"a", 10).len(), 10);
        assert_eq!(count(&history, 18), Some(4));
        // One revision has room next to the large one.
        history.push(21, vec![change("a", MAX_BYTES - 5, 21)]);
        assert_eq!((count(&history, 18), count(&history, 19)), (None, Some(3)));
        history.push(22, vec![change("a", MAX_BYTES, 22)]);
        assert_eq!(count(&history, 21), None, "it is larger than all the room");
        assert_eq!(count(&history, 22), Some(0));
    }

    #[test]
    fn many_small_changes_are_forgotten_as_well() {
        let mut history = History::default();
        for revision in 1..=MAX_CHANGES as u64 + 100 {
            history.push(revision, vec![change("a", 0, revision)]);
        }
        assert_eq!((count(&history, 99), count(&history, 100)), (None, Some(MAX_CHANGES)));
    }
}
