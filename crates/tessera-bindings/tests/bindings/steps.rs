//! The steps in a store: races, and processes that die between them.

use std::time::Duration;

use tessera_bindings::{BindingError, BindingState, FailureCause, Import, ProxyEntry, StepRefused};
use tessera_store::{Change, Store, Transaction};
use tokio::task::JoinSet;

use crate::world::{TIMES, World, client, entry, generation, import, proxy};

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
    let given_up = world.bindings.read(&drone).await.unwrap();
    assert_eq!(given_up.state, BindingState::Stable { owner: proxy("a") });
    assert_eq!(given_up.failure.unwrap().cause, FailureCause::NotPrepared);
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

/// It would be written for ever, and no proxy could take over the clients of such a name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_and_texts_that_are_too_long_are_not_stored() {
    let world = World::new();
    let _b = world.join("b").await;
    let (drone, long) = (client("drone"), proxy(&"a".repeat(256)));
    for name in [&long, &proxy("")] {
        let bound = world.bindings.bind(&drone, name).await;
        assert!(matches!(bound, Err(BindingError::Name(_))), "{bound:?}");
        assert!(world.bindings.check_proxy_name(name).is_err());
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_that_the_next_proxy_declines_or_the_client_does_not_follow_has_its_reason() {
    let world = World::new();
    let _live = (world.join("a").await, world.join("b").await);
    let (drone, b) = (client("drone"), proxy("b"));
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    let cause = async || world.bindings.read(&drone).await.unwrap().failure.unwrap().cause;
    let number = world.bindings.begin(&drone, &b).await.unwrap().generation;
    for _ in 0..2 {
        world.bindings.decline(&drone, number, &b, "its disk is full").await.unwrap();
    }
    assert_eq!(cause().await, FailureCause::Declined);
    world.pass(TIMES.dwell);
    world.announce(&drone, "b").await;
    let table = world.table().await;
    world.pass(TIMES.announce);
    assert_eq!(world.bindings.take_due_steps(&table).await, Ok(1));
    assert_eq!(cause().await, FailureCause::NotFollowed);
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
