//! What the servers of a fleet share: a few small entries, changed by transactions and watched in order.
//!
//! A [`Store`] is as strong as etcd: every read and every commit takes effect at one moment between its call and its
//! answer, for all clients, and revisions number these moments. There are no locks: a client commits under the
//! condition that nothing has changed since the read by which it decided.
//!
//! `FileStore` (on Unix) is the store of one process, in a file; `tessera-etcd` has one of several machines, and serves
//! any other to clients on other machines. [`StoreWitness`] detects directories of memory vaults that were rolled back or
//! copied, by a mark in a store. The feature `contract-tests` has the tests that every store passes.
//!
//! ```
//! use tessera_store::{Change, Condition, Store, StoreError, Transaction};
//!
//! /// Increments a counter, whatever other clients do meanwhile.
//! async fn increment(store: &dyn Store, key: &[u8]) -> Result<u64, StoreError> {
//!     loop {
//!         let snapshot = store.read(key).await?;
//!         let entry = snapshot.entries.iter().find(|entry| entry.key == key);
//!         let value = entry.and_then(|entry| entry.value[..].try_into().ok());
//!         let next = value.map_or(0, u64::from_be_bytes) + 1;
//!         let condition = match entry {
//!             Some(entry) => Condition::Unchanged(key.into(), entry.revision),
//!             None => Condition::Absent(key.into()),
//!         };
//!         let value = next.to_be_bytes().into();
//!         let change = Change::Put { key: key.into(), value, lease: None };
//!         let transaction = Transaction { conditions: vec![condition], changes: vec![change] };
//!         if store.commit(transaction).await?.is_some() {
//!             return Ok(next);
//!         }
//!     }
//! }
//! ```
#![forbid(unsafe_code)]

#[cfg(feature = "contract-tests")]
pub mod contract;
#[cfg(unix)]
mod file;
mod store;
mod witness;

#[cfg(unix)]
pub use file::{FileStore, FileStoreError, FileStoreProblem};
pub use store::{
    Change, ChangedEntry, Condition, LeaseId, Pending, Revision, Snapshot, Store, StoreError,
    StoredEntry, Transaction, Watch,
};
pub use witness::StoreWitness;
