//! Makes the files of this version: `cargo run -p tessera-upgrade --example make_files -- FOLDER`.
//! It needs `etcd` in the PATH.
#![allow(clippy::unwrap_used, reason = "the developer who runs it sees what went wrong")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, thread};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tessera::resume::{PutSecret, TakePurpose, Vault};
use tessera_aws_lc::provider;
use tessera_etcd::{EtcdClient, EtcdVault, Transport, VaultOptions};
use tessera_harness::at;
use tessera_ring::{FleetRing, RingOptions, RingParts};
use tessera_test_peers::etcd::Cluster;
use tessera_tokio::{FileSessionStore, SessionStore};
use tessera_upgrade::{Caches, NOW, scene, wrapping_keys};
use tessera_vault::contract::{LIFETIME, accept, handle, put, question, secret};
use tessera_vault::{Limits, MemoryVault, TicketKey, TicketKeyRing, WrappingPurpose};
use tokio::runtime::Runtime;

fn main() {
    let folder = std::env::args().nth(1).unwrap();
    let folder = Path::new(&folder);
    fs::create_dir_all(folder).unwrap();
    connection(folder);
    cached_certificates(folder);
    fs::write(folder.join("etcd.json"), etcd()).unwrap();
}

/// Writes the certificate caches of two ends after a connection.
fn cached_certificates(folder: &Path) {
    let caches = Caches::empty();
    assert_eq!(caches.connect(), (false, false));
    fs::write(folder.join("servers"), caches.client.export()).unwrap();
    fs::write(folder.join("clients"), caches.server.export()).unwrap();
}

/// Writes what a server and its client keep of one connection, and a vault with a history.
fn connection(folder: &Path) {
    let hour = Duration::from_secs(3600);
    let key = TicketKey::generate(&provider(), NOW, hour * 12, hour * 24).unwrap();
    fs::write(folder.join("ring-key"), &*key.encode()).unwrap();
    let ring = TicketKeyRing::new(&provider());
    ring.add(key, NOW).unwrap();

    let keys = wrapping_keys(WrappingPurpose::Snapshot);
    let directory = folder.join("vault");
    let limits = Limits::new(100);
    let (vault, _) = MemoryVault::open(&directory, limits, &provider(), &keys, NOW).unwrap();
    for number in 0..4 {
        assert!(put(&vault, number));
    }
    accept(&vault, 0).unwrap();
    vault.burn(&handle(1));
    let vault = Arc::new(vault);

    let mut scene = scene(Arc::new(ring));
    if let Some(guard) = &mut scene.server.policy.early_data.forward_secret {
        guard.vault = vault.clone();
    }
    let mut pair = scene.start(None, at(0));
    pair.run();
    let session = pair.to_client.sessions.remove(0);
    fs::write(folder.join("ticket"), &session.ticket).unwrap();
    let store = FileSessionStore::open(folder.join("sessions")).unwrap();
    store.put(tessera_harness::SERVER_NAME, session);

    vault.close(&provider(), &keys, NOW).unwrap();
}

/// Returns a ring and a vault in etcd, as names and values in base64.
fn etcd() -> String {
    let cluster = Cluster::start(1).unwrap();
    let runtime = Runtime::new().unwrap();
    let client = || {
        let transport = Transport::PlaintextOnPrivateNetwork;
        EtcdClient::new(cluster.endpoints(), transport, Duration::from_secs(5))
    };
    let inside = runtime.enter();
    let keys = Arc::new(wrapping_keys(WrappingPurpose::TicketKeys));
    let tickets = Arc::new(TicketKeyRing::new(&provider()));
    let parts = RingParts {
        store: Arc::new(client()),
        provider: provider(),
        wrapping: keys,
        installer: tickets.clone(),
        cache: None,
        clock: Box::new(|| NOW),
    };
    let ring = FleetRing::open(parts, RingOptions::new("/ring/")).unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while ring.status().active.is_empty() {
        assert!(Instant::now() < deadline, "no key is active");
        thread::sleep(Duration::from_millis(20));
    }

    let keys = Arc::new(wrapping_keys(WrappingPurpose::Secrets));
    let vault = EtcdVault::open(client(), &provider(), keys, VaultOptions::new("/vault/"));
    runtime.block_on(async {
        for number in 0..4 {
            let mut put = PutSecret::new(handle(number), secret(number), NOW + LIFETIME, NOW);
            put.client = (number == 2).then_some(b"somebody");
            vault.put_now(put).await.unwrap();
        }
        vault.take_secret(&question(0, TakePurpose::Accept, Some(NOW))).await;
        vault.take_secret(&question(1, TakePurpose::Burn, Some(NOW))).await;
    });

    let all = json!({ "key": STANDARD.encode("/"), "range_end": STANDARD.encode("0") });
    let answer = cluster.ask(0, "/v3/kv/range", &all).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let entries: BTreeMap<String, String> = answer["kvs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|kv| (text(&kv["key"]), text(&kv["value"])))
        .collect();
    drop((ring, vault, inside));
    serde_json::to_string_pretty(&entries).unwrap()
}
