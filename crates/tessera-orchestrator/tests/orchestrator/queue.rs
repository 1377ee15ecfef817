//! Requests that wait until their clients can move.

use serde_json::json;
use tessera_bindings::BindingState;
use tokio::io::AsyncWriteExt;

use crate::world::{Api, World, until};

/// Begins to wait in the queue.
fn wait(api: &Api, client: &str, to: &str) -> tokio::task::JoinHandle<(u16, serde_json::Value)> {
    let (api, body) = (api.clone(), json!({ "client": client, "to": to, "queue": true }));
    tokio::spawn(async move { api.request(body).await })
}

async fn until_waiting(api: &Api, count: usize) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while api.get("/status").await["waiting"] != count {
        assert!(std::time::Instant::now() < deadline, "not {count} requests wait");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_request_of_a_queue_moves_the_client_and_earlier_ones_learn_of_it() {
    let world = World::new().await;
    let _proxies = (world.proxy("a", "").await, world.proxy("b", "").await);
    let _more = (world.proxy("c", "").await, world.proxy("d", "").await);
    let orchestrator = world.orchestrator();
    let api = world.api(&orchestrator);
    let drone = world.bind("drone", "a").await;
    assert_eq!(api.move_to("drone", "b").await.0, 200);
    let first = wait(&api, "drone", "c");
    until_waiting(&api, 1).await;
    let second = wait(&api, "drone", "d");
    let (status, refused) = first.await.unwrap();
    assert_eq!((status, &refused["cause"]), (409, &json!("superseded")));
    assert_eq!(api.get("/status").await["waiting"], 1);
    world.arrive(&drone).await;
    let (status, moved) = second.await.unwrap();
    assert_eq!((status, &moved["owner"], &moved["next"]), (200, &json!("b"), &json!("d")));
    assert_eq!(api.get("/status").await["waiting"], 0);
    // What needs no wait doesn't.
    assert_eq!(wait(&api, "drone", "d").await.unwrap().0, 200);
    assert_eq!(wait(&api, "stranger", "d").await.unwrap().0, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_queue_is_bounded_and_a_caller_that_leaves_waits_no_more() {
    let world = World::with("", "waiting = 1").await;
    let _proxies = (world.proxy("a", "").await, world.proxy("b", "").await);
    let _c = world.proxy("c", "").await;
    let orchestrator = world.orchestrator();
    let api = world.api(&orchestrator);
    for name in ["one", "other"] {
        let client = world.bind(name, "a").await;
        assert_eq!(api.move_to(name, "b").await.0, 200);
        until("it is announced", || {
            matches!(world.table.binding(&client).unwrap().state, BindingState::Announced { .. })
        })
        .await;
    }
    let leaves = wait(&api, "one", "c");
    until_waiting(&api, 1).await;
    let (status, refused) = wait(&api, "other", "c").await.unwrap();
    assert_eq!((status, &refused["cause"]), (503, &json!("queue-full")));
    assert!(refused["retry_after_ms"].is_u64());
    leaves.abort();
    until_waiting(&api, 0).await;
}

/// Only the end of its connection shows it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_of_http_1_that_hangs_up_waits_no_more() {
    let world = World::new().await;
    let _proxies = (world.proxy("a", "").await, world.proxy("b", "").await);
    let _c = world.proxy("c", "").await;
    let orchestrator = world.orchestrator();
    let api = world.api(&orchestrator);
    world.bind("drone", "a").await;
    assert_eq!(api.move_to("drone", "b").await.0, 200);
    let mut stream = world.connect(&orchestrator).await;
    let body = json!({ "client": "drone", "to": "c", "queue": true }).to_string();
    let head = "POST /moves HTTP/1.1\r\nHost: o\r\nContent-Type: application/json\r\n";
    let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
    until_waiting(&api, 1).await;
    drop(stream);
    until_waiting(&api, 0).await;
}
