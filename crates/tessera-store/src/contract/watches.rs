//! The contract of watches.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::leases::grant;
use super::{at_once, commit, commit_if, delete, put, put_under, read};
use crate::store::{
    Change, ChangedEntry, Condition, Revision, Store, StoreError, StoredEntry, Watch,
};

/// How late a change may be, and a lease that ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait for a change that must not come.
const QUIET: Duration = Duration::from_millis(300);

/// Tests that a watch returns each change after its revision once, in order, and all of a revision together.
///
/// # Panics
/// Panics if the contract is broken.
pub async fn a_watch_sees_each_change_once_in_order<C: Fn() -> Arc<dyn Store>>(client: &C) {
    let (store, other) = (client(), client());
    let store = &*store;
    let key = |name: &str| format!("contract/watch/order/{name}").into_bytes();
    commit(store, vec![put(&key("before"), b"")]).await;
    let after = read(store, &key("")).await.revision;
    let mut early = watch(store, &key(""), after).await;
    let mut expected = Vec::new();
    for number in 0..30u8 {
        let changes = match number % 3 {
            0 => vec![put(&key("a"), &[number]), put(&key("b"), &[number])],
            1 => vec![delete(&key("a")), put(&key("c"), b"the same")],
            _ => vec![delete(&key("b")), delete(&key("never"))],
        };
        let writer = if number % 2 == 0 { store } else { &*other };
        let revision = commit(writer, changes.clone()).await;
        let changes = changes.into_iter().filter(|change| *change != delete(&key("never")));
        expected.extend(changes.map(|change| changed(change, revision)));
        // What changes nothing is not seen.
        commit(store, vec![delete(&key("never"))]).await;
        let absent = vec![Condition::Absent(key("before"))];
        assert_eq!(commit_if(store, absent, vec![put(&key("a"), b"")]).await, None);
    }
    let late = read(store, &key("")).await.revision;
    let middle = expected[expected.len() / 2].revision();
    for (from, watch) in [
        (after, &mut early),
        (after, &mut watch(&*other, &key(""), after).await),
        (middle, &mut watch(store, &key(""), middle).await),
    ] {
        let expected: Vec<_> =
            expected.iter().filter(|change| change.revision() > from).cloned().collect();
        assert_eq!(take(&mut **watch, expected.len()).await, expected, "after {from:?}");
        is_quiet(&mut **watch).await;
    }
    let mut at_the_end = watch(store, &key(""), late).await;
    is_quiet(&mut *at_the_end).await;
    let revision = commit(&*other, vec![put(&key("a"), b"last")]).await;
    let last = [changed(put(&key("a"), b"last"), revision)];
    for watch in [&mut early, &mut at_the_end] {
        assert_eq!(take(&mut **watch, 1).await, last);
    }
}

/// Tests that a watch from the revision of a read misses nothing, while others write.
///
/// # Panics
/// Panics if the contract is broken.
pub async fn changes_before_a_watch_are_seen<C: Fn() -> Arc<dyn Store>>(client: &C) {
    const KEY: &[u8] = b"contract/watch/between";
    const LAST: u32 = 100;
    commit(&*client(), vec![put(KEY, &0u32.to_be_bytes())]).await;
    let writer = client();
    let writer = at_once([async move {
        for number in 1..=LAST {
            commit(&*writer, vec![put(KEY, &number.to_be_bytes())]).await;
        }
    }]);
    let watchers = (0..4u32).map(|number| (number, client())).map(|(number, store)| async move {
        sleep(Duration::from_millis(u64::from(number) * 20)).await;
        let snapshot = read(&*store, KEY).await;
        let count = |value: &[u8]| u32::from_be_bytes(value.try_into().expect("as it was put"));
        let mut next = count(&snapshot.entries[0].value) + 1;
        // Changes happen now.
        sleep(Duration::from_millis(20)).await;
        let mut watch = watch(&*store, KEY, snapshot.revision).await;
        while next <= LAST {
            for change in take(&mut *watch, 1).await {
                let ChangedEntry::Put(entry) = change else { unreachable!("only puts") };
                assert_eq!(count(&entry.value), next, "a change is missing or repeated");
                next += 1;
            }
        }
    });
    let watchers: Vec<_> = watchers.collect();
    tokio::join!(writer, at_once(watchers));
}

/// Tests that a watch sees its prefix, any bytes, and none of its neighbours.
///
/// # Panics
/// Panics if the contract is broken.
pub async fn a_watch_sees_its_prefix_alone<C: Fn() -> Arc<dyn Store>>(client: &C) {
    let store = client();
    let store = &*store;
    for base in [&b"\xff\xffcontract/watch"[..], b"contract/watch/bytes"] {
        let tails: [&[u8]; 8] =
            [b"", b"\0", b"/", b"/a", b"0", b"\xff", b"\xff\xff", b"\xff\xff\0"];
        let keys: Vec<_> = tails.iter().map(|tail| [base, tail].concat()).collect();
        let after = read(store, b"").await.revision;
        let mut watches = Vec::new();
        for prefix in &keys {
            watches.push((prefix.clone(), watch(store, prefix, after).await));
        }
        watches.push((base[..1].to_vec(), watch(store, &base[..1], after).await));
        for key in &keys {
            commit(store, vec![put(key, b"")]).await;
        }
        commit(store, keys.iter().map(|key| delete(key)).collect()).await;
        for (prefix, mut watch) in watches {
            let seen = || keys.iter().filter(|key| key.starts_with(&prefix[..]));
            // Others may write below the shortest prefix.
            let mut changes = take(&mut *watch, seen().count() * 2).await;
            changes.retain(|change| change.key().starts_with(base));
            let puts = changes.iter().filter(|it| matches!(it, ChangedEntry::Put(_)));
            assert!(puts.map(ChangedEntry::key).eq(seen().map(|key| &key[..])), "{prefix:?}");
            assert_eq!(changes.len(), seen().count() * 2, "{prefix:?}");
        }
    }
}

/// Tests that dropping the future of `next`, after any number of polls, loses and repeats nothing.
///
/// # Panics
/// Panics if the contract is broken.
pub async fn a_watch_loses_nothing_when_dropped<C: Fn() -> Arc<dyn Store>>(client: &C) {
    let store = client();
    let store = &*store;
    let key = b"contract/watch/dropped";
    let after = read(store, key).await.revision;
    let mut watch = watch(store, key, after).await;
    let mut expected = Vec::new();
    let mut seen = Vec::new();
    for number in 0..40u8 {
        let change = put(key, &[number]);
        let revision = commit(store, vec![change.clone()]).await;
        expected.push(changed(change, revision));
        for polls in 0..4 {
            seen.extend(poll(&mut *watch, polls).await);
            sleep(Duration::from_millis(u64::from(number % 3))).await;
        }
    }
    if seen.len() < expected.len() {
        seen.extend(take(&mut *watch, expected.len() - seen.len()).await);
    }
    assert_eq!(seen, expected);
    is_quiet(&mut *watch).await;
}

/// Tests that a watch sees the entries of a lease go, whether it is revoked or its lifetime ends.
///
/// # Panics
/// Panics if the contract is broken.
pub async fn a_watch_sees_leases_end<C: Fn() -> Arc<dyn Store>>(client: &C) {
    let store = client();
    let store = &*store;
    let prefix = b"contract/watch/lease/";
    let key = |name: &[u8]| [&prefix[..], name].concat();
    let (revoked, ending) =
        (grant(store, PATIENCE).await, grant(store, Duration::from_secs(2)).await);
    let changes = vec![
        put_under(&key(b"ending"), &ending),
        put_under(&key(b"revoked"), &revoked),
        put_under(&key(b"revoked too"), &revoked),
    ];
    let after = commit(store, changes).await;
    let mut watch = watch(store, prefix, after).await;
    store.revoke(&revoked).await.expect("the store can be reached");
    for keys in [vec![key(b"revoked"), key(b"revoked too")], vec![key(b"ending")]] {
        let mut changes = take(&mut *watch, keys.len()).await;
        changes.sort_by(|a, b| a.key().cmp(b.key()));
        let deleted = |it: &ChangedEntry| matches!(it, ChangedEntry::Deleted { .. });
        assert!(changes.iter().all(deleted), "{changes:?}");
        assert!(changes.iter().map(ChangedEntry::key).eq(keys.iter().map(|key| &key[..])));
        assert!(changes.iter().all(|change| change.revision() > after));
    }
    is_quiet(&mut *watch).await;
}

async fn watch(store: &dyn Store, prefix: &[u8], after: Revision) -> Box<dyn Watch> {
    store.watch(prefix, after).await.expect("these changes are known")
}

/// Waits for at least `count` changes. Those of one revision must come together, in any order: they are sorted.
async fn take(watch: &mut dyn Watch, count: usize) -> Vec<ChangedEntry> {
    let mut seen: Vec<ChangedEntry> = Vec::new();
    while seen.len() < count {
        let next = timeout(PATIENCE, watch.next()).await;
        let Ok(next) = next else { unreachable!("no more changes after {seen:?}") };
        let next = next.expect("the watch goes on");
        assert!(!next.is_empty(), "a watch returns no empty list");
        assert!(next.is_sorted_by_key(ChangedEntry::revision), "{next:?}");
        let is_later = |last: &ChangedEntry| last.revision() < next[0].revision();
        assert!(seen.last().is_none_or(is_later), "{next:?} after {:?}", seen.last());
        seen.extend(next);
    }
    seen.sort_by(|a, b| (a.revision(), a.key()).cmp(&(b.revision(), b.key())));
    seen
}

async fn is_quiet(watch: &mut dyn Watch) {
    let more = timeout(QUIET, watch.next()).await;
    assert!(more.is_err(), "all changes were seen: {more:?}");
}

/// Polls `next` a few times, and drops it.
async fn poll(watch: &mut dyn Watch, polls: u32) -> Vec<ChangedEntry> {
    let mut next = pin!(watch.next());
    for _ in 0..polls {
        let done: Option<Result<_, StoreError>> = poll_fn(|context| {
            Poll::Ready(match next.as_mut().poll(context) {
                Poll::Ready(result) => Some(result),
                Poll::Pending => None,
            })
        })
        .await;
        if let Some(result) = done {
            return result.expect("the watch goes on");
        }
        tokio::task::yield_now().await;
    }
    Vec::new()
}

fn changed(change: Change, revision: Revision) -> ChangedEntry {
    match change {
        Change::Put { key, value, .. } => ChangedEntry::Put(StoredEntry { key, value, revision }),
        Change::Delete { key } => ChangedEntry::Deleted { key, revision },
    }
}
