//! The interface of a store.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

/// An operation in progress.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A store that several processes share.
///
/// Keys and values are bytes; a key has 1 byte to 1 KiB, a value at most 1 MiB. A transaction has at most 128
/// conditions and 128 changes, whose keys and values have 1.25 MiB together. Every operation but [`Watch::next`] has a
/// deadline of the store's.
pub trait Store: Send + Sync + 'static {
    /// Reads all entries whose key begins with `prefix`, as of one moment after this call.
    fn read<'a>(&'a self, prefix: &'a [u8]) -> Pending<'a, Snapshot>;

    /// Applies all changes if all conditions hold, else none. Returns the revision of the changes; `None` if a
    /// condition doesn't hold.
    ///
    /// It is never repeated: after [`StoreError::Unknown`] the changes may have been applied, or may still be.
    fn commit(&self, transaction: Transaction) -> Pending<'_, Option<Revision>>;

    /// Grants a lease. Entries under it are deleted when it ends: after `lifetime` (at least a second, rounded up to
    /// whole seconds) without [`keep_alive`](Self::keep_alive).
    fn grant(&self, lifetime: Duration) -> Pending<'_, LeaseId>;

    /// Prolongs a lease by its lifetime, counted from now; `false` if it has ended.
    fn keep_alive<'a>(&'a self, lease: &'a LeaseId) -> Pending<'a, bool>;

    /// Ends a lease. One that has ended is no error.
    fn revoke<'a>(&'a self, lease: &'a LeaseId) -> Pending<'a, ()>;

    /// Watches the entries whose key begins with `prefix`, for changes after the revision `after`.
    ///
    /// # Errors
    /// Also if the store no longer knows the changes since `after`, here or at the first [`next`](Watch::next): read
    /// first, then watch from that revision.
    fn watch<'a>(&'a self, prefix: &'a [u8], after: Revision) -> Pending<'a, Box<dyn Watch>>;
}

/// The changes of a prefix, in order.
pub trait Watch: Send {
    /// Waits for the next changes, and returns all of one revision or of several, in the order of their revisions, each
    /// change once. Dropping the future loses none.
    ///
    /// # Errors
    /// If the store can't be reached, or ended the watch: read and watch from there.
    fn next(&mut self) -> Pending<'_, Vec<ChangedEntry>>;
}

/// The number of a moment of a store: every commit that changes something has a greater one than all before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Revision(pub u64);

impl Revision {
    /// Returns the next number.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// The entries of a prefix at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// The entries, in the order of their keys.
    pub entries: Vec<StoredEntry>,
    /// The store's revision at that moment.
    pub revision: Revision,
}

/// An entry of a store.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredEntry {
    /// Its key.
    pub key: Vec<u8>,
    /// Its value.
    pub value: Vec<u8>,
    /// The revision of the commit that wrote it last.
    pub revision: Revision,
}

/// A change of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangedEntry {
    /// It was written.
    Put(StoredEntry),
    /// It was deleted, or its lease ended.
    Deleted {
        /// Its key.
        key: Vec<u8>,
        /// The revision of the deletion.
        revision: Revision,
    },
}

impl ChangedEntry {
    /// Returns the key.
    pub fn key(&self) -> &[u8] {
        match self {
            Self::Put(entry) => &entry.key,
            Self::Deleted { key, .. } => key,
        }
    }

    /// Returns the revision of the change.
    pub fn revision(&self) -> Revision {
        match self {
            Self::Put(entry) => entry.revision,
            Self::Deleted { revision, .. } => *revision,
        }
    }
}

/// Changes that happen if all conditions hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transaction {
    /// The conditions; without any it always happens.
    pub conditions: Vec<Condition>,
    /// The changes, of different keys; a store refuses a transaction that changes a key twice.
    pub changes: Vec<Change>,
}

/// A condition of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// There is no entry with this key.
    Absent(Vec<u8>),
    /// There is one, and it was last written at this revision.
    Unchanged(Vec<u8>, Revision),
    /// No entry whose key begins with this prefix was written after this revision. A deletion is no write.
    NoneWrittenSince(Vec<u8>, Revision),
}

/// A change of a transaction.
#[derive(Clone, PartialEq, Eq)]
pub enum Change {
    /// Writes an entry.
    Put {
        /// Its key.
        key: Vec<u8>,
        /// Its value.
        value: Vec<u8>,
        /// The lease that it ends with; none: it stays until it is deleted.
        lease: Option<LeaseId>,
    },
    /// Deletes an entry. One that isn't there is no error.
    Delete {
        /// Its key.
        key: Vec<u8>,
    },
}

/// The name of a lease, in a store's own form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(pub String);

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreError {
    /// It didn't reach the store, and had no effect.
    NotSent(String),
    /// The store refused it, and it had no effect: the store is full, or can't be written; or the request breaks a
    /// limit, names a lease that has ended, or watches from a revision that is forgotten.
    Refused(String),
    /// It may have taken effect, or may still.
    Unknown(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSent(why) => write!(f, "the request didn't reach the store: {why}"),
            Self::Refused(why) => write!(f, "the store refused the request: {why}"),
            Self::Unknown(why) => {
                write!(f, "the store may or may not have executed the request: {why}")
            }
        }
    }
}

impl std::error::Error for StoreError {}

/// Without the value: it may be long, and a log is no place for it.
impl fmt::Debug for StoredEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = String::from_utf8_lossy(&self.key);
        let Self { value, revision, .. } = self;
        write!(f, "StoredEntry({key:?}, {} bytes, {revision:?})", value.len())
    }
}

/// Without the value.
impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Put { key, value, lease } => {
                let key = String::from_utf8_lossy(key);
                write!(f, "Put({key:?}, {} bytes, {lease:?})", value.len())
            }
            Self::Delete { key } => write!(f, "Delete({:?})", String::from_utf8_lossy(key)),
        }
    }
}
