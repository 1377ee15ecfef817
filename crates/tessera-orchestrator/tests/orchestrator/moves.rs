//! Moves of single clients, by one orchestrator or several.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use tessera_bindings::{BindingState, ProxyName};
use tessera_proxy::admin::Metrics;
use tessera_store::FileStore;
use tokio::time::sleep;

use crate::world::{World, directory, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_is_announced_moves_and_the_move_is_settled_and_counted() {
    let world = World::new().await;
    let _proxies = (world.proxy("a", "").await, world.proxy("b", "").await);
    let orchestrator = world.orchestrator();
    let api = world.api(&orchestrator);
    let drone = world.bind("drone", "a").await;
    let (status, moved) = api.move_to("drone", "b").await;
    assert_eq!((status, &moved["state"], &moved["next"]), (200, &json!("announced"), &json!("b")));
    // Again, and from another caller: the same.
    let (status, again) = api.move_to("drone", "b").await;
    assert_eq!((status, &again["generation"]), (200, &moved["generation"]));
    let numbers = async || {
        let proxies = api.get("/proxies").await;
        [0_usize, 1]
            .map(|at| ["clients", "leaving", "arriving"].map(|key| proxies[at][key].clone()))
    };
    assert_eq!(numbers().await, [[1, 1, 0], [0, 0, 1]], "it is at its owner until it has come");
    let (api_2, name) = (api.clone(), drone.clone());
    let waits = tokio::spawn(async move {
        api_2.request(json!({ "client": "drone", "to": "b", "wait": "switched" })).await
    });
    world.arrive(&name).await;
    let (status, switched) = waits.await.unwrap();
    assert_eq!((status, &switched["owner"]), (200, &json!("b")));
    let shown = api.get("/status").await;
    assert_eq!((&shown["clients"], &shown["moves"]), (&json!(1), &json!(0)), "it has switched");
    assert_eq!(numbers().await, [[0, 0, 0], [1, 0, 0]]);
    world.until_settled(&drone, "b").await;
    let shown = api.get("/clients/drone").await;
    assert_eq!((&shown["client"], &shown["owner"]), (&json!("drone"), &json!("b")));
    until("the end is counted", || {
        world.metrics.text().contains("steps_total{step=\"settled\"} 1")
    })
    .await;
    let metrics = world.metrics.text();
    for line in [
        "tessera_orchestrator_steps_total{step=\"begun\"} 1",
        "tessera_orchestrator_steps_total{step=\"announced\"} 1",
        "tessera_orchestrator_steps_total{step=\"switched\"} 1",
        "tessera_orchestrator_steps_total{step=\"aborted\"} 0",
        "tessera_orchestrator_requests_total{result=\"done\"} 3",
        "tessera_orchestrator_announced_seconds_count 1",
        "tessera_orchestrator_switched_seconds_count 1",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_is_answered_when_it_has_begun_if_nothing_is_to_be_waited_for() {
    let world = World::new().await;
    let _proxies = (world.proxy("a", "").await, world.proxy_that("b", "", false).await);
    let orchestrator = world.orchestrator();
    let api = world.api(&orchestrator);
    let drone = world.bind("drone", "a").await;
    let (status, begun) =
        api.request(json!({ "client": "drone", "to": "b", "wait": "none" })).await;
    assert_eq!((status, &begun["state"]), (202, &json!("preparing")));
    // The answer was the store's, and this is what the table has.
    until("the orchestrator has the move", || {
        let binding = orchestrator.table().binding(&drone);
        binding.is_some_and(|it| matches!(it.state, BindingState::Preparing { .. }))
    })
    .await;
    let moves = api.get("/moves").await;
    assert_eq!((&moves["count"], &moves["moves"][0]["next"]), (&json!(1), &json!("b")));
    // A third proxy: refused, with where the client goes.
    let _c = world.proxy("c", "").await;
    let (status, refused) = api.move_to("drone", "c").await;
    assert_eq!(
        (status, &refused["cause"], &refused["target"]),
        (409, &json!("moving"), &json!("b"))
    );
    assert_eq!(refused["generation"], begun["generation"]);
    assert!(refused["retry_after_ms"].as_u64().unwrap() <= 10_000, "{refused}");
    let (status, aborted) = api.post("/clients/drone/abort").await;
    assert_eq!((status, &aborted["state"]), (200, &json!("stable")));
    // Aborted while a request waits.
    sleep(Duration::from_millis(200)).await;
    let (api_2, table) = (api.clone(), world.table.clone());
    let waits = tokio::spawn(async move { api_2.move_to("drone", "b").await });
    until("it has begun", || {
        matches!(table.binding(&drone).unwrap().state, BindingState::Preparing { .. })
    })
    .await;
    assert_eq!(api.post("/clients/drone/abort").await.0, 200);
    let (status, refused) = waits.await.unwrap();
    assert_eq!((status, &refused["cause"]), (409, &json!("aborted")));
    assert_eq!(refused["detail"], "the move was given up: it was aborted");
    // Where it is already.
    assert_eq!(api.move_to("drone", "a").await.0, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_that_the_next_proxy_declines_is_answered_with_its_reason() {
    let world = World::new().await;
    let _proxies = (world.proxy("a", "").await, world.proxy_that("b", "", false).await);
    let orchestrator = world.orchestrator();
    let api = world.api(&orchestrator);
    let drone = world.bind("drone", "a").await;
    let (api_2, table) = (api.clone(), world.table.clone());
    let waits = tokio::spawn(async move { api_2.move_to("drone", "b").await });
    until("it has begun", || {
        let binding = table.binding(&drone);
        binding.is_some_and(|it| matches!(it.state, BindingState::Preparing { .. }))
    })
    .await;
    let begun = world.bindings.read(&drone).await.unwrap().generation;
    let b = ProxyName("b".into());
    world.bindings.decline(&drone, begun, &b, "its disk is full").await.unwrap();
    let (status, refused) = waits.await.unwrap();
    assert_eq!((status, &refused["cause"]), (409, &json!("aborted")));
    assert_eq!(refused["detail"], "the move was given up: b can't prepare: its disk is full");
    let shown = api.get("/clients/drone").await;
    let failure = json!({ "next": "b", "cause": "declined", "why": "its disk is full" });
    assert_eq!((&shown["state"], &shown["failure"]), (&json!("stable"), &failure));
}

/// One refusal must not send the operator to the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn right_after_a_switch_the_client_neither_moves_back_nor_is_its_move_aborted() {
    // The move is over after a minute.
    let times = "ma = \"60s\"\ndwell = \"60s\"\nprepare = \"10s\"\nfollow = \"30s\"\n";
    let directory = directory();
    let store = Arc::new(FileStore::open(&directory.join("store")).unwrap());
    let world = World::on(store, directory, times, "", "").await;
    let _proxies = (world.proxy("a", "").await, world.proxy("b", "").await);
    let orchestrator = world.orchestrator();
    let api = world.api(&orchestrator);
    let drone = world.bind("drone", "a").await;
    assert_eq!(api.move_to("drone", "b").await.0, 200);
    world.arrive(&drone).await;
    let (status, back) = api.move_to("drone", "a").await;
    assert_eq!((status, &back["cause"], &back["target"]), (409, &json!("moving"), &json!("b")));
    let wait = back["retry_after_ms"].as_u64().unwrap();
    assert!((1..=61_000).contains(&wait), "{back}");
    let (status, aborted) = api.post("/clients/drone/abort").await;
    assert_eq!((status, &aborted["cause"]), (409, &json!("other-state")));
    let details = [&back, &aborted].map(|it| it["detail"].as_str().unwrap().to_owned());
    assert!(!details[0].contains("abort"), "{details:?}");
    assert!(details[1].contains("once that move is over"), "{details:?}");
}

/// The store was lost meanwhile, or the reader was too slow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_that_ended_unseen_is_counted_and_no_longer_in_progress() {
    let (world, store) = World::on_test_store("").await;
    let _proxies = (world.proxy("a", "").await, world.proxy("b", "").await);
    let metrics = Metrics::new();
    let orchestrator = world.orchestrator_on(store.clone(), &metrics);
    let api = world.api(&orchestrator);
    let [seen, unbound] = [world.bind("drone", "a").await, world.bind("other", "a").await];
    for client in ["drone", "other"] {
        assert_eq!(api.move_to(client, "b").await.0, 200);
    }
    let has = |line: &str| metrics.text().contains(line);
    until("both are in progress", || has("tessera_orchestrator_moves{} 2")).await;
    store.is_lost.store(true, Ordering::Relaxed);
    until("the orchestrator doesn't follow", || !orchestrator.table().is_current()).await;
    world.arrive(&seen).await;
    let b = ProxyName("b".into());
    sleep(Duration::from_millis(250)).await;
    let generation = world.bindings.read(&seen).await.unwrap().generation;
    world.bindings.settle(&seen, generation).await.unwrap();
    let generation = world.bindings.read(&unbound).await.unwrap().generation;
    let aborted = world.bindings.abort(&unbound, generation).await.unwrap();
    let a = ProxyName("a".into());
    world.bindings.release(&unbound, aborted.generation, &a).await.unwrap();
    store.is_lost.store(false, Ordering::Relaxed);
    until("the end is counted", || has("steps_total{step=\"settled\"} 1")).await;
    until("none is in progress", || has("tessera_orchestrator_moves{} 0")).await;
    assert_eq!(orchestrator.table().binding(&seen).unwrap().owner(), &b);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_chosen_proxy_has_far_fewer_clients_or_the_client_stays() {
    let world = World::new().await;
    let _proxies = (world.proxy("a", "").await, world.proxy("b", "").await);
    let orchestrator = world.orchestrator();
    let api = world.api(&orchestrator);
    for number in 0..5 {
        world.bind(&format!("drone {number}"), "a").await;
    }
    until("the orchestrator has them", || orchestrator.table().len() == 5).await;
    until("and the proxies", || orchestrator.table().proxies().len() == 2).await;
    let mut moved = 0;
    for number in 0..5 {
        let (status, answer) = api.move_to(&format!("drone {number}"), "auto").await;
        assert_eq!(status, 200, "{answer}");
        moved += usize::from(answer["next"] == "b");
    }
    // 5 and 0, 4 and 1, then 3 and 2: one more would be 2 and 3.
    assert_eq!(moved, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_orchestrators_agree_and_one_goes_on_where_the_other_died() {
    let world = World::new().await;
    let _proxies = (world.proxy("a", "").await, world.proxy("b", "").await);
    let _c = world.proxy("c", "").await;
    let (one, other) = (world.orchestrator(), world.orchestrator_with(&Metrics::new()));
    let apis = [world.api(&one), world.api(&other)];
    // To different proxies at once: one wins, and both answer with it.
    for round in 0..10 {
        let name = format!("drone {round}");
        let client = world.bind(&name, "a").await;
        let [one, other] = apis.each_ref();
        let (to_b, to_c) = tokio::join!(one.move_to(&name, "b"), other.move_to(&name, "c"));
        let statuses = [to_b.0, to_c.0];
        assert!(statuses == [200, 409] || statuses == [409, 200], "{to_b:?} {to_c:?}");
        let winner = if to_b.0 == 200 { "b" } else { "c" };
        let loser = if to_b.0 == 200 { &to_c.1 } else { &to_b.1 };
        assert_eq!(loser["target"], winner, "{loser}");
        if round % 2 == 0 {
            world.arrive(&client).await;
        }
    }
    // One dies in the middle of them all; half of them then arrive.
    drop(one);
    for round in (1..10).step_by(2) {
        let client = tessera_bindings::ClientName::new(format!("drone {round}")).unwrap();
        world.arrive(&client).await;
    }
    for round in 0..10 {
        let client = tessera_bindings::ClientName::new(format!("drone {round}")).unwrap();
        let owner = ProxyName(world.owner(&client));
        assert_ne!(owner.0, "a");
        world.until_settled(&client, &owner.0).await;
    }
    let (status, moved) = apis[1].move_to("drone 0", "a").await;
    assert_eq!(status, 200, "{moved}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ping_pong_storm_moves_a_client_at_most_once_in_its_dwell() {
    let world = World::new().await;
    let _proxies = (world.proxy("a", "").await, world.proxy("b", "").await);
    let orchestrator = world.orchestrator();
    let api = world.api(&orchestrator);
    let drone = world.bind("drone", "a").await;
    let first = world.table.binding(&drone).map(|it| it.generation.0);
    let first = first.unwrap_or(world.bindings.read(&drone).await.unwrap().generation.0);
    let began = std::time::Instant::now();
    let mut refused = 0;
    for round in 0..60 {
        let to = if round % 2 == 0 { "b" } else { "a" };
        let (status, answer) = api.move_to("drone", to).await;
        match status {
            200 => {
                let binding = world.bindings.read(&drone).await.unwrap();
                if matches!(binding.state, BindingState::Announced { .. }) {
                    world.arrive(&drone).await;
                }
            }
            409 => {
                refused += 1;
                assert!(answer["retry_after_ms"].as_u64().unwrap() <= 30_000, "{answer}");
            }
            _ => panic!("{answer}"),
        }
    }
    let moves = world.bindings.read(&drone).await.unwrap().generation.0 - first;
    // One at once, and then one for each time that the client stays.
    let most = 1 + began.elapsed().as_millis() / 200;
    assert!(u128::from(moves) <= most, "{moves} moves, at most {most}");
    assert!(refused > 0);
}
