//! How proxies stay live, and stop.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tessera_bindings::ProxyEntry;
use tessera_store::Store;

use crate::world::{TIMES, World, entry, proxy, until};

/// Its lease is renewed at that moment: the entry must not come back with a new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_left_does_not_come_back() {
    let world = World::new();
    let (name, table) = (proxy("a"), world.table().await);
    let lease = world.bindings.join(&name, entry("a", "same"), Duration::from_secs(1)).unwrap();
    until("it is live", || table.proxy(&name).is_some()).await;
    world.store.holds_renewals.store(true, Ordering::Relaxed);
    until("it renews", || world.store.is_renewing.load(Ordering::Relaxed)).await;
    lease.leave().await.unwrap();
    world.store.holds_renewals.store(false, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(world.store.read(b"/pool/p/").await.unwrap().entries.is_empty());
}

/// Requests to keep the old lease may come late, and would keep a proxy live that can't follow the bindings.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_lost_the_store_begins_another_lease() {
    let world = World::new();
    let (name, table) = (proxy("a"), world.table().await);
    let _a = world.bindings.join(&name, entry("a", "same"), Duration::from_secs(1)).unwrap();
    until("it is live", || table.proxy(&name).is_some()).await;
    world.store.is_lost.store(true, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_millis(500)).await;
    world.store.is_lost.store(false, Ordering::Relaxed);
    until("it has another lease", || world.store.granted() == 2).await;
}

/// A process that dies without a word.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_is_live_until_its_lease_ends() {
    let world = World::new();
    let table = world.table().await;
    let name = proxy("a");
    let lease = world.bindings.join(&name, entry("a", "same"), Duration::from_secs(1)).unwrap();
    until("it is live", || table.proxy(&name) == Some(entry("a", "same"))).await;
    let revision = async || world.store.read(b"/pool/p/1:a").await.unwrap().entries[0].revision;
    let written = revision().await;
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert!(table.proxy(&name).is_some(), "the lease is renewed");
    assert_eq!(revision().await, written, "without another commit");
    // The store was lost for longer than the lease.
    world.store.revoke_granted().await;
    until("it has a new lease", || world.store.granted() == 2).await;
    until("it is live again", || table.proxy(&name).is_some()).await;
    drop(lease);
    until("it is not live", || table.proxy(&name).is_none()).await;
    let empty = ProxyEntry { authority: String::new(), ..entry("a", "same") };
    assert!(world.bindings.join(&proxy(""), empty, TIMES.dwell).is_err());
}

#[tokio::test]
async fn a_proxy_knows_whether_the_others_hold_it_for_live() {
    let world = World::new();
    let lifetime = Duration::from_millis(300);
    let lease = world.bindings.join(&proxy("a"), entry("a", "same"), lifetime).unwrap();
    until("it is held", || lease.is_held()).await;
    world.store.holds_renewals.store(true, Ordering::Relaxed);
    until("its lease is over", || !lease.is_held()).await;
}

/// It joins again, and its table has yet to follow what others did meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_joins_again_waits_until_its_table_has_followed() {
    let world = World::new();
    let lifetime = Duration::from_secs(3);
    let lease = world.bindings.join(&proxy("a"), entry("a", "same"), lifetime).unwrap();
    until("it is held", || lease.is_held()).await;
    let (table, frozen) = (world.table().await, world.frozen_table().await);
    assert!(table.is_sure_for(&lease) && frozen.is_sure_for(&lease));
    world.store.revoke_granted().await;
    until("it has joined again", || world.store.granted() == 2 && lease.is_held()).await;
    until("its table has followed", || table.is_sure_for(&lease)).await;
    assert!(lease.is_held() && !frozen.is_sure_for(&lease));
}

/// A mistake in a file: two owners of the same clients would change their state at two places.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_processes_with_one_name_the_later_one_holds_the_lease_until_it_leaves() {
    let world = World::new();
    let (name, lifetime) = (proxy("a"), Duration::from_millis(1500));
    let table = world.table().await;
    let join = |life: &str| {
        let entry = ProxyEntry { life: life.into(), ..entry("a", "same") };
        world.bindings.join(&name, entry, lifetime).unwrap()
    };
    let earlier = join("first");
    until("the first is sure", || table.is_sure_for(&earlier)).await;
    let later = join("second");
    until("the second is sure", || table.is_sure_for(&later)).await;
    assert!(!table.is_sure_for(&earlier), "its table shows the other");
    until("the first has noticed", || !earlier.is_held()).await;
    let reads = world.store.reads.load(Ordering::Relaxed);
    until("both have looked again and again", || {
        world.store.reads.load(Ordering::Relaxed) > reads + 6
    })
    .await;
    assert!(!earlier.is_held() && table.proxy(&name).unwrap().life == "second");
    later.leave().await.unwrap();
    until("the first has joined again", || table.is_sure_for(&earlier)).await;
    assert!(!later.is_held());
}
