//! Proxies that are drained, and sites that are evacuated.

use std::time::{Duration, Instant};

use serde_json::json;
use tessera_bindings::{BindingState, ClientName};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::world::{World, until};

/// Clients follow their announcements.
fn follow(world: &World) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let (bindings, table) = (world.bindings.clone(), world.table.clone());
    tasks.spawn(async move {
        let mut changes = table.changes();
        while changes.changed().await.is_ok() {
            let mut announced = Vec::new();
            table.for_each_binding(|client, binding| {
                if let BindingState::Announced { next, .. } = &binding.state {
                    announced.push((client.clone(), binding.generation, next.clone()));
                }
            });
            for (client, generation, next) in announced {
                let _ = bindings.switch(&client, generation, &next).await;
            }
        }
    });
    tasks
}

fn count(world: &World, owner: &str) -> usize {
    let mut count = 0;
    world.table.for_each_binding(|_, binding| count += usize::from(binding.owner().0 == owner));
    count
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drained_proxy_loses_its_clients_and_those_that_come_later() {
    let world = World::with("", "drain-per-second = 500").await;
    let _proxies = (world.proxy("a", "x").await, world.proxy("b", "y").await);
    let _c = world.proxy("c", "y").await;
    let orchestrator = world.orchestrator();
    let api = world.api(&orchestrator);
    until("the proxies are known", || orchestrator.table().proxies().len() == 3).await;
    for number in 0..20 {
        world.bind(&format!("drone {number}"), "a").await;
    }
    let _clients = follow(&world);
    assert_eq!(api.post("/proxies/a/drain").await.0, 202);
    for number in 20..40 {
        world.bind(&format!("drone {number}"), "a").await;
        sleep(Duration::from_millis(5)).await;
    }
    until("all have moved", || count(&world, "a") == 0 && world.table.len() == 40).await;
    assert!(count(&world, "b").abs_diff(count(&world, "c")) <= 2, "the fewest clients come first");
    let shown = api.get("/status").await;
    assert_eq!(
        shown["drains"][0],
        json!({ "scope": "proxy", "name": "a", "since": shown["drains"][0]["since"] })
    );
    assert_eq!(shown["proxies"][0]["draining"], true);

    // None goes there while it is drained.
    let (status, refused) = api.move_to("drone 0", "a").await;
    assert_eq!((status, &refused["cause"]), (409, &json!("draining")));
    assert_eq!(api.delete("/proxies/a/drain").await.0, 204);
    assert_eq!(api.delete("/proxies/a/drain").await.0, 204);
    until("the end is known", || orchestrator.table().drains().is_empty()).await;
    let stays = world.bind("stays", "a").await;
    sleep(Duration::from_millis(300)).await;
    assert_eq!(world.owner(&stays), "a");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_to_a_drained_proxy_at_which_the_client_is_is_the_same_move() {
    let world = World::with("", "").await;
    let _a = world.proxy("a", "").await;
    let orchestrator = world.orchestrator();
    let api = world.api(&orchestrator);
    until("the proxy is known", || orchestrator.table().proxies().len() == 1).await;
    world.bind("drone", "a").await;
    assert_eq!(api.post("/proxies/a/drain").await.0, 202);
    until("the drain is known", || orchestrator.table().drains().len() == 1).await;
    let (status, shown) = api.move_to("drone", "a").await;
    assert_eq!((status, &shown["owner"]), (200, &json!("a")));
    let (status, refused) = api.move_to("unknown", "a").await;
    assert_eq!((status, &refused["cause"]), (404, &json!("unknown-client")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_keeps_to_its_pace() {
    let world = World::with("", "drain-per-second = 1").await;
    let _proxies = (world.proxy("a", "").await, world.proxy("b", "").await);
    let orchestrator = world.orchestrator();
    until("the proxies are known", || orchestrator.table().proxies().len() == 2).await;
    for number in 0..10 {
        world.bind(&format!("drone {number}"), "a").await;
    }
    let began = Instant::now();
    assert_eq!(world.api(&orchestrator).post("/proxies/a/drain").await.0, 202);
    let announced = || {
        let mut count = 0;
        world.table.for_each_binding(|_, binding| {
            count += usize::from(matches!(binding.state, BindingState::Announced { .. }));
        });
        count
    };
    until("three clients are sent away", || announced() >= 3).await;
    // The first one at once.
    assert!(began.elapsed() >= Duration::from_millis(1900), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_is_evacuated_to_others_by_any_orchestrator_that_is_left() {
    let world = World::with("", "drain-at-once = 2\ndrain-per-second = 20").await;
    let _site = (world.proxy("a1", "x y").await, world.proxy("a2", "x y").await);
    let _other = world.proxy("b", "z").await;
    let one = world.orchestrator();
    let other = world.orchestrator_with(&tessera_proxy::admin::Metrics::new());
    let api = world.api(&one);
    until("the proxies are known", || one.table().proxies().len() == 3).await;
    for number in 0..30 {
        world.bind(&format!("drone {number}"), ["a1", "a2"][number % 2]).await;
    }
    let _clients = follow(&world);
    assert_eq!(api.post("/sites/x%20y/evacuate").await.0, 202);
    until("it has begun", || count(&world, "b") > 2).await;
    drop(one);
    assert!(count(&world, "b") < 30, "it was to be slow");
    until("all have moved", || count(&world, "b") == 30).await;
    let proxies = world.api(&other).get("/proxies").await;
    let drained: Vec<_> = proxies.as_array().unwrap().iter().map(|it| &it["draining"]).collect();
    assert_eq!(drained, [&json!(true), &json!(true), &json!(false)]);
    // A proxy that comes later is at the site as well.
    let _late = world.proxy("a3", "x y").await;
    let api = world.api(&other);
    until("it is known", || other.table().proxies().len() == 4).await;
    let (status, refused) = api.move_to("drone 0", "a3").await;
    assert_eq!((status, &refused["cause"]), (409, &json!("draining")));
    assert_eq!(api.delete("/sites/x%20y/evacuate").await.0, 204);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_whose_next_proxy_is_broken_goes_to_another_and_none_has_nowhere_to_go() {
    let world = World::with("", "").await;
    let _proxies = (world.proxy("a", "").await, world.proxy_that("b", "", false).await);
    let orchestrator = world.orchestrator();
    let api = world.api(&orchestrator);
    until("the proxies are known", || orchestrator.table().proxies().len() == 2).await;
    let drone = ClientName::new("drone").unwrap();
    world.bind("drone", "a").await;
    assert_eq!(api.post("/proxies/a/drain").await.0, 202);
    until("it has begun", || {
        matches!(world.table.binding(&drone).unwrap().state, BindingState::Preparing { .. })
    })
    .await;
    let _c = world.proxy("c", "").await;
    assert_eq!(api.post("/clients/drone/abort").await.0, 200);
    until("it is sent to the other", || {
        let state = world.table.binding(&drone).unwrap().state;
        matches!(state, BindingState::Announced { next, .. } if next.0 == "c")
    })
    .await;
}
