//! Orchestrators on etcd.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tessera_bindings::{Binding, BindingState, Bindings, ClientName, MoveTimes, ProxyName};
use tessera_etcd::{EtcdClient, Transport};
use tessera_kit::clock::unix;
use tessera_test_peers::between::RecordingForwarder;
use tessera_test_peers::etcd::Cluster;

use crate::world::{TIMES, World, directory, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_move_on_etcd_while_a_member_dies() {
    let mut cluster = Cluster::start(3).unwrap();
    let client = EtcdClient::new(
        cluster.endpoints(),
        Transport::PlaintextOnPrivateNetwork,
        Duration::from_secs(2),
    );
    let world = World::on(Arc::new(client), directory(), TIMES, "", "").await;
    let _proxies = (world.proxy("a", "").await, world.proxy("b", "").await);
    let orchestrator = world.orchestrator();
    let api = world.api(&orchestrator);
    until("the proxies are known", || orchestrator.table().proxies().len() == 2).await;
    let mut times = Vec::new();
    for number in 0..20 {
        let name = format!("drone {number}");
        let client = world.bind(&name, "a").await;
        until("the client is known", || orchestrator.table().binding(&client).is_some()).await;
        let began = Instant::now();
        assert_eq!(api.move_to(&name, "b").await.0, 200);
        times.push(began.elapsed());
        world.arrive(&client).await;
    }
    times.sort();
    eprintln!("from the call to the announcement: p50 {:?}, longest {:?}", times[10], times[19]);
    cluster.kill(2).unwrap();
    let (late, a) = (ClientName::new("late").unwrap(), ProxyName("a".into()));
    let deadline = Instant::now() + Duration::from_secs(60);
    // Each step may be repeated.
    while world.bindings.bind(&late, &a).await.is_err() {
        assert!(Instant::now() < deadline, "the client can't be bound");
    }
    loop {
        let (status, answer) = api.move_to("late", "b").await;
        if status == 200 {
            break;
        }
        assert!(status == 503 && Instant::now() < deadline, "{answer}");
    }
    let BindingState::Announced { next, .. } = read(&world, &late, deadline).await.state else {
        panic!("the client is not announced")
    };
    loop {
        let number = read(&world, &late, deadline).await.generation;
        match world.bindings.switch(&late, number, &next).await {
            Ok(_) => break,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
    }
    world.until_settled(&late, "b").await;
    assert_eq!(api.get("/status").await["clients"], json!(21));
}

/// The network loses a member's connections without a word: requests go on at another, and the watch is as silent as before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_whose_watch_was_lost_without_a_word_follows_another_member() {
    let cluster = Cluster::start(1).unwrap();
    let member = cluster.endpoints().remove(0);
    let path = RecordingForwarder::start(member.parse().unwrap());
    let bindings = |endpoints| {
        let transport = Transport::PlaintextOnPrivateNetwork;
        let client = EtcdClient::new(endpoints, transport, Duration::from_secs(1));
        let second = Duration::from_secs(1);
        let times = MoveTimes { dwell: second, prepare: second, announce: second, drain: second };
        Bindings::new(Arc::new(client), "/pool/", times, unix)
    };
    let (near, far) =
        (bindings(vec![member.clone()]), bindings(vec![path.address().to_string(), member]));
    let table = far.table();
    until("the table is current", || table.is_current()).await;
    path.part(true);
    let (drone, a) = (ClientName::new("drone").unwrap(), ProxyName("a".into()));
    near.bind(&drone, &a).await.unwrap();
    until("the client is known", || table.binding(&drone).is_some()).await;
    assert!(table.is_current());
    path.part(false);
}

async fn read(world: &World, client: &ClientName, deadline: Instant) -> Binding {
    loop {
        match world.bindings.read(client).await {
            Ok(binding) => return binding,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
    }
}
