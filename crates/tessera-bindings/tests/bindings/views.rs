//! Steps that begin with what a table has, and drains.

use std::sync::atomic::Ordering;

use tessera_bindings::{
    BindingError, BindingState, DrainScope, Import, PoolSettings, ProxyEntry, StepRefused,
};
use tessera_store::Store;

use crate::world::{TIMES, World, client, entry, import, proxy, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_with_a_current_table_reads_nothing() {
    let world = World::new();
    let _live = (world.join("a").await, world.join("b").await);
    let (drone, b) = (client("drone"), proxy("b"));
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    let table = world.table().await;
    let bindings = world.bindings.clone().with_table(&table);
    let reads = world.store.reads.load(Ordering::Relaxed);
    let shows = async |binding: &tessera_bindings::Binding| {
        until("the table has the step", || table.binding(&drone).as_ref() == Some(binding)).await;
    };
    let begun = bindings.begin(&drone, &b).await.unwrap();
    shows(&begun).await;
    let number = begun.generation;
    shows(&bindings.prepared(&drone, number, &b, &import(0)).await.unwrap()).await;
    shows(&bindings.announce(&drone, number).await.unwrap()).await;
    shows(&bindings.switch(&drone, number, &b).await.unwrap()).await;
    assert_eq!(world.store.reads.load(Ordering::Relaxed), reads, "a step read the store");
}

#[tokio::test]
async fn an_old_table_refuses_nothing_and_decides_nothing() {
    let world = World::new();
    let _live = (world.join("a").await, world.join("b").await, world.join("c").await);
    let (drone, b, c) = (client("drone"), proxy("b"), proxy("c"));
    let old = world.frozen_table().await;
    let bindings = world.bindings.clone().with_table(&old);

    // The table doesn't have the binding.
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    let begun = bindings.begin(&drone, &b).await.unwrap();
    assert_eq!(begun.owner(), &proxy("a"));
    assert_eq!(old.binding(&drone), None, "the table was to be old");

    // It has a binding that others have changed, and shows the step as taken already.
    let old = world.frozen_table().await;
    let bindings = world.bindings.clone().with_table(&old);
    world.bindings.abort(&drone, begun.generation).await.unwrap();
    world.pass(TIMES.dwell);
    let other = world.bindings.begin(&drone, &c).await.unwrap();
    let moving = BindingError::Refused(StepRefused::Moving(c.clone()));
    assert_eq!(bindings.begin(&drone, &b).await, Err(moving), "a step began from an old binding");
    assert_eq!(bindings.begin(&drone, &c).await.as_ref(), Ok(&other));

    // The owner's certificate was replaced: its sessions aren't resumed at the next proxy.
    world.bindings.abort(&drone, other.generation).await.unwrap();
    let old = world.frozen_table().await;
    let bindings = world.bindings.clone().with_table(&old);
    let _b = world.join_as("b", "other").await;
    let differs = BindingError::NoResumption(proxy("a"), b.clone());
    assert_eq!(bindings.begin(&drone, &b).await, Err(differs));
}

/// Its connection has vanished without a word.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_whose_watch_is_silent_is_not_current_until_it_has_read_again() {
    let world = World::new();
    let (lease, drone) = (world.join("a").await, client("drone"));
    let (table, silent) = (world.table().await, world.frozen_table().await);
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    until("the client is known", || table.binding(&drone).is_some()).await;
    assert!(silent.is_current() && silent.is_sure_for(&lease) && silent.binding(&drone).is_none());
    let mut changes = table.changes();
    changes.mark_unchanged();
    until("it isn't current", || !silent.is_current() && !silent.is_sure_for(&lease)).await;
    until("it has read again", || silent.is_current() && silent.is_sure_for(&lease)).await;
    assert!(silent.binding(&drone).is_some());
    assert!(table.is_current(), "nothing happened, but it hears of the mark");
    assert!(!changes.has_changed().unwrap(), "the mark is no change");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_of_a_store_without_changes_stays_current_and_writes_nothing() {
    let world = World::new();
    let table = world.table().await;
    let revision = async || world.store.read(b"/").await.unwrap().revision;
    let (before, reads) = (revision().await, world.store.reads.load(Ordering::Relaxed));
    until("it has asked twice", || world.store.reads.load(Ordering::Relaxed) >= reads + 2).await;
    assert!(table.is_current());
    assert_eq!(revision().await, before);
}

#[tokio::test]
async fn a_move_whose_owner_changes_meanwhile_is_judged_by_the_new_entry() {
    let world = World::new();
    let _live = (world.join("a").await, world.join("b").await);
    let (drone, b) = (client("drone"), proxy("b"));
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    let old = world.frozen_table().await;
    let _a = world.join_as("a", "other").await;
    let begun = world.bindings.clone().with_table(&old).begin(&drone, &b).await;
    assert_eq!(begun, Err(BindingError::NoResumption(proxy("a"), b)));
}

#[tokio::test]
async fn a_proxy_that_was_restarted_is_not_announced_from_an_old_table() {
    let world = World::new();
    let _live = (world.join("a").await, world.join("b").await);
    let (drone, b) = (client("drone"), proxy("b"));
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    let number = world.bindings.begin(&drone, &b).await.unwrap().generation;
    let of_b = Import { life: "first".into(), ..import(0) };
    world.bindings.prepared(&drone, number, &b, &of_b).await.unwrap();
    let old = world.frozen_table().await;
    let restarted = ProxyEntry { life: "second".into(), ..entry("b", "same") };
    let _b = world.join_with("b", restarted).await;
    let announced = world.bindings.clone().with_table(&old).announce(&drone, number).await;
    assert_eq!(announced, Err(BindingError::ImportLost(b)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_is_shown_to_all_until_it_is_undone() {
    let world = World::new();
    let table = world.table().await;
    let scopes = [DrainScope::Proxy(proxy("a")), DrainScope::Site("a".into())];
    for scope in &scopes {
        world.bindings.drain(scope).await.unwrap();
    }
    until("both are shown", || table.drains().len() == 2).await;
    let since = table.drains()[0].1.since;
    world.pass(std::time::Duration::from_secs(5));
    // The second time it is drained already: it keeps its time.
    world.bindings.drain(&scopes[0]).await.unwrap();
    let again = world.table().await;
    assert!(again.drains().iter().all(|(_, drain)| drain.since == since), "{:?}", again.drains());
    for _ in 0..2 {
        world.bindings.undo_drain(&scopes[0]).await.unwrap();
    }
    until("one is left", || table.drains().len() == 1).await;
    assert_eq!(table.drains()[0].0, scopes[1]);
    assert!(world.bindings.drain(&DrainScope::Site(String::new())).await.is_err());
    assert!(world.bindings.drain(&DrainScope::Proxy(proxy(&"a".repeat(256)))).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_prepares_and_is_announced_in_one_transaction_if_it_may() {
    let world = World::new();
    let (_a, b_lease) = (world.join("a").await, world.join("b").await);
    let (drone, b) = (client("drone"), proxy("b"));
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    let table = world.table().await;
    let bindings = world.bindings.clone().with_table(&table);
    let number = bindings.begin(&drone, &b).await.unwrap().generation;
    let ready = async |life: &str, resumption: &str| {
        let import = Import { resumption: resumption.into(), life: life.into(), ..import(0) };
        bindings.prepared_and_announce(&drone, number, &b, &import).await
    };
    let is_preparing = async || {
        let state = world.bindings.read(&drone).await.unwrap().state;
        matches!(state, BindingState::Preparing { import: None, .. })
    };
    assert_eq!(ready("earlier", "same").await, Err(BindingError::ImportLost(b.clone())));
    let differs = BindingError::NoResumption(proxy("a"), b.clone());
    assert_eq!(ready("first", "other").await, Err(differs));
    assert!(matches!(ready("first", &"a".repeat(1025)).await, Err(BindingError::Name(_))));
    assert!(is_preparing().await, "half of it was done");
    let announced = ready("first", "same").await.unwrap();
    assert!(matches!(&announced.state, BindingState::Announced { next, .. } if *next == b));
    assert_eq!(ready("first", "same").await, Ok(announced));
    b_lease.leave().await.unwrap();
    world.bindings.abort(&drone, number).await.unwrap();
    assert!(ready("first", "same").await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_that_must_be_equal_in_the_pool_and_are_not_are_reported() {
    let world = World::new();
    let settings = |seconds| {
        let ma = std::time::Duration::from_secs(seconds);
        PoolSettings::of_times(ma, &TIMES).with("[clients] named-by", "cookie")
    };
    let join = async |name: &str, settings| {
        world.join_with(name, ProxyEntry { settings, ..entry(name, "same") }).await
    };
    // `c` is of an earlier version.
    let _equal = (join("a", settings(30)).await, join("b", settings(30)).await);
    let _c = world.join("c").await;
    let table = world.table().await;
    assert_eq!(table.differing_settings(&settings(30)), Vec::<String>::new());
    assert_eq!(table.differing_settings(&PoolSettings::default()), Vec::<String>::new());
    let _d = join("d", settings(30).with("[clients] named-by", "certificate")).await;
    until("the table has it", || table.proxies().len() == 4).await;
    assert_eq!(
        table.differing_settings(&settings(20)),
        [
            "[clients] named-by must be the same in the whole pool, and is certificate at d; cookie at a, b, this process",
            "[pool] clock-skew must be the same in the whole pool, and is 10s at a, b, d; 20s at this process",
            "[pool] ma must be the same in the whole pool, and is 20s at this process; 30s at a, b, d",
        ]
    );
}
