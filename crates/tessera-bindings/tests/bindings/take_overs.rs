//! Proxies that die: who takes their clients over.

use std::sync::{Arc, Mutex};

use tessera_bindings::{BindingError, BindingState, LaterChanges, ProxyEntry, StepRefused};
use tokio::task::JoinSet;

use crate::world::{TIMES, World, client, entry, generation, import, proxy, until};

/// Its process dies after the import, and another begins under its name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_lost_its_import_is_neither_announced_nor_takes_over() {
    let world = World::new();
    let (a, _b) = (world.join("a").await, world.join("b").await);
    let (drone, other, name) = (client("drone"), client("other"), proxy("b"));
    for client in [&drone, &other] {
        world.bindings.bind(client, &proxy("a")).await.unwrap();
    }
    let announced = world.announce(&other, "b").await.generation;
    let number = world.bindings.begin(&drone, &name).await.unwrap().generation;
    world.bindings.prepared(&drone, number, &name, &import(0)).await.unwrap();
    let restarted = ProxyEntry { life: "second".into(), ..entry("b", "same") };
    let _restarted = world.join_with("b", restarted).await;
    let lost = Err(BindingError::ImportLost(name.clone()));
    assert_eq!(world.bindings.announce(&drone, number).await, lost);
    assert_eq!(world.bindings.switch(&other, announced, &name).await, lost);
    a.leave().await.unwrap();
    assert_eq!(world.bindings.promote(&other, announced, &name).await, lost);
    // It may begin without.
    let adopted = world.bindings.adopt(&other, announced, &name).await.unwrap();
    assert_eq!(adopted.owner(), &name);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_owners_clients_are_taken_over_once() {
    let world = World::new();
    let a = world.join("a").await;
    let _live = (world.join("b").await, world.join("c").await);
    let (prepared, other) = (client("prepared"), client("other"));
    for name in [&prepared, &other] {
        world.bindings.bind(name, &proxy("a")).await.unwrap();
    }
    let number = world.announce_with(&prepared, "b", 1).await.generation;
    // A live proxy keeps its clients, whatever others think of it.
    let live = Err(BindingError::ProxyLive(proxy("a")));
    assert_eq!(world.bindings.promote(&prepared, number, &proxy("b")).await, live);
    assert_eq!(world.bindings.adopt(&other, generation(1), &proxy("c")).await, live);

    a.leave().await.unwrap();
    let promoted = world.bindings.promote(&prepared, number, &proxy("b")).await.unwrap();
    let BindingState::Switched { owner, changes, .. } = &promoted.state else {
        panic!("{promoted:?}")
    };
    assert_eq!(
        (owner, *changes),
        (&proxy("b"), LaterChanges::Lost),
        "what a changed later died with it"
    );
    // Another one, which hasn't noticed.
    let late = world.bindings.adopt(&prepared, number, &proxy("c")).await;
    assert_eq!(late, Err(BindingError::ProxyLive(proxy("b"))));

    let mut tasks = JoinSet::new();
    for by in ["b", "c"] {
        let (bindings, other) = (world.bindings.clone(), other.clone());
        tasks.spawn(async move { bindings.adopt(&other, generation(1), &proxy(by)).await });
    }
    let results = tasks.join_all().await;
    assert_eq!(results.iter().flatten().count(), 1, "{results:?}");
}

/// Between the look at the lease and the step: the owner is back, or another proxy was faster.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_is_not_taken_from_a_live_proxy_in_the_midst_of_a_step() {
    let world = World::new();
    let (a, b) = (world.join("a").await, world.join("b").await);
    let _c = world.join("c").await;
    let drone = client("drone");
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    let number = world.announce(&drone, "b").await.generation;
    a.leave().await.unwrap();
    let (bindings, back) = (world.bindings.clone(), Arc::new(Mutex::new(None)));
    let kept = back.clone();
    let returns = async move {
        let lease = bindings.join(&proxy("a"), entry("a", "same"), TIMES.drain).unwrap();
        let table = bindings.table();
        until("it is back", || table.proxy(&proxy("a")).is_some()).await;
        *kept.lock().unwrap() = Some(lease);
    };
    world.store.before_next_commit(returns);
    let live = Err(BindingError::ProxyLive(proxy("a")));
    assert_eq!(world.bindings.promote(&drone, number, &proxy("b")).await, live);

    let a = back.lock().unwrap().take().unwrap();
    a.leave().await.unwrap();
    let (bindings, name) = (world.bindings.clone(), drone.clone());
    world.store.before_next_commit(async move {
        bindings.promote(&name, number, &proxy("b")).await.unwrap();
    });
    let live = Err(BindingError::ProxyLive(proxy("b")));
    assert_eq!(world.bindings.adopt(&drone, number, &proxy("c")).await, live);
    drop(b);
}

/// A step that it sent before comes late, or it is cut off from the store for a moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_has_left_takes_no_client() {
    let world = World::new();
    let (a, b, c) = (world.join("a").await, world.join("b").await, world.join("c").await);
    let (moving, other) = (client("moving"), client("other"));
    for name in [&moving, &other] {
        world.bindings.bind(name, &proxy("a")).await.unwrap();
    }
    let number = world.announce(&moving, "b").await.generation;
    let gone = |name| Err(BindingError::ProxyGone(proxy(name)));
    world.store.before_next_commit(async move { b.leave().await.unwrap() });
    assert_eq!(world.bindings.switch(&moving, number, &proxy("b")).await, gone("b"));
    assert_eq!(world.bindings.switch(&moving, number, &proxy("b")).await, gone("b"));
    a.leave().await.unwrap();
    assert_eq!(world.bindings.promote(&moving, number, &proxy("b")).await, gone("b"));
    world.store.before_next_commit(async move { c.leave().await.unwrap() });
    assert_eq!(world.bindings.adopt(&other, generation(1), &proxy("c")).await, gone("c"));
    // One that is back may.
    let _b = world.join("b").await;
    let promoted = world.bindings.promote(&moving, number, &proxy("b")).await.unwrap();
    assert_eq!(promoted.owner(), &proxy("b"));
}

/// The answer of the store was lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_adoption_may_be_repeated() {
    let world = World::new();
    let _b = world.join("b").await;
    let drone = client("drone");
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    let adopt = async |by| world.bindings.adopt(&drone, generation(1), &proxy(by)).await;
    let adopted = adopt("b").await.unwrap();
    assert_eq!(adopt("b").await.as_ref(), Ok(&adopted));
    assert!(adopt("c").await.is_err() && adopted.generation == generation(2));
}

#[tokio::test]
async fn a_client_of_a_proxy_that_is_gone_is_released_once_its_move_is_over() {
    let world = World::new();
    let (a, _b) = (world.join("a").await, world.join("b").await);
    let drone = client("drone");
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    let number = world.announce(&drone, "b").await.generation;
    let table = world.table().await;
    for bindings in [world.bindings.clone(), world.bindings.clone().with_table(&table)] {
        let early = bindings.release_abandoned(&drone, number, &proxy("a")).await;
        assert!(matches!(early, Err(BindingError::Refused(StepRefused::TooSoon(_)))), "{early:?}");
    }
    world.pass(TIMES.announce);
    let release =
        async |number, owner| world.bindings.release_abandoned(&drone, number, &proxy(owner)).await;
    assert_eq!(release(number, "a").await, Err(BindingError::ProxyLive(proxy("a"))));
    a.leave().await.unwrap();
    assert!(release(generation(1), "a").await.is_err(), "an earlier generation");
    assert!(release(number, "c").await.is_err(), "another owner");
    // It comes back right before.
    let (bindings, lease) = (world.bindings.clone(), Arc::new(Mutex::new(None)));
    let kept = lease.clone();
    world.store.before_next_commit(async move {
        let again = bindings.join(&proxy("a"), entry("a", "same"), TIMES.dwell).unwrap();
        let table = bindings.table();
        until("it is back", || table.proxy(&proxy("a")).is_some()).await;
        *kept.lock().unwrap() = Some(again);
    });
    assert_eq!(release(number, "a").await, Err(BindingError::ProxyLive(proxy("a"))));
    let again = lease.lock().unwrap().take().unwrap();
    again.leave().await.unwrap();
    release(number, "a").await.unwrap();
    assert_eq!(world.bindings.read(&drone).await, Err(BindingError::Unbound));
    release(number, "a").await.unwrap();
}
