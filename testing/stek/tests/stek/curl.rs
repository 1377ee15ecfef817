//! curl crosses between two servers behind a load balancer.

use std::sync::Arc;

use tessera_stek_tests::{Fleet, Forwarder, RunningServer, SERVER_NAME, settled};
use tessera_test_peers::{Directory, Network, Process};

/// One process keeps its sessions in memory, by the name and port that it connects to: both servers have the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn curl_resumes_at_the_other_haproxy_before_and_after_a_rotation() {
    let fleet = Fleet::new();
    let mut servers = [RunningServer::haproxy(&fleet.pki), RunningServer::haproxy(&fleet.pki)];
    let rings = [0, 1].map(|at: usize| {
        let installer = servers[at].haproxy_installer(fleet.keys("haproxy"));
        fleet.join(["a", "b"][at], Arc::new(installer))
    });
    for server in &mut servers {
        server.set("    http-after-response set-header resumed %[ssl_fc_is_resumed]");
        server.start_with_keys().await;
    }
    let rings: Vec<_> = rings.iter().collect();
    settled(&rings).await;
    let [a, b] = [0, 1].map(|at: usize| servers[at].address);
    let files = Directory::new();
    let ca = files.write("ca.pem", fleet.pki.authority.pem());
    for (between, second) in [("nothing", "1"), ("a rotation", "1"), ("a revocation", "0")] {
        let balancer = Forwarder::listen().await;
        let mut curl = curl_twice(&balancer, &ca);
        balancer.forward_to(a).await;
        match between {
            "a rotation" => rings[1].rotate().await.unwrap(),
            "a revocation" => rings[0].revoke().await.unwrap(),
            _ => {}
        }
        settled(&rings).await;
        balancer.forward_to(b).await;
        assert!(curl.ends(), "{}", curl.output());
        let headers = curl.stdout();
        let resumed = headers.lines().filter_map(|line| line.strip_prefix("resumed: "));
        // By what the servers report: curl reports only what it offers.
        assert_eq!(resumed.collect::<Vec<_>>(), ["0", second], "{between} in between");
    }
}

/// Starts a client that makes two connections, one after the other, and prints the headers of the responses.
fn curl_twice(balancer: &Forwarder, ca: &str) -> Process {
    let port = balancer.address().port();
    let url = format!("https://{SERVER_NAME}:{port}/");
    let resolve = format!("{SERVER_NAME}:{port}:127.0.0.1");
    let options = ["--silent", "--show-error", "--include", "--http1.1", "--cacert", ca];
    // Each response ends its connection.
    let more = ["--resolve", &resolve, "--header", "Connection: close", &url, &url];
    Process::start("curl", Network::Loopback, options.iter().chain(&more))
}
