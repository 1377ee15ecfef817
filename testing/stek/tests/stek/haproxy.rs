//! Two HAProxys.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use tessera::wire::NamedGroup;
use tessera_stek::canary::CanaryTicket;
use tessera_stek_tests::{Fleet, RunningServer, revoke, settled, until};
use tokio::time::sleep;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tickets_cross_between_two_haproxys_through_twenty_rotations() {
    let fleet = Fleet::new();
    let mut servers = [RunningServer::haproxy(&fleet.pki), RunningServer::haproxy(&fleet.pki)];
    let join = |name: &str, server: &RunningServer| {
        fleet.join(name, Arc::new(server.haproxy_installer(fleet.keys("haproxy"))))
    };
    let rings = [join("a", &servers[0]), join("b", &servers[1])];
    for server in &mut servers {
        server.start_with_keys().await;
    }
    let rings: Vec<_> = rings.iter().collect();
    settled(&rings).await;
    let [a, b] = [0, 1].map(|at: usize| servers[at].address);
    let canary = fleet.canary();
    let mut names = std::collections::BTreeSet::new();
    for round in 0..20 {
        let ticket = canary.ticket(a).await.unwrap();
        names.insert(*ticket.key_name().unwrap());
        let earlier = canary.ticket(b).await.unwrap();
        assert!(canary.resumes(b, ticket).await.unwrap(), "round {round}");
        rings[round % 2].rotate().await.unwrap();
        // While members take the key after it.
        assert!(canary.resumes(a, earlier).await.unwrap(), "round {round}, over a rotation");
        settled(&rings).await;
    }
    assert_eq!(names.len(), 20, "each rotation has its own key");

    // A key lives two rotations at HAProxy.
    let old = canary.ticket(a).await.unwrap();
    rings[0].rotate().await.unwrap();
    settled(&rings).await;
    rings[0].rotate().await.unwrap();
    settled(&rings).await;
    assert!(!canary.resumes(b, old).await.unwrap());
    revoke(&fleet, &rings, [a, b]).await;

    // Another program pushes a key of its own.
    let path = servers[0].path("keys");
    let key = "A".repeat(106) + "A=";
    // The second makes the first seal.
    for _ in 0..2 {
        let mut socket = UnixStream::connect(servers[0].path("admin.sock")).unwrap();
        let command = format!("set ssl tls-key {} {key}\n", path.display());
        socket.write_all(command.as_bytes()).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("updated"), "{answer}");
    }
    assert!(!fleet.crosses(a, b).await, "another key seals");
    rings[0].install_again().await;
    until("the ring's keys are back", || rings[0].status().problem.is_none()).await;
    sleep(Duration::from_millis(500)).await;
    assert!(fleet.crosses(a, b).await && fleet.crosses(b, a).await);
}

/// The sidecars compare them: tickets cross all the same, but clients get another key exchange at one of the servers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_remembers_which_group_a_server_chose() {
    let fleet = Fleet::new();
    let mut servers =
        ["X25519:P-256", "P-256"].map(|it| RunningServer::haproxy(&fleet.pki).with_groups(it));
    let canary = fleet.canary();
    for (server, group) in servers.iter_mut().zip([NamedGroup::X25519, NamedGroup::SECP256R1]) {
        fs::write(server.path("keys"), format!("{}\n", vec!["A".repeat(107) + "="; 3].join("\n")))
            .unwrap();
        server.start();
        // As tickets travel between sidecars.
        let exported = canary.ticket(server.address).await.unwrap().export();
        assert_eq!(CanaryTicket::import(&exported).unwrap().group(), Some(group));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_haproxy_that_is_restarted_has_the_rings_keys_from_its_file() {
    let fleet = Fleet::new();
    let mut servers = [RunningServer::haproxy(&fleet.pki), RunningServer::haproxy(&fleet.pki)];
    let installers =
        [0, 1].map(|at: usize| Arc::new(servers[at].haproxy_installer(fleet.keys("haproxy"))));
    let rings = [fleet.join("a", installers[0].clone()), fleet.join("b", installers[1].clone())];
    for server in &mut servers {
        server.start_with_keys().await;
    }
    let rings: Vec<_> = rings.iter().collect();
    settled(&rings).await;
    let [a, b] = [0, 1].map(|at: usize| servers[at].address);
    let ticket = fleet.canary().ticket(b).await.unwrap();
    servers[0].kill();
    servers[0].start();
    assert!(fleet.canary().resumes(a, ticket).await.unwrap());

    // While it is down, nothing rotates past it, and the other serves.
    servers[0].kill();
    rings[1].rotate().await.unwrap();
    until("a's problem is known", || rings[0].status().problem.is_some()).await;
    let problem = rings[0].status().problem.unwrap();
    assert!(problem.starts_with("HAProxy can't be reached at "), "{problem}");
    sleep(Duration::from_millis(300)).await;
    assert!(rings[1].rotate().await.is_err());
    assert!(fleet.crosses(b, b).await);
    servers[0].start();
    settled(&rings).await;
    assert!(fleet.crosses(a, b).await && fleet.crosses(b, a).await);
}

/// Virtual hosts of two tenants, or with other rules for clients' certificates: CVE-2025-23419.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_of_another_pool_does_not_open() {
    let fleet = Fleet::new();
    let mut servers = [RunningServer::haproxy(&fleet.pki), RunningServer::haproxy(&fleet.pki)];
    let rings = [0, 1].map(|at: usize| {
        let keys = fleet.keys_of("haproxy", ["shop", "bank"][at]);
        fleet.join(["a", "b"][at], Arc::new(servers[at].haproxy_installer(keys)))
    });
    for server in &mut servers {
        server.start_with_keys().await;
    }
    let rings: Vec<_> = rings.iter().collect();
    settled(&rings).await;
    let [shop, bank] = [0, 1].map(|at: usize| servers[at].address);
    for _ in 0..2 {
        assert!(fleet.crosses(shop, shop).await && fleet.crosses(bank, bank).await);
        assert!(!fleet.crosses(shop, bank).await && !fleet.crosses(bank, shop).await);
        rings[0].rotate().await.unwrap();
        settled(&rings).await;
    }
}
