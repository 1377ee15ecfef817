//! Two nginx.

use std::sync::Arc;

use tessera_stek_tests::{Fleet, RunningServer, revoke, settled, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tickets_cross_between_two_nginx_through_twenty_rotations() {
    let fleet = Fleet::new();
    let mut servers = [RunningServer::nginx(&fleet.pki), RunningServer::nginx(&fleet.pki)];
    servers.iter_mut().for_each(RunningServer::start);
    let join = |name: &str, server: &RunningServer| {
        fleet.join(name, Arc::new(server.nginx_installer(fleet.keys("nginx"))))
    };
    let rings = [join("a", &servers[0]), join("b", &servers[1])];
    let rings: Vec<_> = rings.iter().collect();
    settled(&rings).await;
    let [a, b] = [0, 1].map(|at: usize| servers[at].address);
    let canary = fleet.canary();
    for round in 0..20 {
        let ticket = canary.ticket(a).await.unwrap();
        assert!(canary.resumes(b, ticket).await.unwrap(), "round {round}");
        let earlier = canary.ticket(b).await.unwrap();
        rings[round % 2].rotate().await.unwrap();
        assert!(canary.resumes(a, earlier).await.unwrap(), "round {round}, over a rotation");
        settled(&rings).await;
    }
    // Three files: the issuing key, the next one, and one earlier.
    let old = canary.ticket(a).await.unwrap();
    for _ in 0..2 {
        rings[0].rotate().await.unwrap();
        settled(&rings).await;
    }
    assert!(!canary.resumes(b, old).await.unwrap());
    revoke(&fleet, &rings, [a, b]).await;
}

/// A configuration that nginx refuses keeps its old workers: the key isn't acknowledged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_nginx_that_refuses_its_configuration_acknowledges_nothing() {
    let fleet = Fleet::new();
    let mut server = RunningServer::nginx(&fleet.pki);
    server.start();
    let ring = fleet.join("a", Arc::new(server.nginx_installer(fleet.keys("nginx"))));
    settled(&[&ring]).await;
    let file = server.path("nginx.conf");
    let settings = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("nonsense;\n{settings}")).unwrap();
    ring.rotate().await.unwrap();
    until("the problem is known", || ring.status().problem.is_some()).await;
    let problem = ring.status().problem.unwrap();
    assert!(problem.contains("started no new workers"), "{problem}");
    assert!(ring.rotate().await.is_err(), "the next key isn't acknowledged");
    std::fs::write(&file, settings).unwrap();
    settled(&[&ring]).await;
}
