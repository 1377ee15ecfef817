//! The contract of every [`Store`], as functions that panic if it is broken.
//!
//! The author of a store calls [`store`] from a test on a tokio runtime with timers, or the functions one by one. Each
//! has keys of its own, so that they may run at once and on a store that has been used; none of these keys may be there
//! at the beginning.

mod commits;
mod leases;
mod watches;

use std::sync::Arc;

use tokio::task::JoinSet;

use crate::store::{
    Change, Condition, LeaseId, Revision, Snapshot, Store, StoredEntry, Transaction,
};

pub use commits::{
    a_condition_holds_or_nothing_happens, a_key_is_changed_once_in_a_transaction,
    a_read_sees_every_commit_before_it, a_snapshot_is_one_moment, counters_lose_nothing,
    limits_are_reached, one_of_many_commits_wins, prefixes_are_bytes, revisions_grow,
};
pub use leases::{
    a_lease_kept_alive_lives_on, a_put_decides_the_lease, a_revoked_lease_ends_at_once,
    entries_end_with_their_lease,
};
pub use watches::{
    a_watch_loses_nothing_when_dropped, a_watch_sees_each_change_once_in_order,
    a_watch_sees_its_prefix_alone, a_watch_sees_leases_end, changes_before_a_watch_are_seen,
};

/// Tests the whole contract. `client` returns a client of the same store every time. It takes about fifteen seconds,
/// most of it for leases to end.
///
/// # Panics
/// Panics if the contract is broken.
pub async fn store<C: Fn() -> Arc<dyn Store>>(client: C) {
    a_read_sees_every_commit_before_it(&client).await;
    a_condition_holds_or_nothing_happens(&client).await;
    a_key_is_changed_once_in_a_transaction(&client).await;
    prefixes_are_bytes(&client).await;
    limits_are_reached(&client).await;
    a_snapshot_is_one_moment(&client).await;
    one_of_many_commits_wins(&client).await;
    counters_lose_nothing(&client).await;
    revisions_grow(&client).await;
    a_watch_sees_each_change_once_in_order(&client).await;
    changes_before_a_watch_are_seen(&client).await;
    a_watch_sees_its_prefix_alone(&client).await;
    a_watch_loses_nothing_when_dropped(&client).await;
    a_revoked_lease_ends_at_once(&client).await;
    tokio::join!(
        entries_end_with_their_lease(&client),
        a_lease_kept_alive_lives_on(&client),
        a_put_decides_the_lease(&client),
        a_watch_sees_leases_end(&client),
    );
}

/// Makes a put without a lease.
pub fn put(key: &[u8], value: &[u8]) -> Change {
    Change::Put { key: key.into(), value: value.into(), lease: None }
}

/// Makes a put of an empty value under a lease.
pub fn put_under(key: &[u8], lease: &LeaseId) -> Change {
    Change::Put { key: key.into(), value: Vec::new(), lease: Some(lease.clone()) }
}

/// Makes a deletion.
pub fn delete(key: &[u8]) -> Change {
    Change::Delete { key: key.into() }
}

/// Commits changes under conditions; `None` if one doesn't hold.
///
/// # Panics
/// Panics if the store fails.
pub async fn commit_if(
    store: &dyn Store,
    conditions: Vec<Condition>,
    changes: Vec<Change>,
) -> Option<Revision> {
    store.commit(Transaction { conditions, changes }).await.expect("the store can be reached")
}

/// Commits changes without a condition.
///
/// # Panics
/// Panics if the store fails.
pub async fn commit(store: &dyn Store, changes: Vec<Change>) -> Revision {
    commit_if(store, Vec::new(), changes).await.expect("there is no condition")
}

/// Reads a prefix.
///
/// # Panics
/// Panics if the store fails.
pub async fn read(store: &dyn Store, prefix: &[u8]) -> Snapshot {
    store.read(prefix).await.expect("the store can be reached")
}

/// Reads the entry of a key.
///
/// # Panics
/// Panics if the store fails.
pub async fn get(store: &dyn Store, key: &[u8]) -> Option<StoredEntry> {
    read(store, key).await.entries.into_iter().find(|entry| entry.key == key)
}

/// Runs `tasks` at once, and returns what they return.
///
/// # Panics
/// Panics if one does.
pub async fn at_once<T, F>(tasks: impl IntoIterator<Item = F>) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    tasks.into_iter().collect::<JoinSet<_>>().join_all().await
}
