//! What fleets without a ring do: a new key goes to one host after the other, and seals at once.

use std::collections::VecDeque;
use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tessera_aws_lc::provider;
use tessera_stek_tests::{Fleet, RunningServer};
use tokio::time::sleep;

use super::clients::{Pair, load};
use super::each_second;

/// The newest first, and the two before.
struct Keys(VecDeque<[u8; 80]>);

impl Keys {
    fn new() -> Self {
        let mut keys = Self(VecDeque::new());
        (0..3).for_each(|_| keys.rotate());
        keys
    }

    fn rotate(&mut self) {
        let mut key = [0; 80];
        provider().random.fill(&mut key).unwrap();
        self.0.push_front(key);
        self.0.truncate(3);
    }
}

/// A cron job copies the files to one host, reloads its nginx, and goes on with the other after a pause, in which a slow
/// network or another clock holds it up.
pub(super) async fn nginx_with_a_cron_job(fleet: &Fleet, rotations: usize, pause: Duration) {
    let mut servers = [(); 2].map(|()| RunningServer::nginx(&fleet.pki));
    let mut keys = Keys::new();
    let write = |server: &RunningServer, keys: &Keys| {
        for (number, key) in keys.0.iter().enumerate() {
            fs::write(server.path(&format!("key{number}")), key).unwrap();
        }
    };
    for server in &mut servers {
        write(server, &keys);
        server.start();
    }
    let pair = Pair::new("nginx", [servers[0].address, servers[1].address], fleet.canary());
    let clients = load(&[Arc::clone(&pair)]);
    let mut ticks = each_second();
    for _ in 0..rotations {
        ticks.tick().await;
        keys.rotate();
        for server in &servers {
            write(server, &keys);
            let pid = fs::read_to_string(server.path("nginx.pid")).unwrap();
            assert!(Command::new("kill").args(["-HUP", pid.trim()]).status().unwrap().success());
            sleep(pause).await;
        }
    }
    clients.abort();
    pair.report(&format!("nginx, cron, {} ms apart", pause.as_millis()));
}

/// The files of Envoy's secrets are replaced, one host after the other.
pub(super) async fn envoy_with_its_file_watch(fleet: &Fleet, rotations: usize) {
    let mut servers = ["a", "b"].map(|node| RunningServer::envoy_with_file(&fleet.pki, node));
    let mut keys = Keys::new();
    let write = |server: &RunningServer, keys: &Keys| {
        let keys = keys.0.iter().map(|key| format!("{{ inline_bytes: {} }}", STANDARD.encode(key)));
        let keys = keys.collect::<Vec<_>>().join(", ");
        let secret = format!(
            "resources:\n- \"@type\": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret\n  name: \
             stek\n  session_ticket_keys: {{ keys: [{keys}] }}\n"
        );
        let new = server.path("new.yaml");
        fs::write(&new, secret).unwrap();
        fs::rename(new, server.path("secret.yaml")).unwrap();
    };
    for server in &mut servers {
        write(server, &keys);
        server.start();
        server.listens();
    }
    let canary = fleet.canary().with_http_request();
    let pair = Pair::new("Envoy", [servers[0].address, servers[1].address], canary);
    let clients = load(&[Arc::clone(&pair)]);
    let mut ticks = each_second();
    for _ in 0..rotations {
        ticks.tick().await;
        keys.rotate();
        servers.iter().for_each(|server| write(server, &keys));
    }
    clients.abort();
    pair.report("Envoy, its file watch");
}
