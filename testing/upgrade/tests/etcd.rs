//! Entries of earlier versions in etcd.
#![allow(clippy::unwrap_used, reason = "the helpers here are tests too")]

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tessera::crypto::KeyForm;
use tessera::resume::{Absence, TakeAnswer, TakePurpose};
use tessera_aws_lc::provider;
use tessera_etcd::{EtcdClient, EtcdVault, Transport, VaultOptions};
use tessera_ring::{FleetRing, RingOptions, RingParts};
use tessera_test_peers::etcd::Cluster;
use tessera_upgrade::{NOW, of_version, wrapping_keys};
use tessera_vault::contract::{question, secret};
use tessera_vault::{TicketKeyRing, WrappingPurpose};
use tokio::runtime::Runtime;

/// Starts a cluster with what a version wrote.
fn cluster_of(version: &str) -> Cluster {
    let cluster = Cluster::start(1).unwrap();
    let text = fs::read_to_string(of_version(version).join("etcd.json")).unwrap();
    let entries: BTreeMap<String, String> = serde_json::from_str(&text).unwrap();
    for (key, value) in entries {
        cluster.ask(0, "/v3/kv/put", &json!({ "key": key, "value": value })).unwrap();
    }
    cluster
}

fn client(cluster: &Cluster) -> EtcdClient {
    let transport = Transport::PlaintextOnPrivateNetwork;
    EtcdClient::new(cluster.endpoints(), transport, Duration::from_secs(5))
}

#[test]
fn a_ring_of_version_1_in_etcd_goes_on() {
    let cluster = cluster_of("1");
    let runtime = Runtime::new().unwrap();
    let _inside = runtime.enter();
    let keys = Arc::new(wrapping_keys(WrappingPurpose::TicketKeys));
    let tickets = Arc::new(TicketKeyRing::new(&provider()));
    let parts = RingParts {
        store: Arc::new(client(&cluster)),
        provider: provider(),
        wrapping: keys,
        installer: tickets.clone(),
        cache: None,
        clock: Box::new(|| NOW),
    };
    let ring = FleetRing::open(parts, RingOptions::new("/ring/")).unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while ring.status().looks == 0 {
        assert!(Instant::now() < deadline, "it looks");
        thread::sleep(Duration::from_millis(10));
    }
    let status = ring.status();
    assert_eq!((status.active.len(), status.unreadable), (1, 0));
    assert_eq!(status.active[0].id[..4], [3, 219, 164, 37]);
    // And the next one, which this version distributes.
    assert!((1..=2).contains(&tickets.len()));
}

/// Whatever form the vault uses for new keys.
#[test]
fn a_vault_of_earlier_versions_in_etcd_gives_its_secrets_and_knows_what_became_of_them() {
    for (version, form) in [("1", KeyForm::Seed), ("2", KeyForm::Expanded)] {
        vault_gives_its_secrets(version, form);
    }
}

fn vault_gives_its_secrets(version: &str, key_form: KeyForm) {
    let cluster = cluster_of(version);
    let runtime = Runtime::new().unwrap();
    let _inside = runtime.enter();
    let keys = Arc::new(wrapping_keys(WrappingPurpose::Secrets));
    let options = VaultOptions { key_form, ..VaultOptions::new("/vault/") };
    let vault = EtcdVault::open(client(&cluster), &provider(), keys, options);
    let take = |number| {
        let asked = question(number, TakePurpose::Accept, Some(NOW));
        runtime.block_on(vault.take_secret(&asked))
    };
    assert!(matches!(take(0), TakeAnswer::Absent(Absence::Used)));
    assert!(matches!(take(1), TakeAnswer::Absent(Absence::Burned)));
    for number in [2, 3] {
        let TakeAnswer::Taken(taken) = take(number) else { unreachable!("it is there") };
        let put = secret(number);
        assert_eq!((taken.kind, taken.form, &*taken.key), (put.kind, put.form, &*put.key));
        assert_eq!(taken.fs_secret, put.fs_secret);
        assert!(matches!(take(number), TakeAnswer::Absent(Absence::Used)));
    }
}
