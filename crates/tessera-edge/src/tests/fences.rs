//! What comes late: requests and imports of an earlier owner.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, StatusCode};
use tessera_bindings::{BindingState, ClientName, Fence, Generation, LaterChanges};
use tessera_proxy::http::body::Body;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::world::{World, connect, read_until, until};
use crate::demo::{CountingService, ORIGIN, proxy};
use crate::edge::OwnRequest;
use crate::metrics::MoveStep;

const WITH_STATE: &str =
    "state = \"/state\"\n[clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";
const DRONE: &str = "dns%3Adrone.example";

/// Moves a client that a proxy serves, by two requests to the other one.
async fn moves(world: &World, client: &ClientName, to: &str) -> Generation {
    let binding = || world.table.binding(client).unwrap();
    until("it may move", || matches!(binding().state, BindingState::Stable { .. })).await;
    world.announce(client, to).await;
    let drone = world.client(Some("drone.example"));
    for _ in 0..2 {
        assert_eq!(drone.get("/").await.status, StatusCode::OK);
    }
    assert_eq!(binding().owner(), &proxy(to));
    binding().generation
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_have_the_fence_of_the_owner_that_executes_them() {
    let world = World::start(&["a", "b"], WITH_STATE).await;
    let drone = world.client(Some("drone.example"));
    drone.get("/").await;
    let name = world.only_client().await;
    let fence = || world.table.binding(&name).unwrap().fence().to_string();
    let at_a = drone.get("/fence").await.body;
    assert_eq!(at_a, fence());
    world.announce(&name, "b").await;
    assert_eq!(drone.get("/fence").await.body, at_a);
    let forwarded = world.client(Some("drone.example"));
    let at_b = drone.get("/fence").await.body;
    assert!(at_b.parse::<u64>().unwrap() > at_a.parse().unwrap(), "{at_a}, {at_b}");
    assert_eq!((fence(), forwarded.get("/fence").await.body), (at_b.clone(), at_b));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_without_state_gets_no_fence() {
    let more = "[clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";
    let world = World::start(&["a"], more).await;
    let got = world.client(Some("drone.example")).get("/fence").await;
    assert_eq!((got.status, got.body.as_str()), (StatusCode::OK, ""));
}

/// An import may be on its way when the proxy has given up on it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_that_comes_late_replaces_nothing() {
    let world = World::start(&["a", "b"], WITH_STATE).await;
    world.client(Some("drone.example")).get("/").await;
    let name = world.only_client().await;
    let generation = moves(&world, &name, "b").await;
    let b = &world.proxies["b"];
    let fences =
        [Fence::of_first_import(generation), Fence::of_last_changes(generation)].map(|it| it.0);
    assert_eq!(b.service.imported(), fences.map(|fence| (DRONE.to_owned(), fence)));
    let before = b.service.count(DRONE);
    for fence in fences {
        let mut late = TcpStream::connect(b.instance).await.unwrap();
        let request = format!(
            "PUT /state/{DRONE} HTTP/1.1\r\nhost: x\r\ntessera-fence: {fence}\r\ntessera-state-version: 1\r\n\
             content-length: 1\r\nconnection: close\r\n\r\n1"
        );
        late.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        late.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 412"), "{answer}");
    }
    assert_eq!(b.service.count(DRONE), before);
}

/// Two proxies of an edge have the same instance.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_of_both_proxies_keeps_what_it_has() {
    let shared = Arc::new(CountingService::default());
    let address = shared.clone().listen().await.unwrap();
    let more = format!(
        "[service.shared]\npath = \"/shared\"\nstate = \"/state\"\ninstances = [\"{address}\"]\n\
         [clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n"
    );
    let world = World::start(&["a", "b"], more.leak()).await;
    let drone = world.client(Some("drone.example"));
    drone.get("/shared").await;
    let name = world.only_client().await;
    let mut count = 1;
    for to in ["b", "a", "b"] {
        let stable =
            || matches!(world.table.binding(&name).unwrap().state, BindingState::Stable { .. });
        until("it may move", stable).await;
        world.announce(&name, to).await;
        // At the earlier owner, then at the next one.
        for _ in 0..3 {
            count += 1;
            assert_eq!(drone.get("/shared").await.body, count.to_string());
        }
        assert_eq!(world.table.binding(&name).unwrap().owner(), &proxy(to));
    }
    // At a hand-over with the same version, which changes nothing.
    let is_last = |(_, fence): &(String, u64)| fence % 4 == 1;
    assert!(shared.imported().iter().all(is_last), "{:?}", shared.imported());
}

/// It waits for a connection to its service meanwhile, or its process stands still.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_of_a_client_that_was_handed_over_is_not_sent() {
    let world = World::start(&["a"], WITH_STATE).await;
    world.client(Some("drone.example")).get("/").await;
    let name = world.only_client().await;
    let (a, binding) = (world.edge("a"), world.table.binding(&name).unwrap());
    let client = a.clients.get(&name).unwrap();
    let (services, generation) = (a.services(), binding.generation);
    let service = services.iter().next().unwrap();
    let send = async |in_progress| {
        let request = Request::get(format!("https://{ORIGIN}/")).body(Body::empty()).unwrap();
        let own = OwnRequest { fence: binding.fence(), in_progress };
        a.execute(service, Some(&name), Some(own), request).await.status()
    };
    let in_progress = client.begin(generation).unwrap();
    assert_eq!(send(&in_progress).await, StatusCode::OK);
    let mut over = std::pin::pin!(client.hand_over(generation));
    assert!(futures_util::poll!(&mut over).is_pending());
    assert_eq!(send(&in_progress).await, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(world.executed().len(), 2);
    // Nor while others may own its clients.
    let in_progress = client.begin(Generation(generation.0 + 1)).unwrap();
    a.lease.leave().await.unwrap();
    assert_eq!(send(&in_progress).await, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(world.executed().len(), 2);
}

/// Whether or not there was any state when it prepared.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_was_restarted_within_an_arrival_imports_what_is_awaited() {
    for before in [1, 0] {
        restart_within_an_arrival(before).await;
    }
}

async fn restart_within_an_arrival(before: u64) {
    let world = World::start(&["b", "a"], WITH_STATE).await;
    let name = ClientName::new("dns:drone.example").unwrap();
    world.bindings.bind(&name, &proxy("a")).await.unwrap();
    let b = world.edge("b");
    until("it is bound", || b.table.binding(&name).is_some()).await;
    let drone = world.client(Some("drone.example"));
    for count in 1..=before {
        assert_eq!(drone.get("/").await.body, count.to_string());
    }
    world.announce(&name, "b").await;
    let mut at_a = connect(&world, "a", "drone.example").await;
    at_a.write_all(format!("GET / HTTP/1.1\r\nHost: {ORIGIN}\r\n\r\n").as_bytes()).await.unwrap();
    read_until(&mut at_a, &format!("\r\n\r\n{}", before + 1)).await;
    // All that the earlier process did.
    let generation = world.table.binding(&name).unwrap().generation;
    world.bindings.switch(&name, generation, &b.own).await.unwrap();
    until("it is known", || b.table.binding(&name).unwrap().owner() == &b.own).await;
    assert_eq!(drone.get("/").await.body, (before + 2).to_string());
    let is_known = || {
        let state = world.table.binding(&name).unwrap().state;
        matches!(state, BindingState::Switched { changes: LaterChanges::Arrived, .. })
    };
    until("that they have come is in the store", is_known).await;
    let imports = world.proxies["b"].service.imported().len();
    assert_eq!(drone.get("/").await.body, (before + 3).to_string());
    assert_eq!(world.proxies["b"].service.imported().len(), imports, "they are imported again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_request_changes_after_the_hand_over_counts_as_lost() {
    let world = World::start(&["a", "b"], WITH_STATE).await;
    let drone = world.client(Some("drone.example"));
    drone.get("/").await;
    let name = world.only_client().await;
    world.announce(&name, "b").await;
    drone.get("/").await;
    let hangs = tokio::spawn({
        let other = world.client(Some("drone.example"));
        async move { other.get_if_answered("/hang").await }
    });
    until("it is executed", || world.executed().iter().any(|it| it.ends_with("/hang"))).await;
    let (table, of) = (world.table.clone(), name.clone());
    // It is settled soon, and no longer known then.
    let known = tokio::spawn(async move {
        let mut changed = table.changes();
        loop {
            match table.binding(&of).unwrap().state {
                BindingState::Switched { changes: LaterChanges::Awaited, .. } => {}
                BindingState::Switched { changes, .. } => return changes,
                _ => {}
            }
            changed.changed().await.unwrap();
        }
    });
    assert_eq!(drone.get("/").await.status, StatusCode::OK);
    let known = tokio::time::timeout(Duration::from_secs(20), known).await;
    assert_eq!(known.unwrap().unwrap(), LaterChanges::Lost);
    assert_eq!(world.proxies["b"].service.count(DRONE), 3, "what it could export has come");
    hangs.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_is_taken_over_without_its_state_is_not_served_with_that_of_an_earlier_time()
{
    let mut world = World::start(&["a", "b"], WITH_STATE).await;
    world.client(Some("drone.example")).get("/").await;
    let name = world.only_client().await;
    moves(&world, &name, "b").await;
    assert!(world.proxies["a"].service.count(DRONE) > 0);
    world.kill("b");
    let a = world.edge("a");
    until("its lease has ended", || a.table.proxy(&proxy("b")).is_none()).await;
    let got = world.client(Some("drone.example")).get_again("/").await;
    assert_eq!(got.body, "1", "{got:?}");
    let steps = [MoveStep::TakenOver, MoveStep::WithoutState, MoveStep::NotForgotten];
    assert_eq!(steps.map(|step| a.metrics.steps(step)), [1, 1, 0]);
}

/// The instance of the dead proxy is also one of the proxy that takes the client over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_of_a_dead_proxy_forgets_nothing_even_after_moves_that_were_given_up() {
    let shared = Arc::new(CountingService::default());
    let address = shared.clone().listen().await.unwrap();
    let more = format!(
        "[service.shared]\npath = \"/shared\"\nstate = \"/state\"\ninstances = [\"{address}\"]\n\
         [clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n"
    );
    let mut world = World::start(&["a", "b"], more.leak()).await;
    let name = ClientName::new("dns:drone.example").unwrap();
    world.bindings.bind(&name, &proxy("b")).await.unwrap();
    let a = world.edge("a").clone();
    until("it is bound", || a.table.binding(&name).is_some()).await;
    assert_eq!(world.client(Some("drone.example")).get("/shared").await.body, "1");
    for _ in 0..2 {
        world.announce(&name, "a").await;
        let generation = world.table.binding(&name).unwrap().generation;
        world.bindings.abort(&name, generation).await.unwrap();
        let is_stable = |it: &BindingState| matches!(it, BindingState::Stable { .. });
        until("it is given up", || is_stable(&world.table.binding(&name).unwrap().state)).await;
    }
    world.kill("b");
    until("its lease has ended", || a.table.proxy(&proxy("b")).is_none()).await;
    let got = world.client(Some("drone.example")).get_again("/shared").await;
    assert_eq!(got.body, "2", "{got:?}");
    let steps = [MoveStep::TakenOver, MoveStep::WithoutState, MoveStep::NotForgotten];
    assert_eq!(steps.map(|step| a.metrics.steps(step)), [1, 0, 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_whose_state_the_service_has_lost_finds_no_earlier_one_where_it_moves() {
    let world = World::start(&["a", "b"], WITH_STATE).await;
    world.client(Some("drone.example")).get("/").await;
    let name = world.only_client().await;
    moves(&world, &name, "b").await;
    assert!(world.proxies["a"].service.count(DRONE) > 0);
    world.proxies["b"].service.lose(DRONE);
    let binding = || world.table.binding(&name).unwrap();
    until("it may move", || matches!(binding().state, BindingState::Stable { .. })).await;
    world.announce(&name, "a").await;
    until("it is forgotten", || world.proxies["a"].service.count(DRONE) == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_takes_back_a_client_which_another_one_had_yet_to_fetch_goes_on_with_its_state()
 {
    let mut world = World::start(&["a", "b"], WITH_STATE).await;
    assert_eq!(world.client(Some("drone.example")).get("/").await.body, "1");
    let name = world.only_client().await;
    world.announce(&name, "b").await;
    let generation = world.table.binding(&name).unwrap().generation;
    world.bindings.switch(&name, generation, &proxy("b")).await.unwrap();
    world.kill("b");
    let a = world.edge("a");
    until("its lease has ended", || a.table.proxy(&proxy("b")).is_none()).await;
    let got = world.client(Some("drone.example")).get_again("/").await;
    assert_eq!(got.body, "2", "{got:?}");
    assert_eq!(a.metrics.steps(MoveStep::WithoutState), 0);
}
