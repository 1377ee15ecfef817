//! Go's crypto/tls crosses between two servers.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use tessera_stek_tests::{Fleet, RunningServer, SERVER_NAME, settled};
use tessera_test_peers::{Directory, Network, Process, go};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn go_resumes_at_the_other_nginx_before_and_after_a_rotation() {
    let fleet = Fleet::new();
    let mut servers = [RunningServer::nginx(&fleet.pki), RunningServer::nginx(&fleet.pki)];
    servers.iter_mut().for_each(RunningServer::start);
    let rings = [0, 1].map(|at: usize| {
        let installer = servers[at].nginx_installer(fleet.keys("nginx"));
        fleet.join(["a", "b"][at], Arc::new(installer))
    });
    let rings: Vec<_> = rings.iter().collect();
    settled(&rings).await;
    let [a, b] = [0, 1].map(|at: usize| servers[at].address);
    let files = Directory::new();
    let ca = files.write("ca.pem", fleet.pki.authority.pem());
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("go");
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go");
    let program = go::build(&module, &cache, &files);
    let mut client = Process::start_compiled("go", &program, Network::Loopback, [SERVER_NAME, &ca]);
    connects(&mut client, a, "false", 1);
    connects(&mut client, b, "true", 1);
    rings[1].rotate().await.unwrap();
    settled(&rings).await;
    connects(&mut client, a, "true", 2);
    rings[0].revoke().await.unwrap();
    settled(&rings).await;
    connects(&mut client, b, "false", 2);
    connects(&mut client, a, "true", 3);
    assert!(client.end_input().ends(), "{}", client.output());
}

/// Connects to a server: the `times`th connection that is or isn't resumed.
fn connects(client: &mut Process, server: SocketAddr, resumed: &str, times: usize) {
    client.tell(&format!("{server}\n")).says_times(&format!("resumed: {resumed}\n"), times);
}
