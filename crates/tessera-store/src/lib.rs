//! What the servers of a fleet share: a few small entries, changed by transactions and watched in order.
//!
//! A [`Store`] is as strong as etcd: every read and every commit takes effect at one moment between its call and its
//! answer, for all clients, and revisions number these moments. Whoever needs one commits under the condition that
//! nothing changed since the read that it decided by; there are no locks.
#![forbid(unsafe_code)]

mod store;

pub use store::{
    Change, ChangedEntry, Condition, LeaseId, Pending, Revision, Snapshot, Store, StoreError,
    StoredEntry, Transaction, Watch,
};
