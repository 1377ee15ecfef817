//! Rotation in two phases.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tessera_ring::ChangeError;
use tokio::time::sleep;

use crate::world::{HOUR, SECOND, World, settled, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_key_is_held_by_all_before_it_seals_anywhere() {
    let world = World::new();
    let (a, b) = (world.join("a"), world.join("b"));
    settled(&[&a, &b]).await;
    let mut issued = BTreeSet::new();
    for _ in 0..5 {
        let held = a.held();
        issued.insert(held.issuing.unwrap());
        world.pass(HOUR + SECOND);
        until("the next key seals", || a.held().issuing == held.next).await;
        settled(&[&a, &b]).await;
        assert_eq!(a.held().earlier[0], held.issuing.unwrap());
    }
    assert_eq!(issued.len(), 5);
    // A key opens for three hours and a minute after its activation: those of the last three hours.
    assert!(a.held().earlier.len() <= 3, "{:?}", a.held());
    let epochs: Vec<_> = a.ring.status().active.iter().map(|key| key.epoch).collect();
    assert!(epochs.is_sorted_by(|later, earlier| later > earlier), "{epochs:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_one_server_refuses_is_activated_nowhere() {
    let world = World::new();
    let (a, b) = (world.join("a"), world.join("b"));
    settled(&[&a, &b]).await;
    world.pass(HOUR + SECOND);
    let first = a.held();
    until("the second key seals", || a.held().issuing == first.next).await;
    settled(&[&a, &b]).await;

    // The third key is distributed already. The fourth reaches one server alone.
    b.server.refuses.store(true, Ordering::Relaxed);
    let second = a.held();
    a.ring.rotate().await.unwrap();
    until("a holds the fourth key", || a.held().issuing == second.next).await;
    until("b's problem is known", || b.problem().as_deref() == Some("the server is down")).await;
    let third = a.held();
    assert_eq!(a.ring.rotate().await, Err(ChangeError::WaitingFor(vec!["b".into()])));
    sleep(Duration::from_millis(200)).await;
    assert_eq!(a.held(), third);
    assert_eq!(a.ring.status().waiting_for, ["b"]);
    let b_held = a.ring.status().members.iter().find(|it| it.name == "b").unwrap().clone();
    assert!(!b_held.holds_next && b_held.keys[0] == second.issuing.unwrap(), "{b_held:?}");
    // b's server still opens what a seals.
    assert_eq!(b.held().next, third.issuing);

    b.server.refuses.store(false, Ordering::Relaxed);
    settled(&[&a, &b]).await;
    assert_eq!(b.problem(), None);
    a.ring.rotate().await.unwrap();
    until("it goes on", || b.held().issuing == third.next).await;
}

/// A server that refuses for a quarter of the time for which a key seals doesn't stop the others for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_whose_server_refuses_for_long_is_no_longer_waited_for() {
    let world = World::new();
    let (a, b) = (world.join("a"), world.join("b"));
    settled(&[&a, &b]).await;
    b.server.refuses.store(true, Ordering::Relaxed);
    a.ring.rotate().await.unwrap();
    until("b is waited for", || a.ring.status().waiting_for == ["b"]).await;
    until("b's problem is known", || b.problem().is_some()).await;
    world.pass(HOUR / 2 + SECOND);
    until("b has left", || a.ring.status().members.len() == 1).await;
    a.ring.rotate().await.unwrap();
    b.server.refuses.store(false, Ordering::Relaxed);
    settled(&[&a, &b]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revocation_leaves_none_of_the_earlier_keys() {
    let world = World::new();
    let (a, b) = (world.join("a"), world.join("b"));
    settled(&[&a, &b]).await;
    a.ring.rotate().await.unwrap();
    settled(&[&a, &b]).await;
    let before = a.held();
    assert_eq!(before.earlier.len(), 1);
    b.ring.revoke().await.unwrap();
    until("the keys are gone", || a.held().issuing != before.issuing).await;
    settled(&[&a, &b]).await;
    let after = a.held();
    let old: Vec<_> = before.issuing.iter().chain(&before.next).chain(&before.earlier).collect();
    assert!(after.earlier.is_empty(), "{after:?}");
    assert!(!old.contains(&&after.issuing.unwrap()) && !old.contains(&&after.next.unwrap()));
    // The ring goes on.
    a.ring.rotate().await.unwrap();
    until("it rotates", || b.held().issuing == after.next).await;
}

/// A transaction of a store has at most 128 conditions and 128 changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revocation_of_more_keys_than_fit_into_a_transaction_revokes_them_all() {
    let world = World::new();
    let a = world.join("a");
    settled(&[&a]).await;
    for _ in 0..130 {
        a.ring.rotate().await.unwrap();
    }
    let before = a.held();
    assert!(before.earlier.len() >= 130);
    a.ring.revoke().await.unwrap();
    until("the keys are gone", || a.held().issuing != before.issuing).await;
    assert!(a.held().earlier.is_empty());
    // Entries that are left count for no member.
    let b = world.join("b");
    settled(&[&a, &b]).await;
    assert!(b.held().earlier.is_empty() && b.problem().is_none(), "{:?}", b.problem());
}

/// Times are enforced by each member, with or without the store.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_is_cut_off_stops_sealing_and_then_drops_its_keys() {
    let world = World::new();
    let (a, b) = (world.join("a"), world.join("b"));
    settled(&[&a, &b]).await;
    let held = b.held();
    b.link.is_cut.store(true, Ordering::Relaxed);
    // It seals for two hours, and opens for another, and for a minute of skew.
    world.pass(HOUR * 2 - SECOND);
    sleep(Duration::from_millis(200)).await;
    assert_eq!(b.held().issuing, held.issuing);
    world.pass(SECOND);
    until("it stops sealing", || b.held().issuing.is_none()).await;
    assert_eq!((b.held().earlier, b.held().next), (vec![held.issuing.unwrap()], held.next));
    world.pass(HOUR + Duration::from_secs(59));
    sleep(Duration::from_millis(200)).await;
    assert_eq!(b.held().earlier.len(), 1);
    world.pass(SECOND);
    until("it drops the key", || b.held().earlier.is_empty()).await;

    until("a goes on without b", || a.ring.status().members.len() == 1).await;
    b.link.is_cut.store(false, Ordering::Relaxed);
    settled(&[&a, &b]).await;
}
