//! A proxy that is frozen for less than its lease, with requests in its hands.

use std::time::Duration;

use tessera_bindings::ProxyName;
use tessera_edge_tests::{Pool, PoolSettings, until};
use tokio::time::sleep;

use crate::PROGRAM;

const SERVICE: &str = "/cart";

/// Its lease lasts, but the client has gone on to the next proxy, which has waited in vain for its last changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_that_was_frozen_in_a_switch_executes_nothing_of_the_client_afterwards() {
    let pool = Pool::start(PoolSettings::of(PROGRAM)).await;
    let [a, b] = [&pool.proxies[0], &pool.proxies[1]];
    let drone = pool.drone(Some("drone.example"));
    drone.is_served(SERVICE).await;
    pool.announce(drone.name(), "b").await;
    // Devices of the client that know the first proxy alone, with open connections.
    let mut late = Vec::new();
    for _ in 0..12 {
        let device = pool.drone_at(Some("drone.example"), &pool.addresses[..1]);
        let begun = device.clone();
        begun.is_served("/web").await;
        late.push(device);
    }
    a.freeze().await;
    let sending: Vec<_> = late
        .iter()
        .map(|device| {
            let device = device.clone();
            tokio::spawn(async move { device.post(SERVICE).await })
        })
        .collect();
    let other = pool.drone_at(Some("drone.example"), &pool.addresses[1..]);
    other.is_served(SERVICE).await;
    assert!(
        pool.table.proxy(&ProxyName("a".to_owned())).is_some(),
        "its lease has ended: this tests something else"
    );
    assert_eq!(b.metric("tessera_edge_move_steps_total", "changes-lost"), 1);
    let served_by_b = pool.executions.places(&drone.seen);
    assert_eq!(served_by_b, ["a", "b"]);
    a.process().go_on();
    for task in sending {
        task.await.unwrap();
    }
    assert_eq!(pool.executions.places(&drone.seen), ["a", "b"], "{}", a.log());
    // It joins again, and forwards.
    until("it noticed", || a.log().contains("stood still")).await;
    late[0].is_served(SERVICE).await;
    sleep(Duration::from_millis(100)).await;
    assert_eq!(pool.executions.places(&drone.seen), ["a", "b"]);
    assert_eq!(pool.executions.doubled(), []);
    for device in late.iter().chain([&drone, &other]) {
        device.agrees();
    }
}

/// Its lease lasts, and it must begin a new one all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_stood_still_serves_again_once_it_has_followed() {
    let pool = Pool::start(PoolSettings::of(PROGRAM)).await;
    let drone = pool.drone(Some("drone.example"));
    drone.is_served(SERVICE).await;
    let a = &pool.proxies[0];
    a.freeze().await;
    sleep(Duration::from_millis(2500)).await;
    let first = tokio::spawn({
        let drone = drone.clone();
        async move { drone.post(SERVICE).await }
    });
    a.process().go_on();
    first.await.unwrap();
    drone.is_served(SERVICE).await;
    assert_eq!(pool.executions.places(&drone.seen), ["a"]);
    drone.agrees();
}
