//! The contract of reads and commits.

use std::slice::from_ref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{at_once, commit, commit_if, delete, get, put, read};
use crate::store::{Change, Condition, Revision, Store, StoreError, Transaction};

/// Tests that every client reads what any has committed before, with its revision.
///
/// # Panics
/// Panics if the contract is broken.
pub async fn a_read_sees_every_commit_before_it<C: Fn() -> Arc<dyn Store>>(client: &C) {
    let (one, other) = (client(), client());
    let key = b"contract/read/key";
    assert_eq!(get(&*one, key).await, None, "the keys of the contract are not there yet");
    for number in 0..20u32 {
        let value = number.to_be_bytes();
        let revision = commit(&*one, vec![put(key, &value)]).await;
        for reader in [&one, &other] {
            let snapshot = read(&**reader, key).await;
            let [entry] = &snapshot.entries[..] else { unreachable!("one entry: {snapshot:?}") };
            assert_eq!((&entry.value[..], entry.revision), (&value[..], revision));
            assert!(snapshot.revision >= revision, "{snapshot:?} is older than {revision:?}");
        }
    }
    let revision = commit(&*one, vec![delete(key)]).await;
    for reader in [&one, &other] {
        let snapshot = read(&**reader, key).await;
        assert!(snapshot.entries.is_empty(), "it was deleted");
        assert!(snapshot.revision >= revision);
    }
    // Deleting what isn't there is no error.
    commit(&*one, vec![delete(key)]).await;
}

/// Tests each condition, where it holds and where it doesn't, and that a transaction happens as a whole or not at all.
///
/// # Panics
/// Panics if the contract is broken.
pub async fn a_condition_holds_or_nothing_happens<C: Fn() -> Arc<dyn Store>>(client: &C) {
    let store = client();
    let store = &*store;
    let key = |name: &str| format!("contract/conditions/{name}").into_bytes();
    let (a, b, gone) = (key("p/a"), key("p/b"), key("p/gone"));
    let old = commit(store, vec![put(&a, b"1")]).await;
    let new = commit(store, vec![put(&a, b"2"), put(&b, b"1"), put(&gone, b"1")]).await;
    let deletion = commit(store, vec![delete(&gone)]).await;
    assert!(old < new && new < deletion);
    commit(store, vec![put(&key("other"), b"1")]).await;

    let absent = |key: &[u8]| Condition::Absent(key.into());
    let unchanged = |key: &[u8], since| Condition::Unchanged(key.into(), since);
    let none_since = |prefix: &[u8], since| Condition::NoneWrittenSince(prefix.into(), since);
    let holding = [
        absent(&gone),
        absent(&key("never")),
        absent(&key("p/")),
        unchanged(&a, new),
        unchanged(&b, new),
        // A deletion is no write, and a neighbour doesn't count.
        none_since(&key("p/"), new),
        none_since(&key("p/gone"), Revision(0)),
        none_since(&key("nothing"), Revision(0)),
        none_since(&key("p/"), Revision(u64::MAX)),
    ];
    let failing = [
        absent(&a),
        unchanged(&a, old),
        unchanged(&a, deletion),
        unchanged(&gone, new),
        unchanged(&gone, deletion),
        unchanged(&key("never"), Revision(0)),
        unchanged(&a, Revision(u64::MAX)),
        none_since(&key("p/"), old),
        none_since(&a, old),
        none_since(&key(""), new),
    ];
    let effect = key("effect");
    let effects = || vec![put(&effect, b""), delete(&b)];
    for condition in &failing {
        for conditions in [
            vec![condition.clone()],
            // It counts wherever it is among others.
            [&holding[..], from_ref(condition)].concat(),
            [from_ref(condition), &holding[..]].concat(),
        ] {
            assert_eq!(commit_if(store, conditions, effects()).await, None, "{condition:?}");
            assert_eq!(get(store, &effect).await, None, "{condition:?}");
            assert!(get(store, &b).await.is_some(), "{condition:?}");
        }
        assert_eq!(commit_if(store, vec![condition.clone()], Vec::new()).await, None);
    }
    for condition in &holding {
        assert!(commit_if(store, vec![condition.clone()], Vec::new()).await.is_some());
        let done = commit_if(store, vec![condition.clone()], vec![put(&effect, b"")]).await;
        assert!(done.is_some(), "{condition:?}");
        assert_eq!(get(store, &effect).await.map(|entry| entry.revision), done);
    }
    let done = commit_if(store, holding.into(), effects()).await;
    assert!(done.is_some(), "all hold together");
    assert_eq!(get(store, &b).await, None, "the second change happens too");
    assert_eq!(get(store, &effect).await.map(|entry| entry.revision), done);
}

/// Tests that a transaction that changes a key twice is refused, and has no effect.
///
/// # Panics
/// Panics if the contract is broken.
pub async fn a_key_is_changed_once_in_a_transaction<C: Fn() -> Arc<dyn Store>>(client: &C) {
    let store = client();
    let (key, other) = (b"contract/twice/key", b"contract/twice/other");
    for second in [put(key, b"2"), delete(key)] {
        let changes = vec![put(other, b""), put(key, b"1"), second];
        let result = store.commit(Transaction { conditions: Vec::new(), changes }).await;
        assert!(matches!(result, Err(StoreError::Refused(_))), "{result:?}");
        assert_eq!(read(&*store, b"contract/twice/").await.entries, []);
    }
}

/// Tests that keys and prefixes are any bytes, in the order of bytes, and that a prefix doesn't see its neighbours.
///
/// # Panics
/// Panics if the contract is broken.
pub async fn prefixes_are_bytes<C: Fn() -> Arc<dyn Store>>(client: &C) {
    let store = client();
    let store = &*store;
    // At the end of all keys, and amid them.
    for base in [&b"\xff\xffcontract/bytes"[..], b"contract/bytes"] {
        let tails: [&[u8]; 15] = [
            b"",
            b"\0",
            b"\0\0",
            b"\n\"\\",
            b"/",
            b"//",
            b"/a",
            b"/a\0",
            b"/b",
            b"0",
            b"a/b",
            b"\xc3\xa9",
            b"\xff",
            b"\xff\xff",
            b"\xff\xff\x01",
        ];
        let keys: Vec<_> = tails.iter().map(|tail| [base, tail].concat()).collect();
        commit(store, keys.iter().map(|key| put(key, key)).collect()).await;
        for prefix in &keys {
            let expected: Vec<_> = keys.iter().filter(|key| key.starts_with(prefix)).collect();
            let snapshot = read(store, prefix).await;
            let found: Vec<_> = snapshot.entries.iter().map(|entry| &entry.key).collect();
            assert_eq!(found, expected, "below {prefix:?}");
            assert!(snapshot.entries.iter().all(|entry| entry.value == entry.key));
        }
        for prefix in [&b""[..], &base[..1]] {
            let found = read(store, prefix).await.entries;
            assert!(found.iter().all(|entry| entry.key.starts_with(prefix)));
            let ours = found.iter().filter(|entry| entry.key.starts_with(base));
            assert_eq!(ours.count(), keys.len(), "below {prefix:?}");
            assert!(found.is_sorted_by(|a, b| a.key < b.key));
        }
        commit(store, keys.iter().map(|key| delete(key)).collect()).await;
        assert_eq!(read(store, base).await.entries, []);
    }
    // A prefix of 0xff alone in a condition.
    let since = read(store, b"").await.revision;
    let none_since = |since| vec![Condition::NoneWrittenSince(b"\xff\xff".into(), since)];
    let key = b"\xff\xffcontract/none since";
    assert!(commit_if(store, none_since(since), vec![put(key, b"")]).await.is_some());
    assert_eq!(commit_if(store, none_since(since), vec![put(key, b"")]).await, None);
    commit(store, vec![delete(key)]).await;
}

/// Tests that the longest key and value and the largest transaction are accepted, and an empty key is refused.
///
/// # Panics
/// Panics if the contract is broken.
pub async fn limits_are_reached<C: Fn() -> Arc<dyn Store>>(client: &C) {
    let store = client();
    let store = &*store;
    let mut key = b"contract/limits/long".to_vec();
    key.resize(1024, b'k');
    let value: Vec<u8> = (0..1024 * 1024).map(|at| (at % 251) as u8).collect();
    commit(store, vec![put(&key, &value)]).await;
    assert!(get(store, &key).await.is_some_and(|entry| entry.value == value));
    commit(store, vec![delete(&key)]).await;

    let keys: Vec<_> = (0..128).map(|number| format!("contract/limits/{number}")).collect();
    let conditions = keys.iter().map(|key| Condition::Absent(key.clone().into())).collect();
    let changes: Vec<_> = keys.iter().map(|key| put(key.as_bytes(), &[7; 9000])).collect();
    let done = commit_if(store, conditions, changes).await;
    assert!(done.is_some());
    let entries = read(store, b"contract/limits/").await.entries;
    assert!(entries.len() == 128 && entries.iter().all(|entry| Some(entry.revision) == done));
    commit(store, keys.iter().map(|key| delete(key.as_bytes())).collect()).await;

    let changes = vec![put(b"contract/limits/next to it", b""), put(b"", b"")];
    let result = store.commit(Transaction { conditions: Vec::new(), changes }).await;
    assert!(matches!(result, Err(StoreError::Refused(_))), "an empty key: {result:?}");
    assert_eq!(read(store, b"contract/limits/").await.entries, []);
}

/// Tests that a snapshot shows all changes of a transaction or none, while many are committed.
///
/// # Panics
/// Panics if the contract is broken.
pub async fn a_snapshot_is_one_moment<C: Fn() -> Arc<dyn Store>>(client: &C) {
    const PREFIX: &[u8] = b"contract/moment/";
    let keys: Vec<_> = (0..20).map(|number| format!("contract/moment/{number}")).collect();
    let writes = move |value: u32| -> Vec<Change> {
        keys.iter().map(|key| put(key.as_bytes(), &value.to_be_bytes())).collect()
    };
    commit(&*client(), writes(0)).await;
    let done = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..4).map(|_| (client(), done.clone())).collect();
    let readers = at_once(readers.into_iter().map(|(store, done)| async move {
        let mut last = Revision::default();
        while !done.load(Ordering::Relaxed) {
            let snapshot = read(&*store, PREFIX).await;
            let first = &snapshot.entries[0];
            assert_eq!(snapshot.entries.len(), 20);
            for entry in &snapshot.entries {
                let differs = "a snapshot has a part of a transaction";
                assert_eq!(
                    (&entry.value, entry.revision),
                    (&first.value, first.revision),
                    "{differs}"
                );
            }
            assert!(snapshot.revision >= first.revision, "its revision is that of its moment");
            assert!(snapshot.revision >= last, "a later read has an older state");
            last = snapshot.revision;
            // A client that answers at once lets others run.
            tokio::task::yield_now().await;
        }
    }));
    let store = client();
    let writer = async move {
        for value in 1..100 {
            commit(&*store, writes(value)).await;
        }
        done.store(true, Ordering::Relaxed);
    };
    // In a task of its own, so that a reader's panic is seen.
    let writer = at_once([writer]);
    tokio::join!(readers, writer);
}

/// Tests that of many commits by which an entry is made, changed or outdated, at the same revision, one wins.
///
/// # Panics
/// Panics if the contract is broken.
pub async fn one_of_many_commits_wins<C: Fn() -> Arc<dyn Store>>(client: &C) {
    let key = b"contract/race/key";
    for round in 0..5u32 {
        let prefix = format!("contract/race/{round}/");
        let wins = race(client, |number| (Condition::Absent(key.into()), put(key, &[number])));
        let written = wins.await;
        let wins =
            race(client, |number| (Condition::Unchanged(key.into(), written), put(key, &[number])));
        assert!(wins.await > written);
        let since = read(&*client(), prefix.as_bytes()).await.revision;
        let wins = race(client, |number| {
            let own = format!("{prefix}{number}");
            (Condition::NoneWrittenSince(prefix.clone().into(), since), put(own.as_bytes(), b""))
        });
        assert!(wins.await > since);
        assert_eq!(read(&*client(), prefix.as_bytes()).await.entries.len(), 1);
        commit(&*client(), vec![delete(key)]).await;
    }
}

/// Returns the revision of the commit that won.
async fn race<C: Fn() -> Arc<dyn Store>>(
    client: &C,
    transaction: impl Fn(u8) -> (Condition, Change),
) -> Revision {
    let tasks: Vec<_> = (0..32)
        .map(|number| {
            let (store, (condition, change)) = (client(), transaction(number));
            async move { commit_if(&*store, vec![condition], vec![change]).await }
        })
        .collect();
    let wins: Vec<_> = at_once(tasks).await.into_iter().flatten().collect();
    assert_eq!(wins.len(), 1, "one of many commits at the same revision wins");
    wins[0]
}

/// Tests that a counter that many tasks increase, each by what it read, loses no increment.
///
/// # Panics
/// Panics if the contract is broken.
pub async fn counters_lose_nothing<C: Fn() -> Arc<dyn Store>>(client: &C) {
    const KEY: &[u8] = b"contract/counter";
    const TASKS: u32 = 8;
    const INCREMENTS: u32 = 10;
    let count = |value: &[u8]| u32::from_be_bytes(value.try_into().expect("as it was put"));
    commit(&*client(), vec![put(KEY, &0u32.to_be_bytes())]).await;
    let clients: Vec<_> = (0..TASKS).map(|_| client()).collect();
    at_once(clients.into_iter().map(|store| async move {
        for _ in 0..INCREMENTS {
            loop {
                let entry = get(&*store, KEY).await.expect("it is there");
                let unchanged = Condition::Unchanged(KEY.into(), entry.revision);
                let change = put(KEY, &(count(&entry.value) + 1).to_be_bytes());
                if commit_if(&*store, vec![unchanged], vec![change]).await.is_some() {
                    break;
                }
            }
        }
    }))
    .await;
    let entry = get(&*client(), KEY).await.expect("it is there");
    assert_eq!(count(&entry.value), TASKS * INCREMENTS);
}

/// Tests that each commit that changes something has a greater revision than all before, of any client.
///
/// # Panics
/// Panics if the contract is broken.
pub async fn revisions_grow<C: Fn() -> Arc<dyn Store>>(client: &C) {
    let clients = [client(), client()];
    let mut last = read(&*clients[0], b"contract/grow/").await.revision;
    for number in 0..40u8 {
        let store = &*clients[usize::from(number % 2)];
        let key = [b"contract/grow/", &[number / 4][..]].concat();
        let change = if number % 4 == 3 { delete(&key) } else { put(&key, b"the same") };
        let revision = commit(store, vec![change]).await;
        assert!(revision > last, "{revision:?} after {last:?}");
        last = revision;
    }
    let tasks: Vec<_> = (0..32u8)
        .map(|number| {
            let store = client();
            async move {
                commit(&*store, vec![put(&[b"contract/grow/x", &[number][..]].concat(), b"")]).await
            }
        })
        .collect();
    let mut revisions = at_once(tasks).await;
    assert!(revisions.iter().all(|revision| *revision > last));
    revisions.sort_unstable();
    assert!(revisions.is_sorted_by(|a, b| a < b), "two commits have one revision");
    assert!(read(&*clients[0], b"").await.revision >= revisions[31]);
}
