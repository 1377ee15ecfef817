//! What each proxy does with a client's requests while the client moves.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tessera_bindings::{
    Binding, BindingError, BindingState, BindingTable, Bindings, ChangedBinding, Fence,
    ForwardedRoute, ProxyName, Route,
};
use tessera_store::{Change, Store, Transaction};

use crate::world::{TIMES, World, client, generation, import, proxy, until};

fn routes(table: &BindingTable) -> [Route; 3] {
    ["a", "b", "c"].map(|name| table.route(&client("drone"), &proxy(name)))
}

/// In this generation, with the fence of the one in which the owner began.
fn serve(announce: &str, number: u64, since: u64) -> Route {
    Route::Serve {
        announce: Some(format!("{announce}.example:443")),
        generation: generation(number),
        fence: Fence(4 * generation(since).0 + 3),
    }
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
    follow([serve("a", 1, 1), forward("a", 1), forward("a", 1)]).await;
    let number = world.bindings.begin(&drone, &proxy("b")).await.unwrap().generation;
    follow([serve("a", 2, 1), forward("a", 2), forward("a", 2)]).await;
    world.bindings.prepared(&drone, number, &proxy("b"), &import(0)).await.unwrap();
    let has_import =
        |binding: Binding| matches!(binding.state, BindingState::Preparing { import: Some(_), .. });
    until("it is prepared", || table.binding(&drone).is_some_and(has_import)).await;
    assert_eq!(routes(&table), [serve("a", 2, 1), forward("a", 2), forward("a", 2)]);
    world.bindings.announce(&drone, number).await.unwrap();
    let switch = Route::Switch { generation: generation(2) };
    follow([serve("b", 2, 1), switch, forward("a", 2)]).await;
    world.bindings.switch(&drone, number, &proxy("b")).await.unwrap();
    follow([forward("b", 2), serve("b", 2, 2), forward("b", 2)]).await;
    world.pass(TIMES.drain);
    world.bindings.settle(&drone, number).await.unwrap();
    follow([forward("b", 2), serve("b", 2, 2), forward("b", 2)]).await;
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
    until("the move is known", || table.binding(&drone).unwrap().generation == generation(2)).await;
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
    assert!(!a.is_held(), "another may own its clients");
    let take_over = |is_prepared| Route::TakeOver { generation: generation(2), is_prepared };
    until("a isn't live", || routes(&table)[1..] == [take_over(true), take_over(false)]).await;
    // The one that was announced isn't live either: the client isn't sent there.
    let alone = Bindings::new(world.store.clone(), "/other/", TIMES, || Duration::ZERO).table();
    until("the table is current", || alone.is_current()).await;
    assert_eq!(alone.route(&drone, &ProxyName("a".into())), Route::Bind);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_learns_of_its_client_and_of_the_proxies_alone() {
    let world = World::new();
    let _a = world.join("a").await;
    let table = world.table().await;
    // Of 50 others, some are not in the client's part.
    let others: Vec<_> = (0..50).map(|number| client(&format!("other-{number}"))).collect();
    let mut changes = table.changes_for(&client("drone"));
    let mut of_others: Vec<_> = others.iter().map(|other| table.changes_for(other)).collect();
    let mut learns = async || {
        changes.changed().await.unwrap();
    };
    world.bindings.bind(&client("drone"), &proxy("a")).await.unwrap();
    learns().await;
    let unaware = |of_others: &mut Vec<tokio::sync::watch::Receiver<u64>>| {
        of_others.iter().filter(|it| !it.has_changed().unwrap()).count()
    };
    assert!(unaware(&mut of_others) > 40);
    let _b = world.join("b").await;
    learns().await;
    assert_eq!(unaware(&mut of_others), 0, "one of their proxies may be back");
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
    until("b is announced", || routes(&table)[0] == serve("b", 2, 1)).await;
    b.leave().await.unwrap();
    until("no longer", || matches!(&routes(&table)[0], Route::Serve { announce: None, .. })).await;
}

/// What it has may be old, and it doesn't hide that; afterwards nothing is left of what was removed meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_lost_the_store_keeps_what_it_has_until_it_reads_again() {
    let world = World::new();
    let (a, _b) = (world.join("a").await, world.join("b").await);
    let table = world.table().await;
    let drone = client("drone");
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    until("it is known", || table.binding(&drone).is_some()).await;
    world.store.is_lost.store(true, Ordering::Relaxed);
    until("it isn't current", || !table.is_current()).await;
    assert_eq!(routes(&table)[..2], [serve("a", 1, 1), forward("a", 1)]);
    a.leave().await.unwrap();
    let delete = Change::Delete { key: b"/pool/b/5:drone".to_vec() };
    let transaction = Transaction { conditions: Vec::new(), changes: vec![delete] };
    world.store.commit(transaction).await.unwrap();
    world.store.is_lost.store(false, Ordering::Relaxed);
    until("it is current again", || table.is_current()).await;
    assert!(table.is_empty() && table.proxy(&proxy("a")).is_none());
    assert!(table.proxy(&proxy("b")).is_some());
}

/// An older process must not route by what it had before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_has_no_entry_that_it_cannot_read() {
    let world = World::new();
    let _a = world.join("a").await;
    let table = world.table().await;
    let drone = client("drone");
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    until("it is known", || table.binding(&drone).is_some()).await;
    for key in ["/pool/b/5:drone", "/pool/p/1:a"] {
        let value = br#"{"version":2}"#.to_vec();
        let put = Change::Put { key: key.into(), value, lease: None };
        let transaction = Transaction { conditions: Vec::new(), changes: vec![put] };
        world.store.commit(transaction).await.unwrap();
    }
    let is_known = || table.binding(&drone).is_some() || table.proxy(&proxy("a")).is_some();
    until("neither is known", || !is_known()).await;
    // Another process has them, so none is replaced.
    let adopted = world.bindings.bind(&drone, &proxy("b")).await;
    assert_eq!(adopted, Err(BindingError::Unreadable));
}

#[tokio::test]
async fn a_table_names_the_clients_whose_bindings_change() {
    let world = World::new();
    let (_a, _b) = (world.join("a").await, world.join("b").await);
    let (table, drone, other) = (world.table().await, client("drone"), client("other"));
    let mut changed = table.changed_bindings();
    let begin = async |name| world.bindings.bind(name, &proxy("a")).await.unwrap();
    begin(&drone).await;
    begin(&other).await;
    assert_eq!(changed.next().await, Some(ChangedBinding::Of(drone.clone())));
    assert_eq!(changed.next().await, Some(ChangedBinding::Of(other.clone())));
    world.announce(&drone, "b").await;
    until("it is announced", || {
        matches!(table.binding(&drone).unwrap().state, BindingState::Announced { .. })
    })
    .await;
    let of = |name| {
        let mut clients = table.clients_of(&proxy(name));
        clients.sort();
        clients
    };
    assert_eq!((of("a"), of("b"), of("c")), (vec![drone.clone(), other], vec![drone], vec![]));
    drop(table);
    while changed.next().await.is_some() {}
}
