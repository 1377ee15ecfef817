//! A store that goes back, loses everything, or has what no member wrote.

use std::time::Duration;

use tessera_ring::ChangeError;
use tessera_store::{Change, Store, Transaction};
use tokio::time::sleep;

use crate::world::{Member, World, settled, until};

/// Replaces everything in the store, members aside, by these entries.
async fn restore(world: &World, backup: &tessera_store::Snapshot) {
    let is_member = |key: &[u8]| key.starts_with(b"/ring/a/");
    let current = world.entries().await.entries;
    let mut changes: Vec<_> =
        backup.entries.iter().filter(|entry| !is_member(&entry.key)).collect();
    changes.dedup_by(|a, b| a.key == b.key);
    let puts = changes.iter().map(|entry| Change::Put {
        key: entry.key.clone(),
        value: entry.value.clone(),
        lease: None,
    });
    let kept = |key: &[u8]| is_member(key) || changes.iter().any(|entry| entry.key == key);
    let deletions = current.iter().filter(|entry| !kept(&entry.key));
    let deletions = deletions.map(|entry| Change::Delete { key: entry.key.clone() });
    let changes = puts.chain(deletions).collect();
    let committed = world.store.commit(Transaction { conditions: Vec::new(), changes }).await;
    assert!(committed.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_that_were_revoked_dont_come_back_with_a_backup() {
    let world = World::new();
    let (a, b) = (world.join("a"), world.join("b"));
    settled(&[&a, &b]).await;
    let backup = world.entries().await;
    let revoked = a.held();
    a.ring.revoke().await.unwrap();
    until("they are gone", || b.held().issuing != revoked.issuing).await;
    settled(&[&a, &b]).await;
    let current = a.held();

    restore(&world, &backup).await;
    until("it is noticed", || a.problem().is_some() && b.problem().is_some()).await;
    let problem = a.problem().unwrap();
    assert!(problem.contains("the store was restored from a backup"), "{problem}");
    until("another next key is distributed", || a.held().next != current.next).await;
    settled(&[&a, &b]).await;
    for member in [&a, &b] {
        let held = member.held();
        let ids: Vec<_> = held.issuing.iter().chain(&held.next).chain(&held.earlier).collect();
        assert!(!ids.contains(&&revoked.issuing.unwrap()), "{held:?}");
        assert!(!ids.contains(&&revoked.next.unwrap()), "{held:?}");
        // What seals goes on.
        assert_eq!(held.issuing, current.issuing);
    }
    rotate_once_all_acknowledge(&a).await;
    settled(&[&a, &b]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_loses_everything_costs_no_key() {
    let world = World::new();
    let (a, b) = (world.join("a"), world.join("b"));
    settled(&[&a, &b]).await;
    let before = a.held();
    restore(&world, &tessera_store::Snapshot::default()).await;
    until("another next key is distributed", || a.held().next != before.next).await;
    settled(&[&a, &b]).await;
    assert_eq!(a.held().issuing, before.issuing);
    rotate_once_all_acknowledge(&a).await;
    settled(&[&a, &b]).await;
    assert_ne!(a.held().issuing, before.issuing);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn foreign_entries_are_left_alone_and_counted() {
    let world = World::new();
    let a = world.join("a");
    settled(&[&a]).await;
    let put = |key: &[u8], value: &[u8]| Change::Put {
        key: key.to_vec(),
        value: value.to_vec(),
        lease: None,
    };
    let backup = world.entries().await;
    let active = backup.entries.iter().find(|entry| entry.key.starts_with(b"/ring/k/")).unwrap();
    let changes = vec![
        put(b"/ring/k/0123456789abcdef", b"\x02 of a newer version"),
        // Moved: an entry opens only under its name.
        put(b"/ring/k/moved", &active.value),
        put(b"/ring/unknown", b"?"),
    ];
    world.store.commit(Transaction { conditions: Vec::new(), changes }).await.unwrap();
    until("they are counted", || a.ring.status().unreadable == 2).await;
    a.ring.rotate().await.unwrap();
    settled(&[&a]).await;
    let keys: Vec<_> = world.entries().await.entries.into_iter().map(|entry| entry.key).collect();
    assert!(keys.contains(&b"/ring/unknown".to_vec()) && keys.contains(&b"/ring/k/moved".to_vec()));
}

/// A member of the first version acknowledges ids alone: not enough.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forged_acknowledgement_activates_nothing() {
    let world = World::new();
    let (a, b) = (world.join("a"), world.join("b"));
    settled(&[&a, &b]).await;
    let words = world.entries().await.entries;
    let of_b = words.iter().find(|entry| entry.key == b"/ring/a/b").unwrap();
    let next = a.held().next.unwrap();
    for forged in [of_b.value.clone(), [&[1, 0, 1][..], &next].concat(), b"\xff".to_vec()] {
        let key = b"/ring/a/c".to_vec();
        let put = Change::Put { key, value: forged, lease: None };
        world
            .store
            .commit(Transaction { conditions: Vec::new(), changes: vec![put] })
            .await
            .unwrap();
        until("c is waited for", || a.ring.status().waiting_for == ["c"]).await;
        assert!(a.ring.rotate().await.is_err());
    }
}

/// After a restoration a status may be older than it: then another member is about to acknowledge the next key.
async fn rotate_once_all_acknowledge(member: &Member) {
    let mut tries = 0;
    while let Err(error) = member.ring.rotate().await {
        assert!(matches!(error, ChangeError::WaitingFor(_)) && tries < 500, "{error}");
        tries += 1;
        sleep(Duration::from_millis(10)).await;
    }
}
