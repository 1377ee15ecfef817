//! Rotations under load, with figures: `make evidence-stek`.

mod clients;
mod observer;
mod without;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tessera_etcd::{EtcdClient, Transport};
use tessera_ring::FleetRing;
use tessera_stek_tests::{Fleet, RunningServer, until};
use tessera_store::Store;
use tessera_test_peers::etcd::Cluster;
use tessera_vault::Rotation;
use tokio::time::{MissedTickBehavior, interval, sleep};

use self::clients::{Pair, load};
use self::observer::{Observer, report};

/// How many rotations, a second apart, if ROTATIONS doesn't name another number.
const ROTATIONS: usize = 1000;

/// Times that fit keys of one second: a ring with those of an hour would hold a thousand keys. By themselves members
/// would rotate every two seconds.
const ROTATION: Rotation = Rotation {
    issue_for: Duration::from_secs(4),
    open_for: Duration::from_secs(2),
    skew: Duration::from_millis(100),
};

/// How many with nginx, whose reloads leave processes behind, and without a ring.
const FEWER: usize = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes twenty minutes, and needs ENVOY, the program"]
async fn pools_rotate_each_second_under_load() {
    let rotations = std::env::var("ROTATIONS").ok().and_then(|text| text.parse().ok());
    let rotations = rotations.unwrap_or(ROTATIONS);
    // In memory.
    let etcd = Cluster::start_with(3, None, Path::new("/dev/shm")).unwrap();
    let transport = Transport::PlaintextOnPrivateNetwork;
    let client = EtcdClient::new(etcd.endpoints(), transport, Duration::from_secs(1));
    let store: Arc<dyn Store> = Arc::new(client);
    let fleet = Fleet::over(store.clone());

    let mut haproxy = [(); 2].map(|()| RunningServer::haproxy(&fleet.pki));
    let mut nginx = [(); 2].map(|()| RunningServer::nginx(&fleet.pki));
    let mut envoy = ["a", "b"].map(|node| RunningServer::envoy(&fleet.pki, node));
    let (mut rings, mut nginx_rings, mut tessera) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..2 {
        let installer = haproxy[at].haproxy_installer(fleet.keys("haproxy"));
        rings.push(fleet.join_with(&format!("HAProxy {at}"), Arc::new(installer), ROTATION));
        let installer = envoy[at].envoy_installer(fleet.keys("envoy"));
        rings.push(fleet.join_with(&format!("Envoy {at}"), Arc::new(installer), ROTATION));
        let (ring, address) = fleet.tessera_server(&format!("Tessera {at}"), ROTATION);
        rings.push(ring);
        tessera.push(address);
        let installer = nginx[at].nginx_installer(fleet.keys("nginx"));
        nginx_rings.push(fleet.join_with(&format!("nginx {at}"), Arc::new(installer), ROTATION));
    }
    envoy.iter_mut().for_each(RunningServer::start);
    for (haproxy, nginx) in haproxy.iter_mut().zip(&mut nginx) {
        haproxy.start_with_keys().await;
        let key = nginx.path("key0");
        until("the keys are written", || std::fs::read(&key).unwrap()[..] != [0; 80]).await;
        nginx.start();
    }
    let all: Vec<_> = rings.iter().chain(&nginx_rings).collect();
    until("all members hold the next key", || is_held(&all)).await;
    envoy.iter().for_each(RunningServer::listens);
    let addresses = |servers: &[RunningServer; 2]| [servers[0].address, servers[1].address];
    let pairs = [
        Pair::new("HAProxy", addresses(&haproxy), fleet.canary()),
        Pair::new("Envoy", addresses(&envoy), fleet.canary().with_http_request()),
        Pair::new("Tessera", [tessera[0], tessera[1]], fleet.canary()),
        Pair::new("nginx", addresses(&nginx), fleet.canary()),
    ];
    let observer = Observer::start(store).await;

    println!(
        "{FEWER} rotations a second apart, etcd of three members in memory, 200 handshakes/s:"
    );
    let clients = load(&pairs);
    rotate_each_second(&all, FEWER).await;
    clients.abort();
    finish(&pairs, &observer);
    for ring in &nginx_rings {
        ring.close().await;
    }
    drop(nginx);

    let (pairs, all) = (&pairs[..3], rings.iter().collect::<Vec<_>>());
    println!("{rotations} rotations, the same without nginx:");
    observer.take();
    let clients = load(pairs);
    rotate_each_second(&all, rotations).await;
    clients.abort();
    finish(pairs, &observer);

    println!("{FEWER} rotations without a ring:");
    for pause in [0, 300] {
        without::nginx_with_a_cron_job(&fleet, FEWER, Duration::from_millis(pause)).await;
    }
    without::envoy_with_its_file_watch(&fleet, FEWER).await;
}

/// Prints all figures.
fn finish(pairs: &[Arc<Pair>], observer: &Observer) {
    let times = observer.take();
    for pair in pairs {
        let share = pair.report(pair.kind);
        assert!(share >= 0.99, "{}: {share}", pair.kind);
        report(pair.kind, &times);
    }
    report("", &times);
}

/// Rotates by each member in turn, and waits each time until all have acknowledged.
async fn rotate_each_second(rings: &[&FleetRing], count: usize) {
    let mut ticks = each_second();
    for round in 0..count {
        ticks.tick().await;
        let began = Instant::now();
        // Another member may have seen that the next rotation is due.
        while let Err(error) = rings[round % rings.len()].rotate().await {
            assert!(began.elapsed() < Duration::from_secs(5), "{error}");
            sleep(Duration::from_millis(5)).await;
        }
        while !is_held(rings) {
            assert!(began.elapsed() < Duration::from_secs(5), "all acknowledge");
            sleep(Duration::from_millis(1)).await;
        }
    }
}

fn each_second() -> tokio::time::Interval {
    let mut ticks = interval(Duration::from_secs(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Whether all members hold one next key, and know it.
fn is_held(rings: &[&FleetRing]) -> bool {
    let statuses: Vec<_> = rings.iter().map(|ring| ring.status()).collect();
    let next = statuses[0].distributing;
    next.is_some()
        && statuses.iter().all(|status| {
            status.distributing == next
                && status.waiting_for.is_empty()
                && status.members.len() >= rings.len()
        })
}
