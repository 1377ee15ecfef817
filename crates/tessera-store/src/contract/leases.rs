//! The contract of leases.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::{commit, commit_if, get, put, put_under, read};
use crate::store::{Condition, LeaseId, Store, StoreError, Transaction};

/// The lifetime of most leases here: a store may round it up to this.
const LIFETIME: Duration = Duration::from_secs(2);

/// How late a store may be.
const GRACE: Duration = Duration::from_secs(6);

/// Tests that entries die with their lease: not before its lifetime, and not long after.
///
/// # Panics
/// Panics if the contract is broken.
pub async fn entries_end_with_their_lease<C: Fn() -> Arc<dyn Store>>(client: &C) {
    let store = client();
    let store = &*store;
    let prefix = b"contract/lease/end/";
    let key = |name: &[u8]| [&prefix[..], name].concat();
    let began = Instant::now();
    // Rounded up, to more than a second.
    let lease = grant(store, Duration::from_millis(1100)).await;
    let unused = grant(store, LIFETIME).await;
    let changes = [put_under(&key(b"a"), &lease), put_under(&key(b"b"), &lease)];
    commit(store, [&changes[..], &[put(&key(b"stays"), b"")]].concat()).await;
    let gone = loop {
        let entries = read(store, prefix).await.entries;
        let at = began.elapsed();
        match entries.len() {
            // The read may have been slow.
            3 => assert!(at < LIFETIME + GRACE, "the lease should have ended"),
            1 => break at,
            other => unreachable!("entries of one lease end together, and the rest stays: {other}"),
        }
        sleep(Duration::from_millis(50)).await;
    };
    assert!(gone >= Duration::from_millis(1900), "the lease ended early: after {gone:?}");
    assert!(get(store, &key(b"stays")).await.is_some());
    assert_eq!(store.keep_alive(&lease).await, Ok(false), "it has ended");
    refuses(store, &lease).await;
    assert_eq!(store.revoke(&lease).await, Ok(()), "no error");
    sleep((LIFETIME + GRACE).saturating_sub(began.elapsed())).await;
    assert_eq!(store.keep_alive(&unused).await, Ok(false), "one without entries ends as well");
}

/// Tests that a lease that is kept alive outlives its lifetime, with its entries unchanged, and ends afterwards.
///
/// # Panics
/// Panics if the contract is broken.
pub async fn a_lease_kept_alive_lives_on<C: Fn() -> Arc<dyn Store>>(client: &C) {
    let store = client();
    let store = &*store;
    let key = b"contract/lease/alive";
    let lease = grant(store, LIFETIME).await;
    let revision = commit(store, vec![put_under(key, &lease)]).await;
    let began = Instant::now();
    while began.elapsed() < LIFETIME * 3 {
        sleep(LIFETIME / 5).await;
        assert_eq!(store.keep_alive(&lease).await, Ok(true), "after {:?}", began.elapsed());
        assert_eq!(get(store, key).await.map(|entry| entry.revision), Some(revision));
    }
    let began = Instant::now();
    while get(store, key).await.is_some() {
        assert!(began.elapsed() < LIFETIME + GRACE, "the lease should have ended");
        sleep(Duration::from_millis(50)).await;
    }
    let lived = began.elapsed();
    assert!(lived > LIFETIME / 2, "it lives for its lifetime after it was kept alive: {lived:?}");
    assert_eq!(store.keep_alive(&lease).await, Ok(false));
}

/// Tests that the entries of a revoked lease are gone at once, and it accepts no others.
///
/// # Panics
/// Panics if the contract is broken.
pub async fn a_revoked_lease_ends_at_once<C: Fn() -> Arc<dyn Store>>(client: &C) {
    let (store, other) = (client(), client());
    let store = &*store;
    let key = b"contract/lease/revoked";
    let lease = grant(store, Duration::from_secs(3600)).await;
    assert_ne!(lease, grant(store, LIFETIME).await, "each lease has a name of its own");
    let revision = commit(store, vec![put_under(key, &lease)]).await;
    assert_eq!(other.keep_alive(&lease).await, Ok(true), "any client may");
    assert_eq!(other.revoke(&lease).await, Ok(()));
    let snapshot = read(store, key).await;
    assert_eq!(snapshot.entries, []);
    assert!(snapshot.revision > revision, "the end of an entry is a change");
    assert_eq!(store.keep_alive(&lease).await, Ok(false));
    assert_eq!(store.revoke(&lease).await, Ok(()), "no error");
    refuses(store, &lease).await;
    let absent = vec![Condition::Absent(key.into())];
    assert!(commit_if(store, absent, vec![put(key, b"")]).await.is_some());
}

/// Tests that an entry ends with the lease of its last put: none, or another.
///
/// # Panics
/// Panics if the contract is broken.
pub async fn a_put_decides_the_lease<C: Fn() -> Arc<dyn Store>>(client: &C) {
    let store = client();
    let store = &*store;
    let key = |name: &str| format!("contract/lease/put/{name}").into_bytes();
    let (first, second) = (grant(store, LIFETIME).await, grant(store, LIFETIME).await);
    commit(store, vec![put_under(&key("freed"), &first), put_under(&key("moved"), &first)]).await;
    commit(store, vec![put(&key("freed"), b""), put_under(&key("moved"), &second)]).await;
    assert_eq!(store.revoke(&first).await, Ok(()));
    assert_eq!(read(store, &key("")).await.entries.len(), 2);
    assert_eq!(store.revoke(&second).await, Ok(()));
    assert_eq!(get(store, &key("moved")).await, None);
    assert!(get(store, &key("freed")).await.is_some());
}

pub(super) async fn grant(store: &dyn Store, lifetime: Duration) -> LeaseId {
    store.grant(lifetime).await.expect("the store can be reached")
}

/// Tests that a lease that has ended takes no entry, and that nothing else of that transaction happens.
async fn refuses(store: &dyn Store, lease: &LeaseId) {
    let (under, other) = (b"contract/lease/refused/under", b"contract/lease/refused/other");
    let changes = vec![put(other, b""), put_under(under, lease)];
    let result = store.commit(Transaction { conditions: Vec::new(), changes }).await;
    assert!(matches!(result, Err(StoreError::Refused(_))), "{result:?}");
    assert_eq!(read(store, b"contract/lease/refused/").await.entries, []);
}
