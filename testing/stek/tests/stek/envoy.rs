//! Envoy itself.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tessera_ring::{Installer, RingKeys};
use tessera_stek::servers::envoy::{Envoy, EnvoyParts};
use tessera_stek_tests::{Fleet, ring_keys, settled, until};
use tessera_test_peers::{Directory, Network, Process, free_port};

/// An Envoy, and the socket of its sidecar.
struct Host {
    address: SocketAddr,
    directory: Directory,
    process: Option<Process>,
}

impl Host {
    fn new(fleet: &Fleet, node: &str) -> Self {
        let directory = Directory::new();
        let port = free_port().unwrap();
        let certificate = directory.write_private("server.pem", fleet.pki.certificate());
        let key = directory.write_private("server.key", fleet.pki.key());
        let settings = include_str!("envoy.yaml")
            .replace("NODE", node)
            .replace("PORT", &port.to_string())
            .replace("CERTIFICATE", &certificate)
            .replace("KEY", &key)
            .replace("SOCKET", &directory.path("sds"));
        directory.write("envoy.yaml", settings);
        Self { address: SocketAddr::from(([127, 0, 0, 1], port)), directory, process: None }
    }

    fn start(&mut self) {
        let program = std::env::var("ENVOY").expect("ENVOY names the program");
        self.process = None;
        let settings = self.directory.path("envoy.yaml");
        // Without --disable-hot-restart two Envoys would share memory.
        let options =
            ["-c", &settings, "--disable-hot-restart", "--concurrency", "1", "-l", "warning"];
        self.process = Some(Process::start_compiled("envoy", &program, Network::Loopback, options));
    }

    fn sidecar(&self, fleet: &Fleet) -> Arc<Envoy> {
        let socket = self.directory.as_path().join("sds");
        let parts = EnvoyParts { socket, secret: "stek".into(), keys: fleet.keys("envoy") };
        Arc::new(Envoy::listen(parts).unwrap())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs ENVOY, the program"]
async fn tickets_cross_between_two_envoys_through_twenty_rotations() {
    let fleet = Fleet::new();
    let mut hosts = [Host::new(&fleet, "a"), Host::new(&fleet, "b")];
    let rings =
        [fleet.join("a", hosts[0].sidecar(&fleet)), fleet.join("b", hosts[1].sidecar(&fleet))];
    let rings: Vec<_> = rings.iter().collect();
    until("the missing Envoy is reported", || rings[0].status().problem.is_some()).await;
    let problem = rings[0].status().problem.unwrap();
    assert!(problem.starts_with("no Envoy asks for the secret `stek`"), "{problem}");
    hosts.iter_mut().for_each(Host::start);
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
    hosts[0].process.as_ref().unwrap().listens_on(a.port());
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
    let mut host = Host::new(&fleet, "a");
    let sidecar = host.sidecar(&fleet);
    host.start();
    let keys = ring_keys();
    install(&sidecar, &keys).await;
    host.process.as_ref().unwrap().listens_on(host.address.port());
    let canary = fleet.canary().with_http_request();
    let ticket = canary.ticket(host.address).await.unwrap();
    drop(sidecar);
    assert!(canary.resumes(host.address, ticket).await.unwrap());
    let sidecar = host.sidecar(&fleet);
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
