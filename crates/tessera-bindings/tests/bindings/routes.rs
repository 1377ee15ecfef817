//! What each proxy does with a client's requests while the client moves.

use std::time::Duration;

use tessera_bindings::{BindingTable, Bindings, ForwardedRoute, ProxyName, Route};

use crate::world::{TIMES, World, client, generation, import, proxy, until};

fn routes(table: &BindingTable) -> [Route; 3] {
    ["a", "b", "c"].map(|name| table.route(&client("drone"), &proxy(name)))
}

fn serve(announce: &str) -> Route {
    Route::Serve { announce: Some(format!("{announce}.example:443")) }
}

fn forward(owner: &str, number: u64) -> Route {
    let (owner, to) = (proxy(owner), format!("{owner}.inner:8443"));
    Route::Forward { owner, to, generation: generation(number) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_proxy_serves_and_the_others_forward_in_each_state() {
    let world = World::new();
    let _live = (world.join("a").await, world.join("b").await, world.join("c").await);
    let table = world.table().await;
    let drone = client("drone");
    assert_eq!(routes(&table), [Route::Bind, Route::Bind, Route::Bind]);
    let follow = async |expected: [Route; 3]| {
        until(&format!("{expected:?}"), || routes(&table) == expected).await;
    };
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    follow([serve("a"), forward("a", 1), forward("a", 1)]).await;
    let number = world.bindings.begin(&drone, &proxy("b")).await.unwrap().generation;
    follow([serve("a"), forward("a", 2), forward("a", 2)]).await;
    world.bindings.prepared(&drone, number, &proxy("b"), &import(0)).await.unwrap();
    world.bindings.announce(&drone, number).await.unwrap();
    let switch = Route::Switch { generation: generation(2) };
    follow([serve("b"), switch, forward("a", 2)]).await;
    world.bindings.switch(&drone, number, &proxy("b")).await.unwrap();
    follow([forward("b", 2), serve("b"), forward("b", 2)]).await;
    world.pass(TIMES.drain);
    world.bindings.settle(&drone, number).await.unwrap();
    follow([forward("b", 2), serve("b"), forward("b", 2)]).await;
}

/// Two proxies with different views never send a request back and forth.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forwarded_request_is_served_or_refused_and_never_forwarded_again() {
    let world = World::new();
    let _live = (world.join("a").await, world.join("b").await);
    let table = world.table().await;
    let drone = client("drone");
    let route = |own: &str, number| table.route_forwarded(&drone, &proxy(own), generation(number));
    assert_eq!(route("a", 1), ForwardedRoute::Wait, "this proxy doesn't know the client yet");
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    until("it is known", || table.binding(&drone).is_some()).await;
    assert_eq!(route("a", 1), ForwardedRoute::Serve);
    assert_eq!(route("b", 1), ForwardedRoute::Wait, "the other has seen a switch");
    world.announce(&drone, "b").await;
    until("the move is known", || table.binding(&drone).unwrap().generation.0 == 2).await;
    assert_eq!(route("b", 1), ForwardedRoute::Refuse, "the other is behind");
    assert_eq!(route("a", 1), ForwardedRoute::Serve, "behind, but right");
    assert_eq!(route("b", 3), ForwardedRoute::Wait);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_owners_clients_are_taken_over_by_the_proxy_that_they_reach() {
    let world = World::new();
    let a = world.join("a").await;
    let _live = (world.join("b").await, world.join("c").await);
    let table = world.table().await;
    let drone = client("drone");
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    world.announce(&drone, "b").await;
    a.leave().await.unwrap();
    let take_over = |is_prepared| Route::TakeOver { generation: generation(2), is_prepared };
    until("a isn't live", || routes(&table)[1..] == [take_over(true), take_over(false)]).await;
    // The one that was announced isn't live either: the client isn't sent there.
    let alone = Bindings::new(world.store.clone(), "/other/", TIMES, || Duration::ZERO).table();
    until("the table is current", || alone.is_current()).await;
    assert_eq!(alone.route(&drone, &ProxyName("a".into())), Route::Bind);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_is_not_live_is_not_announced() {
    let world = World::new();
    let _a = world.join("a").await;
    let b = world.join("b").await;
    let table = world.table().await;
    let drone = client("drone");
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    world.announce(&drone, "b").await;
    until("b is announced", || routes(&table)[0] == serve("b")).await;
    b.leave().await.unwrap();
    until("no longer", || routes(&table)[0] == Route::Serve { announce: None }).await;
}
