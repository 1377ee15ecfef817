//! Envoy itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tessera_ring::{Installer, RingKeys};
use tessera_stek::servers::envoy::Envoy;
use tessera_stek_tests::{Fleet, RunningServer, ring_keys, settled, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs ENVOY, the program"]
async fn tickets_cross_between_two_envoys_through_twenty_rotations() {
    let fleet = Fleet::new();
    let mut hosts = [RunningServer::envoy(&fleet.pki, "a"), RunningServer::envoy(&fleet.pki, "b")];
    let rings = [0, 1].map(|at: usize| {
        let installer = hosts[at].envoy_installer(fleet.keys("envoy"));
        fleet.join(["a", "b"][at], Arc::new(installer))
    });
    let rings: Vec<_> = rings.iter().collect();
    until("the missing Envoy is reported", || rings[0].status().problem.is_some()).await;
    let problem = rings[0].status().problem.unwrap();
    assert!(problem.starts_with("no Envoy asks for the secret `stek`"), "{problem}");
    hosts.iter_mut().for_each(RunningServer::start);
    settled(&rings).await;
    let [a, b] = [0, 1].map(|at: usize| hosts[at].address);
    let canary = fleet.canary().with_http_request();
    let mut names = std::collections::BTreeSet::new();
    let mut times = Vec::new();
    for round in 0..20 {
        let ticket = canary.ticket(a).await.unwrap();
        names.insert(*ticket.key_name().unwrap());
        assert!(canary.resumes(b, ticket).await.unwrap(), "round {round}");
        let earlier = canary.ticket(b).await.unwrap();
        let start = Instant::now();
        rings[round % 2].rotate().await.unwrap();
        // In half of the rounds while the members take the next key.
        if round < 10 {
            assert!(canary.resumes(a, earlier).await.unwrap(), "round {round}, over a rotation");
            settled(&rings).await;
        } else {
            settled(&rings).await;
            times.push(start.elapsed());
            assert!(canary.resumes(a, earlier).await.unwrap(), "round {round}, over a rotation");
        }
    }
    times.sort();
    eprintln!("from a rotation to both confirmations: p50 {:?}, max {:?}", times[5], times[9]);
    assert_eq!(names.len(), 20, "each rotation has its own key");
    let old = canary.ticket(a).await.unwrap();
    rings[1].revoke().await.unwrap();
    settled(&rings).await;
    assert!(!canary.resumes(b, old).await.unwrap());
    // A restart finds the keys at the sidecar.
    let ticket = canary.ticket(b).await.unwrap();
    let start = Instant::now();
    hosts[0].start();
    hosts[0].listens();
    eprintln!("from a start of Envoy to its port: {:?}", start.elapsed());
    assert!(canary.resumes(a, ticket).await.unwrap());
    rings[0].rotate().await.unwrap();
    settled(&rings).await;
    for (from, to) in [(a, b), (b, a)] {
        let ticket = canary.ticket(from).await.unwrap();
        assert!(canary.resumes(to, ticket).await.unwrap());
    }
}

/// Envoy keeps its keys while its sidecar is restarted, and confirms new ones afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs ENVOY, the program"]
async fn an_envoy_comes_back_to_a_sidecar_that_was_restarted() {
    let fleet = Fleet::new();
    let mut host = RunningServer::envoy(&fleet.pki, "a");
    let sidecar = host.envoy_installer(fleet.keys("envoy"));
    host.start();
    let keys = ring_keys();
    install(&sidecar, &keys).await;
    host.listens();
    let canary = fleet.canary().with_http_request();
    let ticket = canary.ticket(host.address).await.unwrap();
    drop(sidecar);
    assert!(canary.resumes(host.address, ticket).await.unwrap());
    let sidecar = host.envoy_installer(fleet.keys("envoy"));
    install(&sidecar, &ring_keys()).await;
    let mut times: Vec<_> = Vec::new();
    for _ in 0..100 {
        let start = Instant::now();
        sidecar.install(&ring_keys()).await.unwrap();
        times.push(start.elapsed());
    }
    times.sort();
    eprintln!("from a change to Envoy's confirmation: p50 {:?}, p95 {:?}", times[50], times[95]);
}

/// Waits until Envoy has connected and confirmed the keys.
async fn install(sidecar: &Envoy, keys: &RingKeys) {
    let start = Instant::now();
    while let Err(refusal) = sidecar.install(keys).await {
        assert!(start.elapsed() < Duration::from_secs(20), "{refusal}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
