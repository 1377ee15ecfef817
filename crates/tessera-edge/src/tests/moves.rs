//! Clients that move.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::StatusCode;
use tessera::resume::Vault as _;
use tessera_bindings::{BindingState, ClientName, FailureCause};
use tokio::time::sleep;

use super::world::{World, until};
use crate::demo::proxy;
use crate::edge::{Edge, Preparation};
use crate::metrics::MoveStep;

const CERTIFICATES: &str = "[clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";
const WITH_STATE: &str =
    "state = \"/state\"\n[clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_follows_to_the_next_proxy_with_its_session_and_its_one_time_key() {
    let world = World::start(&["a", "b"], CERTIFICATES).await;
    let client = world.client(Some("drone.example"));
    let got = client.get("/one").await;
    assert_eq!((got.status, got.body.as_str()), (StatusCode::OK, "1"));
    assert_eq!(got.field("alt-svc"), "h2=\"a.example:443\"; ma=1; persist=1");
    let drone = world.only_client().await;
    assert_eq!(drone.as_bytes(), b"dns:drone.example");
    world.announce(&drone, "b").await;
    let (a, b) = (world.edge("a"), world.edge("b"));
    until("its keys have moved", || {
        a.vault.as_ref().unwrap().is_empty() && !b.vault.as_ref().unwrap().is_empty()
    })
    .await;
    // By a new connection, to the first proxy by its own name: with a ticket whose key has moved already.
    let got = client.get("/two").await;
    assert_eq!(got.field("alt-svc"), "h2=\"b.example:443\"; ma=1; persist=1");
    until("the key of its new ticket has followed", || a.vault.as_ref().unwrap().is_empty()).await;
    // The next request is the first at the next proxy: early data, by a key that moved.
    let got = client.get("/three").await;
    assert_eq!((got.status, got.body.as_str()), (StatusCode::OK, "1"));
    assert!(got.early > 0, "{got:?}");
    assert_eq!(world.executed().len(), 3);
    assert_eq!(world.executed_at("b"), ["dns%3Adrone.example GET /three"]);
    let is_settled = || {
        let binding = b.table.binding(&drone).unwrap();
        binding.state == BindingState::Stable { owner: proxy("b") }
    };
    until("the move is settled", is_settled).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_proxy_forwards_to_the_owner_and_names_it() {
    let world = World::start(&["a", "b", "c"], CERTIFICATES).await;
    let drone = world.client(Some("drone.example"));
    drone.get("/one").await;
    let name = world.only_client().await;
    world.announce(&name, "b").await;
    drone.get("/two").await;
    drone.get("/three").await;
    // A second device with this name, that knows the origin alone.
    let other = world.client(Some("drone.example"));
    let got = other.post("/echo", &"x".repeat(100_000)).await;
    assert_eq!((got.status, got.body.len()), (StatusCode::OK, 100_000));
    assert_eq!(got.field("alt-svc"), "h2=\"b.example:443\"; ma=1; persist=1");
    assert_eq!(world.executed_at("b").last().unwrap(), "dns%3Adrone.example POST /echo");
    assert_eq!(world.executed().len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn state_moves_along_and_no_change_is_lost() {
    let world = World::start(&["a", "b"], WITH_STATE).await;
    let client = world.client(Some("drone.example"));
    assert_eq!(client.get("/").await.body, "1");
    let drone = world.only_client().await;
    let is_over = Arc::new(AtomicBool::new(false));
    // Requests go on meanwhile, over two connections.
    let ask = |client: super::world::TestClient, is_over: Arc<AtomicBool>| async move {
        let mut count = 0_u64;
        while !is_over.load(Ordering::Relaxed) {
            assert_eq!(client.get("/").await.status, StatusCode::OK);
            count += 1;
        }
        count
    };
    let asking = [client.clone(), world.client(Some("drone.example"))]
        .map(|client| tokio::spawn(ask(client, is_over.clone())));
    for to in ["b", "a", "b"] {
        world.announce(&drone, to).await;
        let at = world.edge(to);
        until("the client has switched", || {
            at.table.binding(&drone).is_some_and(|it| it.owner() == &at.own)
        })
        .await;
        let is_stable =
            || matches!(at.table.binding(&drone).unwrap().state, BindingState::Stable { .. });
        until("the move is settled", is_stable).await;
    }
    is_over.store(true, Ordering::Relaxed);
    let mut sent = 1;
    for asking in asking {
        sent += asking.await.unwrap();
    }
    assert_eq!(world.proxies["b"].service.count("dns%3Adrone.example"), sent);
    assert_eq!(world.executed().len() as u64, sent);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_clients_of_a_proxy_that_dies_are_taken_over() {
    let mut world = World::start(&["a", "b"], CERTIFICATES).await;
    let client = world.client(Some("drone.example"));
    client.get("/one").await;
    let drone = world.only_client().await;
    world.announce(&drone, "b").await;
    client.get("/two").await;
    client.get("/three").await;
    world.kill("b");
    let a = world.edge("a");
    until("its lease has ended", || a.table.proxy(&proxy("b")).is_none()).await;
    let got = client.get_again("/four").await;
    assert_eq!(got.status, StatusCode::OK, "{got:?}");
    assert_eq!(got.field("alt-svc"), "h2=\"a.example:443\"; ma=1; persist=1");
    assert_eq!(a.table.binding(&drone).unwrap().owner(), &proxy("a"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_that_the_client_does_not_follow_is_given_up_and_its_keys_come_back() {
    let world = World::start(&["a", "b"], CERTIFICATES).await;
    let client = world.client(Some("drone.example"));
    client.get("/one").await;
    let drone = world.only_client().await;
    world.announce(&drone, "b").await;
    let (a, b) = (world.edge("a"), world.edge("b"));
    let held = |edge: &Edge| edge.vault.as_ref().unwrap().len();
    until("its keys have moved", || held(a) == 0 && held(b) > 0).await;
    let binding = world.bindings.read(&drone).await.unwrap();
    world.bindings.abort(&drone, binding.generation).await.unwrap();
    until("its keys are back", || held(a) > 0 && held(b) == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_cannot_prepare_gives_the_move_up_at_once_with_its_reason() {
    // Nothing listens at the instance: the state can't be exported.
    let more = "[service.other]\npath = \"/other\"\ninstances = [\"127.0.0.1:1\"]\nstate = \"/state\"\n\
                [clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";
    let world = World::start(&["a", "b"], more).await;
    world.client(Some("drone.example")).get("/").await;
    let drone = world.only_client().await;
    let begun = world.bindings.begin(&drone, &proxy("b")).await.unwrap();
    let BindingState::Preparing { deadline, .. } = begun.state else { panic!("{begun:?}") };
    let failure = || world.table.binding(&drone).unwrap().failure;
    until("it is given up", || failure().is_some()).await;
    let failure = failure().unwrap();
    assert_eq!((&failure.next, failure.cause), (&proxy("b"), FailureCause::Declined), "{failure}");
    assert!(failure.why.is_some_and(|why| !why.is_empty()));
    assert!(tessera_kit::clock::unix() < deadline);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_in_progress_ends_where_it_is_and_its_connection_leaves_afterwards() {
    let world = World::start(&["a", "b"], WITH_STATE).await;
    let client = world.client(Some("drone.example"));
    client.get("/one").await;
    let drone = world.only_client().await;
    world.announce(&drone, "b").await;
    let slow = tokio::spawn({
        let client = client.clone();
        async move { client.get("/slow").await }
    });
    until("it is executed", || world.executed().iter().any(|line| line.ends_with("/slow"))).await;
    // Another device of the client comes to the next proxy: it waits for what the first changes.
    let other = world.client(Some("drone.example"));
    other.get("/x").await;
    let got = other.get("/y").await;
    assert_eq!(slow.await.unwrap().status, StatusCode::OK);
    assert_eq!(got.status, StatusCode::OK);
    assert_eq!(
        world.proxies["b"].service.count("dns%3Adrone.example"),
        world.executed().len() as u64
    );
    sleep(Duration::from_millis(50)).await;
    assert_eq!(client.get("/z").await.field("alt-svc"), "h2=\"b.example:443\"; ma=1; persist=1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_preparation_that_has_waited_until_its_move_was_over_asks_for_nothing() {
    let world = World::start(&["b", "a"], WITH_STATE).await;
    let drone = ClientName::new("dns:drone.example").unwrap();
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    let b = world.edge("b");
    until("it is bound", || b.table.binding(&drone).is_some()).await;
    assert_eq!(world.client(Some("drone.example")).get("/").await.status, StatusCode::OK);
    world.announce(&drone, "b").await;
    let prepare = async |generation| {
        let from = Preparation { owner: proxy("a"), import: None, version: 1 };
        b.prepare(&drone, generation, from).await
    };
    let imported = || world.proxies["b"].service.imported().len();
    let (generation, before) = (b.table.binding(&drone).unwrap().generation, imported());
    assert_eq!(prepare(generation).await, Ok(false), "it was announced meanwhile");
    world.bindings.abort(&drone, generation).await.unwrap();
    let is_over = || matches!(b.table.binding(&drone).unwrap().state, BindingState::Stable { .. });
    until("it is given up", is_over).await;
    assert_eq!(prepare(generation).await, Ok(false), "it was given up meanwhile");
    assert_eq!((imported(), b.metrics.steps(MoveStep::Failed)), (before, 0));
}
