//! Orchestrators that are killed: moves and drains go on.

use std::time::Duration;

use http::Method;
use serde_json::json;
use tessera_bindings::{BindingState, ProxyName};
use tessera_edge_tests::{Orchestrator, Outcome, Pool, PoolSettings, until};

use crate::PROGRAM;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moves_end_though_the_orchestrator_that_began_them_is_killed() {
    let pool = Pool::start(PoolSettings::of(PROGRAM)).await;
    let mut first = Orchestrator::start(PROGRAM, &pool, "");
    let second = Orchestrator::start(PROGRAM, &pool, "");
    let [preparing, announced, switched] = ["preparing", "announced", "switched"]
        .map(|name| pool.drone(Some(&format!("{name}.example"))));
    for drone in [&preparing, &announced, &switched] {
        assert_eq!(drone.post("/cart").await.0, Outcome::Answered);
    }
    pool.instances[1].hold(Method::PUT, &preparing.seen);
    let move_to = |by: &Orchestrator, drone: &tessera_edge_tests::Drone, to: &str| {
        let client = String::from_utf8_lossy(drone.name().as_bytes()).into_owned();
        by.ask("POST", "/moves", &json!({ "client": client, "to": to, "wait": "none" }))
    };
    for drone in [&announced, &switched, &preparing] {
        let (status, binding) = move_to(&first, drone, "b");
        assert!(matches!(status, 200 | 202), "{status} {binding}");
        // The other one knows it as the same move.
        let (status, same) = move_to(&second, drone, "b");
        assert!(matches!(status, 200 | 202), "{status} {same}");
        assert_eq!(same["generation"], binding["generation"]);
    }
    pool.is(announced.name(), |it| matches!(it, BindingState::Announced { .. })).await;
    pool.is(switched.name(), |it| matches!(it, BindingState::Announced { .. })).await;
    switched.post("/cart").await;
    switched.post("/cart").await;
    pool.is(switched.name(), |it| !matches!(it, BindingState::Announced { .. })).await;
    pool.is(preparing.name(), |it| matches!(it, BindingState::Preparing { .. })).await;
    first.kill();
    pool.instances[1].release();
    for drone in [&preparing, &announced, &switched] {
        pool.moves(drone, "b").await;
        drone.agrees();
    }
    let (status, answer) = second.ask("GET", "/moves", &json!({}));
    assert_eq!((status, &answer["count"]), (200, &json!(0)));
    assert_eq!(pool.executions.doubled(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_goes_on_though_the_orchestrator_that_began_it_is_killed() {
    const CLIENTS: usize = 12;
    let pool = Pool::start(PoolSettings::of(PROGRAM)).await;
    let mut first = Orchestrator::start(PROGRAM, &pool, "drain-at-once = 2");
    let drones: Vec<_> =
        (0..CLIENTS).map(|number| pool.drone(Some(&format!("d{number}.example")))).collect();
    let mut tracks = Vec::new();
    for drone in &drones {
        assert_eq!(drone.post("/cart").await.0, Outcome::Answered);
        tracks.push(drone.sends("/cart", Duration::from_millis(50)));
    }
    let [a, b] = ["a", "b"].map(|name| ProxyName(name.to_owned()));
    until("all are bound", || pool.table.clients_of(&a).len() == CLIENTS).await;
    let (status, answer) = first.ask("POST", "/proxies/a/drain", &json!({}));
    assert_eq!(status, 202, "{answer}");
    let moved = || {
        let owner = |drone: &tessera_edge_tests::Drone| {
            pool.table.binding(drone.name()).map(|binding| binding.owner().clone())
        };
        drones.iter().filter(|drone| owner(drone).as_ref() == Some(&b)).count()
    };
    until("it has begun", || moved() > 0).await;
    first.kill();
    let _second = Orchestrator::start(PROGRAM, &pool, "drain-at-once = 2");
    until("all have moved", || moved() == CLIENTS).await;
    for track in tracks {
        track.end().await;
    }
    let executed = pool.executions.counts();
    for drone in &drones {
        drone.agrees_with(&executed);
        assert_eq!(drone.counts(Outcome::Unknown) + drone.counts(Outcome::Refused), 0);
    }
    assert_eq!(pool.executions.doubled(), []);
}
