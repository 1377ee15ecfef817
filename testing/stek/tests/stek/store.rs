//! A store that is slow, or full.

use std::time::Duration;

use tessera_stek_tests::{Sidecar, SlowForwarder, until};
use tessera_test_peers::etcd::Cluster;

use crate::pool::Pool;

/// Requests reach the store, which executes them, but its answers come after their deadline.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_whose_store_is_slow_keeps_its_keys_and_recovers() {
    let etcd = Cluster::start(1).unwrap();
    let link = SlowForwarder::start(etcd.endpoints()[0].parse().unwrap()).await;
    let pool = start(&link.address().to_string(), "1h").await;
    let keys = pool.keys();
    // A request has two seconds.
    link.delay(Duration::from_secs(3));
    until("both report it", || {
        pool.statuses().iter().all(|status| status.contains("no answer in time"))
    })
    .await;
    assert!(!pool.sidecars.iter().any(Sidecar::is_well));
    assert_eq!(pool.keys(), keys);
    assert!(pool.tickets_cross().await);

    link.delay(Duration::ZERO);
    until("all is well again", || pool.is_well()).await;
    assert_eq!(pool.keys(), keys);
    pool.rotate(0);
    rotated(&pool, &keys[0][1]).await;
}

/// etcd answers reads, and refuses writes (NOSPACE) until an operator acts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_whose_store_is_full_keeps_its_keys_and_recovers() {
    const QUOTA: usize = 1 << 20;
    let etcd = Cluster::start_with_quota(QUOTA as u64).unwrap();
    let pool = start(&etcd.endpoints()[0], "6s").await;
    let sealing = pool.sealing().unwrap();
    etcd.fill(QUOTA).unwrap();
    let why = ": etcdserver: mvcc: database space exceeded\"";
    // When a rotation is due.
    until("both report it", || pool.statuses().iter().all(|status| status.contains(why))).await;
    // A key may seal for two rotations.
    assert_eq!(pool.sealing().as_ref(), Some(&sealing));
    assert!(pool.tickets_cross().await);

    etcd.disarm().unwrap();
    until("all is well again", || pool.is_well()).await;
    rotated(&pool, &sealing).await;
}

async fn start(endpoint: &str, rotate_every: &str) -> Pool {
    let mut pool = Pool::new(rotate_every, |_, _, _| {
        let endpoints = format!("endpoints = [{endpoint:?}], plaintext-on-private-network = true");
        [0, 1].map(|_| format!("etcd = {{ {endpoints} }}"))
    });
    pool.start().await;
    until("all is well", || pool.is_well()).await;
    pool
}

/// Waits until both servers seal with another key than this one; tickets cross then.
async fn rotated(pool: &Pool, from: &Vec<u8>) {
    until("both seal with the same new key", || pool.sealing().is_some_and(|key| key != *from))
        .await;
    assert!(pool.tickets_cross().await);
}
