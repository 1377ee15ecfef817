//! Rotations under load, with figures: `make evidence-stek`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tessera_etcd::{EtcdClient, Transport};
use tessera_ring::FleetRing;
use tessera_stek_tests::{Fleet, RunningServer, settled, until};
use tessera_test_peers::etcd::Cluster;
use tokio::time::{MissedTickBehavior, interval, sleep};

/// How many rotations, a second apart, if ROTATIONS doesn't name another number.
const ROTATIONS: usize = 100;

/// Handshakes a second: each client makes a full one, and comes back to the other server.
const HANDSHAKES: u64 = 200;

/// What became of the clients.
#[derive(Default)]
struct Clients {
    resumed: AtomicU64,
    full: AtomicU64,
    failed: AtomicU64,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes"]
async fn two_haproxys_rotate_each_second_under_load() {
    let rotations = std::env::var("ROTATIONS").ok().and_then(|text| text.parse().ok());
    let rotations = rotations.unwrap_or(ROTATIONS);
    let etcd = Cluster::start(3).unwrap();
    let transport = Transport::PlaintextOnPrivateNetwork;
    let client = EtcdClient::new(etcd.endpoints(), transport, Duration::from_secs(1));
    let fleet = Arc::new(Fleet::over(Arc::new(client)));
    let mut servers = [RunningServer::haproxy(&fleet.pki), RunningServer::haproxy(&fleet.pki)];
    let rings = [0, 1].map(|at: usize| {
        let installer = servers[at].haproxy_installer(fleet.keys("haproxy"));
        fleet.join(["a", "b"][at], Arc::new(installer))
    });
    for server in &mut servers {
        let keys = server.path("keys");
        until("the keys are written", || std::fs::metadata(&keys).unwrap().len() > 300).await;
        server.start();
    }
    let rings: Vec<_> = rings.iter().collect();
    settled(&rings).await;
    let addresses = [servers[0].address, servers[1].address];
    let clients = Arc::new(Clients::default());
    let load = tokio::spawn(load(fleet.clone(), addresses, clients.clone()));

    let mut latencies = Vec::new();
    let mut ticks = interval(Duration::from_secs(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for round in 0..rotations {
        ticks.tick().await;
        latencies.push(rotate(rings[round % 2], &rings).await);
    }
    load.abort();
    latencies.sort_unstable();
    let at = |share: usize| latencies[(latencies.len() - 1) * share / 100].as_secs_f64() * 1000.0;
    let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let (resumed, full, failed) = (get(&clients.resumed), get(&clients.full), get(&clients.failed));
    let returned = resumed + full + failed;
    println!(
        "two HAProxys, etcd of three members on a disk: {rotations} rotations a second apart; from the request to the last \
         acknowledgement p50 {:.1} ms, p95 {:.1} ms, most {:.1} ms",
        at(50),
        at(95),
        at(100)
    );
    println!(
        "{returned} clients came back to the other server within half a second: {resumed} resumed ({:.2} %), {full} made \
         full handshakes, {failed} failed",
        resumed as f64 * 100.0 / returned.max(1) as f64
    );
    assert_eq!(failed, 0);
    assert!(returned > rotations as u64 * HANDSHAKES / 8, "the load ran");
    assert!(resumed * 100 >= returned * 99, "{resumed} of {returned}");
}

/// Rotates, and returns the time until every member has acknowledged the next key.
async fn rotate(ring: &FleetRing, rings: &[&FleetRing]) -> Duration {
    let began = Instant::now();
    ring.rotate().await.unwrap();
    let next = ring.status().distributing;
    let is_held = |ring: &&FleetRing| {
        let status = ring.status();
        status.distributing == next && status.waiting_for.is_empty()
    };
    while !rings.iter().any(is_held) {
        assert!(began.elapsed() < Duration::from_secs(5), "all acknowledge");
        sleep(Duration::from_micros(200)).await;
    }
    began.elapsed()
}

/// Half of the handshakes are full ones, half are of clients that come back.
async fn load(fleet: Arc<Fleet>, addresses: [SocketAddr; 2], clients: Arc<Clients>) {
    let mut ticks = interval(Duration::from_secs(2) / HANDSHAKES as u32);
    let canary = Arc::new(fleet.canary());
    for number in 0_u64.. {
        ticks.tick().await;
        let (canary, clients) = (canary.clone(), clients.clone());
        let (from, to) = (addresses[number as usize % 2], addresses[(number as usize + 1) % 2]);
        // Evenly up to half a second.
        let pause = Duration::from_millis(number * 37 % 500);
        tokio::spawn(async move {
            let count = match canary.ticket(from).await {
                Err(_) => &clients.failed,
                Ok(ticket) => {
                    sleep(pause).await;
                    match canary.resumes(to, ticket).await {
                        Ok(true) => &clients.resumed,
                        Ok(false) => &clients.full,
                        Err(_) => &clients.failed,
                    }
                }
            };
            count.fetch_add(1, Ordering::Relaxed);
        });
    }
}
