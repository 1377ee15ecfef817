//! A store that stops for a while, or is full.

use std::time::Duration;

use http::{Request, StatusCode};
use tessera_bindings::ProxyName;
use tessera_edge_tests::{ORIGIN, Outcome, Pool, PoolSettings, places, until};
use tessera_test_peers::etcd::Cluster;
use tokio::time::sleep;

use crate::PROGRAM;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_store_bound_clients_are_served_and_state_only_for_the_lease() {
    let pool = Pool::start(PoolSettings::of(PROGRAM)).await;
    let [bound, moving, new] =
        ["bound", "moving", "new"].map(|name| pool.drone(Some(&format!("{name}.example"))));
    for drone in [&bound, &moving] {
        assert_eq!(drone.post("/cart").await.0, Outcome::Answered);
    }
    pool.announce(moving.name(), "b").await;
    let without_state = bound.sends("/web", Duration::from_millis(10));
    let is_held = |at: usize| pool.proxies[at].metric("tessera_edge_lease_held", "") == 1;
    until("both report their leases", || is_held(0) && is_held(1)).await;
    pool.etcd.stop(0).unwrap();

    // The leases go on for a while, and end.
    until("the leases end", || !is_held(0) && !is_held(1)).await;
    let before = bound.counts(Outcome::Answered);
    for drone in [&bound, &moving, &new] {
        for _ in 0..3 {
            let (outcome, answer) = drone.post("/cart").await;
            assert_eq!(outcome, Outcome::Refused, "{answer:?}");
            assert_eq!(answer.unwrap().field("retry-after"), "1");
        }
        assert_eq!(drone.post("/web").await.0, Outcome::Answered);
    }
    until("requests go on", || bound.counts(Outcome::Answered) > before + 20).await;
    assert_eq!(bound.counts(Outcome::Unknown), 0);

    pool.etcd.go_on(0).unwrap();
    for drone in [&bound, &moving, &new] {
        drone.is_served("/cart").await;
    }
    without_state.end().await;
    pool.moves(&moving, "b").await;
    pool.moves(&bound, "b").await;
    pool.moves(&bound, "a").await;
    assert_eq!(pool.executions.doubled(), []);
    [bound, moving, new].iter().for_each(|drone| drone.agrees());
}

/// It answers reads and writes, but too late: steps are repeated that were taken already.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_move_while_the_store_stops_again_and_again() {
    let pool = Pool::start(PoolSettings::of(PROGRAM)).await;
    let drone = pool.drone(Some("drone.example"));
    assert_eq!(drone.post("/cart").await.0, Outcome::Answered);
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let stopping = async {
        while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
            pool.etcd.stop(0).unwrap();
            sleep(Duration::from_millis(700)).await;
            pool.etcd.go_on(0).unwrap();
            sleep(Duration::from_millis(300)).await;
        }
    };
    let moving = async {
        for to in ["b", "a"] {
            pool.moves(&drone, to).await;
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    };
    tokio::join!(stopping, moving);
    drone.is_served("/cart").await;
    assert_eq!(pool.executions.doubled(), []);
    drone.agrees();
    let request = Request::get(format!("https://{ORIGIN}/cart"));
    assert_eq!(drone.send(request, "").await.unwrap().status, StatusCode::OK);
    // No change of its state was lost: both proxies lived.
    let answered = drone.counts(Outcome::Answered);
    let count = pool.instances[0].count(&drone.seen);
    assert!(count >= answered as u64, "{count} of {answered}");
}

/// etcd answers reads, and refuses writes (NOSPACE) until an operator acts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_store_is_full_bound_clients_are_served_and_none_moves() {
    const QUOTA: usize = 1 << 20;
    let etcd = Cluster::start_with_quota(QUOTA as u64).unwrap();
    let pool = Pool::over(etcd, places(&["a", "b"]), PoolSettings::of(PROGRAM)).await;
    let [bound, new] = ["bound", "new"].map(|name| pool.drone(Some(&format!("{name}.example"))));
    assert_eq!(bound.post("/cart").await.0, Outcome::Answered);
    until("it is bound", || pool.table.binding(bound.name()).is_some()).await;
    pool.etcd.fill(QUOTA).unwrap();

    assert!(pool.bindings.begin(bound.name(), &ProxyName("b".to_owned())).await.is_err());
    // For longer than a lease, which is renewed all the same.
    let track = bound.sends("/cart", Duration::from_millis(50));
    sleep(Duration::from_secs(6)).await;
    track.end().await;
    assert_eq!(bound.counts(Outcome::Refused) + bound.counts(Outcome::Unknown), 0);
    assert_eq!(new.post("/cart").await.0, Outcome::Refused);
    assert_eq!(new.post("/web").await.0, Outcome::Answered);

    pool.etcd.disarm().unwrap();
    new.is_served("/cart").await;
    pool.moves(&bound, "b").await;
    assert_eq!(pool.executions.doubled(), []);
    [bound, new].iter().for_each(|drone| drone.agrees());
}
