//! The steps in a store: races, processes that die between them, proxies that die.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tessera_bindings::{BindingError, BindingState, Import, LaterChanges, ProxyEntry, StepRefused};
use tessera_store::{Change, Store, Transaction};
use tokio::task::JoinSet;

use crate::world::{TIMES, World, client, entry, generation, import, proxy, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_moves_and_each_step_may_be_repeated_by_another_process() {
    let world = World::new();
    let _live = (world.join("a").await, world.join("b").await);
    let (drone, b) = (client("drone"), proxy("b"));
    assert_eq!(world.bindings.read(&drone).await, Err(BindingError::Unbound));
    assert_eq!(world.bindings.begin(&drone, &b).await, Err(BindingError::Unbound));
    let bound = world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    assert_eq!(world.bindings.bind(&drone, &b).await.as_ref(), Ok(&bound), "it is bound already");

    // Each step twice: by a process that dies before it learns of it, and by its successor.
    let begun = world.bindings.begin(&drone, &b).await.unwrap();
    assert_eq!(world.bindings.begin(&drone, &b).await.as_ref(), Ok(&begun));
    let number = begun.generation;
    for _ in 0..2 {
        world.bindings.prepared(&drone, number, &b, &import(0)).await.unwrap();
    }
    for _ in 0..2 {
        world.bindings.announce(&drone, number).await.unwrap();
    }
    for _ in 0..2 {
        let switched = world.bindings.switch(&drone, number, &b).await.unwrap();
        assert_eq!(switched.owner(), &b);
    }
    world.pass(TIMES.drain);
    for _ in 0..2 {
        let settled = world.bindings.settle(&drone, number).await.unwrap();
        assert_eq!(settled.state, BindingState::Stable { owner: b.clone() });
    }
    // What belongs to the move changes nothing after it.
    let late = world.bindings.prepared(&drone, number, &b, &import(0)).await;
    assert!(matches!(late, Err(BindingError::Refused(StepRefused::OutOfOrder(_)))), "{late:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_orchestrators_that_think_they_lead_one_moves_the_client() {
    let world = World::new();
    let _live = (world.join("a").await, world.join("b").await, world.join("c").await);
    for round in 0..20 {
        let name = client(&format!("drone {round}"));
        world.bindings.bind(&name, &proxy("a")).await.unwrap();
        let mut tasks = JoinSet::new();
        for next in ["b", "c"] {
            let (bindings, name) = (world.bindings.clone(), name.clone());
            tasks.spawn(async move { bindings.begin(&name, &proxy(next)).await });
        }
        let results = tasks.join_all().await;
        let begun: Vec<_> = results.iter().flatten().collect();
        assert_eq!(begun.len(), 1, "{results:?}");
        let refused = results.iter().find_map(|it| it.as_ref().err()).unwrap();
        let BindingError::Refused(StepRefused::Moving(next)) = refused else {
            panic!("{refused:?}")
        };
        let BindingState::Preparing { next: begun, .. } = &begun[0].state else {
            panic!("{begun:?}")
        };
        assert_eq!(begun, next);
    }
}

/// Between the look at its binding and the step.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_client_that_reaches_two_proxies_is_bound_to_one() {
    let world = World::new();
    let drone = client("drone");
    let (bindings, name) = (world.bindings.clone(), drone.clone());
    world.store.before_next_commit(async move {
        bindings.bind(&name, &proxy("a")).await.unwrap();
    });
    let bound = world.bindings.bind(&drone, &proxy("b")).await.unwrap();
    assert_eq!(bound.owner(), &proxy("a"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_needs_a_live_proxy_that_resumes_the_owners_sessions() {
    let world = World::new();
    let _a = world.join("a").await;
    let (drone, b) = (client("drone"), proxy("b"));
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    let begin = async || world.bindings.begin(&drone, &b).await;
    assert_eq!(begin().await, Err(BindingError::ProxyGone(b.clone())));
    let _b = world.join_as("b", "other").await;
    let differs = BindingError::NoResumption(proxy("a"), b.clone());
    assert_eq!(begin().await, Err(differs.clone()));
    let _b = world.join("b").await;
    let number = begin().await.unwrap().generation;
    world.bindings.prepared(&drone, number, &b, &import(0)).await.unwrap();
    // Its certificate is replaced, or its ring is lost, before it is announced.
    let lease = world.join_as("b", "other").await;
    assert_eq!(world.bindings.announce(&drone, number).await, Err(differs));
    lease.leave().await.unwrap();
    let gone = BindingError::ProxyGone(b.clone());
    assert_eq!(world.bindings.announce(&drone, number).await, Err(gone));
    // The move is given up at its deadline, by any process.
    let table = world.table().await;
    assert_eq!(world.bindings.take_due_steps(&table).await, Ok(0));
    world.pass(TIMES.prepare);
    assert_eq!(world.bindings.take_due_steps(&table).await, Ok(1));
    let stable = BindingState::Stable { owner: proxy("a") };
    assert_eq!(world.bindings.read(&drone).await.unwrap().state, stable);
}

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

/// Between the look at its lease and the step.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_leaves_in_the_midst_of_a_step_gets_no_client() {
    let world = World::new();
    let (_a, b) = (world.join("a").await, world.join("b").await);
    let drone = client("drone");
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    world.store.before_next_commit(async move { b.leave().await.unwrap() });
    let gone = Err(BindingError::ProxyGone(proxy("b")));
    assert_eq!(world.bindings.begin(&drone, &proxy("b")).await, gone);

    let b = world.join("b").await;
    let number = world.bindings.begin(&drone, &proxy("b")).await.unwrap().generation;
    world.bindings.prepared(&drone, number, &proxy("b"), &import(0)).await.unwrap();
    world.store.before_next_commit(async move { b.leave().await.unwrap() });
    assert_eq!(world.bindings.announce(&drone, number).await, gone);
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

/// It would be written for ever, and no proxy could take over the clients of such a name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_and_texts_that_are_too_long_are_not_stored() {
    let world = World::new();
    let _b = world.join("b").await;
    let (drone, long) = (client("drone"), proxy(&"a".repeat(256)));
    for name in [&long, &proxy("")] {
        let bound = world.bindings.bind(&drone, name).await;
        assert!(matches!(bound, Err(BindingError::Name(_))), "{bound:?}");
    }
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    let adopted = world.bindings.adopt(&drone, generation(1), &long).await;
    assert!(matches!(adopted, Err(BindingError::Name(_))), "{adopted:?}");
    let number = world.bindings.begin(&drone, &proxy("b")).await.unwrap().generation;
    let text = |len| Import { resumption: "a".repeat(len), ..import(0) };
    let prepared =
        async |len| world.bindings.prepared(&drone, number, &proxy("b"), &text(len)).await;
    assert!(prepared(1024).await.is_ok());
    assert!(matches!(prepared(1025).await, Err(BindingError::Name(_))));
    let long = "a".repeat(1025);
    for field in 0..5 {
        let mut entry = entry("d", "same");
        let ProxyEntry { authority, forward, resumption, site, life, .. } = &mut entry;
        let fields = [authority, forward, resumption, site, life];
        *fields.into_iter().nth(field).unwrap() = long.clone();
        assert!(world.bindings.join(&proxy("d"), entry, TIMES.dwell).is_err(), "{field}");
    }
}

/// A table that doesn't know yet that the client was announced.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_whose_time_was_prolonged_is_not_given_up() {
    let world = World::new();
    let _live = (world.join("a").await, world.join("b").await);
    let drone = client("drone");
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    let begun = world.bindings.begin(&drone, &proxy("b")).await.unwrap();
    let number = begun.generation;
    let table = world.table().await;
    world.pass(TIMES.prepare);
    // This happens between the look at the table and the step.
    let (bindings, name) = (world.bindings.clone(), drone.clone());
    world.store.before_next_commit(async move {
        bindings.prepared(&name, number, &proxy("b"), &import(0)).await.unwrap();
        bindings.announce(&name, number).await.unwrap();
    });
    assert_eq!(world.bindings.take_due_steps(&table).await, Ok(0));
    let binding = world.bindings.read(&drone).await.unwrap();
    assert!(matches!(binding.state, BindingState::Announced { .. }), "{binding:?}");
}

/// A proxy with thousands of clients has died.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_that_are_due_do_not_wait_for_each_other() {
    const COUNT: usize = 20;
    let world = World::new();
    let _live = (world.join("a").await, world.join("b").await);
    for number in 0..COUNT {
        let drone = client(&format!("drone {number}"));
        world.bindings.bind(&drone, &proxy("a")).await.unwrap();
        world.bindings.begin(&drone, &proxy("b")).await.unwrap();
    }
    let table = world.table().await;
    world.pass(TIMES.prepare);
    world.store.gathers_more(10);
    let taken = tokio::time::timeout(TIMES.dwell, world.bindings.take_due_steps(&table)).await;
    assert_eq!(taken.expect("one waits for another"), Ok(COUNT));
}

/// The new owner would wait forever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_that_never_come_are_given_up_when_the_move_is_settled() {
    let world = World::new();
    let _live = (world.join("a").await, world.join("b").await);
    let drone = client("drone");
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    let number = world.announce_with(&drone, "b", 1).await.generation;
    world.bindings.switch(&drone, number, &proxy("b")).await.unwrap();
    let table = world.table().await;
    world.pass(TIMES.drain);
    assert_eq!(world.bindings.take_due_steps(&table).await, Ok(1));
    let settled = world.bindings.read(&drone).await.unwrap();
    assert_eq!(settled.state, BindingState::Stable { owner: proxy("b") });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_of_a_newer_version_is_left_alone() {
    let world = World::new();
    let drone = client("drone");
    let key = b"/pool/b/5:drone".to_vec();
    let newer = br#"{"version":2,"generation":1,"owned_since":1,"state_version":0,"state":"stable","owner":"a"}"#;
    for value in [&newer[..], b"{}", b"\xff", b""] {
        let put = Change::Put { key: key.clone(), value: value.to_vec(), lease: None };
        let transaction = Transaction { conditions: Vec::new(), changes: vec![put] };
        world.store.commit(transaction).await.unwrap();
        assert_eq!(world.bindings.read(&drone).await, Err(BindingError::Unreadable));
        let bound = world.bindings.bind(&drone, &proxy("a")).await;
        assert_eq!(bound, Err(BindingError::Unreadable));
    }
    let put = Change::Delete { key };
    let transaction = Transaction { conditions: Vec::new(), changes: vec![put] };
    world.store.commit(transaction).await.unwrap();
    // What an operator reads, and later versions must be able to.
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    let entries = world.store.read(b"/pool/b/").await.unwrap().entries;
    let text = String::from_utf8(entries[0].value.clone()).unwrap();
    assert_eq!(
        text,
        r#"{"version":1,"generation":1800000000000,"owned_since":1800000000000,"owned_in":1800000000000,"state_version":0,"state":"stable","owner":"a"}"#
    );
}

#[tokio::test]
async fn a_client_that_was_released_begins_a_later_generation() {
    let world = World::new();
    let _a = world.join("a").await;
    let drone = client("drone");
    let bound = world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    let release = async |number, by| world.bindings.release(&drone, number, &proxy(by)).await;
    assert!(release(bound.generation, "b").await.is_err());
    assert!(release(generation(7), "a").await.is_err());
    let _b = world.join("b").await;
    let moving = world.announce(&drone, "b").await;
    assert!(release(moving.generation, "a").await.is_err(), "it is moving");
    let aborted = world.bindings.abort(&drone, moving.generation).await.unwrap();
    release(aborted.generation, "a").await.unwrap();
    assert_eq!(world.bindings.read(&drone).await, Err(BindingError::Unbound));
    release(aborted.generation, "a").await.unwrap();
    world.pass(Duration::from_secs(1));
    let again = world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    assert!(again.generation > aborted.generation);
    // It hasn't moved yet.
    world.bindings.begin(&drone, &proxy("b")).await.unwrap();
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
