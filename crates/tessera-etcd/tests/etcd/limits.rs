//! The limits of the vault in etcd, in all and per client, and its count.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::common::{BlockingVault, DEADLINE, client, epoch_keys, runtime};
use base64::Engine;
use serde_json::json;
use tessera::crypto::Provider;
use tessera::resume::{Absence, PutSecret, TakeAnswer, TakePurpose, Vault};
use tessera_aws_lc::provider;
use tessera_etcd::{EtcdVault, VaultOptions};
use tessera_store::StoreWitness;
use tessera_test_peers::Directory;
use tessera_test_peers::etcd::Cluster;
use tessera_vault::contract::{
    self, LIFETIME, NOW, accept, handle, put, put_for, question, secret,
};
use tessera_vault::{EpochKey, Limits, Mark, MemoryVault, RestoreOutcome, Witness};
use tokio::runtime::Runtime;

/// A vault in its own cluster.
struct Fleet {
    cluster: Cluster,
    runtime: Arc<Runtime>,
    options: VaultOptions,
}

impl Fleet {
    fn start() -> Self {
        let options = VaultOptions::new("/limits/");
        Self { cluster: Cluster::start(1).unwrap(), runtime: runtime(), options }
    }

    fn vault(&self, options: &VaultOptions) -> BlockingVault {
        let client = client(self.cluster.endpoints(), DEADLINE);
        BlockingVault::new(&self.runtime, client, options.clone())
    }
}

#[test]
fn an_etcd_vault_bounds_its_secrets_and_those_of_each_client() {
    let fleet = Fleet::start();
    let options = |prefix: &str| VaultOptions { secrets: 50, ..VaultOptions::new(prefix) };
    contract::capacity_is_a_bound(&fleet.vault(&options("/all/")), 50);
    contract::the_nameless_leave_room(&fleet.vault(&options("/nameless/")), 50);
    let small = VaultOptions { secrets: 64, ..VaultOptions::new("/small/") };
    contract::who_holds_less_keeps_it(&fleet.vault(&small), 64);
    let options = VaultOptions { per_client: 5, ..VaultOptions::new("/each/") };
    contract::clients_have_a_limit_each(&fleet.vault(&options), 5);
}

/// A secret that will never be used is removed, though its put has just begun.
#[test]
fn an_etcd_vault_burns_a_secret_whose_put_has_just_begun() {
    let fleet = Fleet::start();
    let waiting = fleet.vault(&fleet.options);
    let vault = waiting.vault();
    for number in 0..40 {
        let handle = handle(number);
        let mut put = PutSecret::new(handle, secret(number), NOW + LIFETIME, NOW);
        put.client = Some(b"alice");
        vault.put(put).unwrap();
        if number % 4 == 0 {
            vault.burn(&handle);
        }
    }
    let deadline = Instant::now() + DEADLINE;
    while waiting.len() != 30 {
        assert!(Instant::now() < deadline, "{}", waiting.len());
    }
    assert_eq!(accept(&waiting, 4), Err(Absence::Burned));
    assert_eq!(accept(&waiting, 5), Ok(()));
}

/// A client that uses everything it receives doesn't fill etcd with tombstones.
#[test]
fn an_etcd_vault_bounds_its_tombstones() {
    let fleet = Fleet::start();
    let options = VaultOptions { secrets: 4, ..fleet.options.clone() };
    let vault = fleet.vault(&options);
    for number in 0..60 {
        assert!(put(&vault, number));
        match number % 2 {
            0 => assert_eq!(accept(&vault, number), Ok(())),
            _ => vault.burn(&handle(number)),
        }
        assert_eq!(vault.len(), 0);
    }
    assert_eq!(accept(&vault, 0), Err(Absence::Used));
    assert_eq!(accept(&vault, 1), Err(Absence::Burned));
    for number in 40..60 {
        assert_eq!(accept(&vault, number), Err(Absence::Unknown), "{number}");
    }
}

/// Counts of a server and of an observer.
#[test]
fn counts_of_an_etcd_vault_may_overlap() {
    let fleet = Fleet::start();
    let waiting = fleet.vault(&fleet.options);
    let vault = waiting.vault();
    for number in 0..3 {
        assert!(put(&waiting, number));
    }
    fleet.runtime.block_on(async {
        let (first, second, third) = tokio::join!(vault.count(), vault.count(), vault.count());
        assert_eq!((first, second, third), (Ok(3), Ok(3), Ok(3)));
    });
    assert!(put(&waiting, 3));
    // A put that ends during a count is counted twice.
    assert!((4..6).contains(&vault.len()), "{}", vault.len());
}

/// A server that prefers another suite finds the same secrets.
#[test]
fn names_in_etcd_do_not_depend_on_the_preferred_suite() {
    let fleet = Fleet::start();
    assert!(put(&fleet.vault(&fleet.options), 1));
    let mut suites = provider().suites.to_vec();
    let other_hash = suites.iter().position(|suite| suite.hash.len() != suites[0].hash.len());
    suites.rotate_left(other_hash.unwrap());
    let other = Provider { suites: suites.leak(), ..provider() };
    let _inside = fleet.runtime.enter();
    let client = client(fleet.cluster.endpoints(), DEADLINE);
    let vault = EtcdVault::open(client, &other, epoch_keys(), fleet.options.clone());
    let asked = question(1, TakePurpose::Accept, Some(NOW));
    let taken = fleet.runtime.block_on(vault.take_secret(&asked));
    assert!(matches!(taken, TakeAnswer::Taken(_)), "{taken:?}");
}

/// After the machine slept, the lease is gone; the vault gets another.
#[test]
fn an_etcd_vault_replaces_a_lease_that_has_ended() {
    let fleet = Fleet::start();
    let vault = fleet.vault(&fleet.options);
    assert!(put(&vault, 1));
    let leases = fleet.cluster.ask(0, "/v3/lease/leases", &json!({})).unwrap();
    for lease in leases["leases"].as_array().unwrap() {
        fleet.cluster.ask(0, "/v3/lease/revoke", lease).unwrap();
    }
    // Everything under the lease is gone, and the first request to notice fails.
    assert_eq!(vault.len(), 0);
    assert_eq!(accept(&vault, 1), Err(Absence::Unknown));
    assert!(!put(&vault, 2));
    assert!(put(&vault, 2));
    assert_eq!(accept(&vault, 2), Ok(()));
}

/// Everything expires, and nothing expires early.
#[test]
fn everything_of_an_etcd_vault_expires_by_its_lease() {
    let fleet = Fleet::start();
    let vault = fleet.vault(&fleet.options);
    for number in 0..3 {
        assert!(put_for(&vault, number, Some(b"alice")));
    }
    assert_eq!(accept(&vault, 0), Ok(()));
    vault.burn(&handle(1));
    let [from, to] =
        ["/limits/", "/limits0"].map(|key| base64::engine::general_purpose::STANDARD.encode(key));
    let range = json!({ "key": from, "range_end": to });
    let there = fleet.cluster.ask(0, "/v3/kv/range", &range).unwrap();
    let there = there["kvs"].as_array().unwrap();
    // One secret, two tombstones, three places.
    assert_eq!(there.len(), 6);
    for kv in there {
        let lease = json!({ "ID": kv["lease"] });
        let lease = fleet.cluster.ask(0, "/v3/lease/timetolive", &lease).unwrap();
        let ttl: u64 = lease["grantedTTL"].as_str().unwrap().parse().unwrap();
        assert!((3601..4200).contains(&ttl), "{ttl}");
    }
}

/// Forward secrecy begins when the epoch key is gone, so the vault purges it without being asked.
#[test]
fn an_etcd_vault_destroys_epoch_keys_that_have_ended() {
    let fleet = Fleet::start();
    let keys = epoch_keys();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let ended = now - LIFETIME * 100;
    keys.add(EpochKey::generate(&provider(), ended, LIFETIME, LIFETIME).unwrap(), ended).unwrap();
    assert_eq!(keys.len(), 2);
    let _inside = fleet.runtime.enter();
    let client = client(fleet.cluster.endpoints(), DEADLINE);
    let _vault = EtcdVault::open(client, &provider(), keys.clone(), fleet.options.clone());
    let deadline = Instant::now() + DEADLINE;
    while keys.len() > 1 {
        assert!(Instant::now() < deadline);
        thread::sleep(Duration::from_millis(5));
    }
}

/// A directory is rolled back, with its witness in etcd.
#[test]
fn etcd_witnesses_the_directories_of_memory_vaults() {
    let fleet = Fleet::start();
    let _inside = fleet.runtime.enter();
    let witness = || {
        let client = client(fleet.cluster.endpoints(), DEADLINE);
        Arc::new(StoreWitness::new(Arc::new(client), "/witness/", 2 * DEADLINE))
    };
    let base = Directory::new();
    let (dir, backup) = (base.as_path().join("vault"), base.as_path().join("backup"));
    let open = || {
        let (limits, provider, keys) = (Limits::new(10), provider(), epoch_keys());
        MemoryVault::open_witnessed(&dir, witness(), limits, &provider, &keys, NOW).unwrap()
    };
    let close = |vault: MemoryVault| vault.close(&provider(), &epoch_keys(), NOW).unwrap();
    let vault = open().0;
    assert!(put(&vault, 1));
    close(vault);
    copy(&dir, &backup);
    let (vault, restored) = open();
    assert_eq!(restored, RestoreOutcome::Secrets(1));
    close(vault);
    copy(&backup, &dir);
    let (vault, restored) = open();
    assert_eq!(restored, RestoreOutcome::RolledBack);
    assert_eq!(accept(&vault, 1), Err(Absence::Unknown));
    // A witness can't know whether the owner is alive.
    let first = vault.incarnation();
    drop(vault);
    let (vault, restored) = open();
    assert_eq!(restored, RestoreOutcome::Nothing);
    assert_ne!(vault.incarnation().map(|it| it.vault), first.map(|it| it.vault));
}

/// If it blocks the only thread of its runtime, it fails instead of waiting without end.
#[test]
fn a_witness_whose_runtime_stands_still_gives_up() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = client(vec!["127.0.0.1:1".to_owned()], Duration::from_millis(10));
        let witness = StoreWitness::new(Arc::new(client), "/witness/", Duration::from_millis(20));
        let marks = [Mark([1; 16]), Mark([2; 16])];
        let error = witness.replace(&[0; 16], Some(&marks[0]), &marks[1]).err();
        assert_eq!(error.map(|error| error.kind()), Some(io::ErrorKind::TimedOut));
    });
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for name in ["lock", "state", "snapshot"] {
        std::fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

/// A client at its limit replaces its own secrets, and takes no room from others.
#[test]
fn a_client_that_replaces_its_secrets_fills_no_vault_in_etcd() {
    let fleet = Fleet::start();
    let options = VaultOptions { secrets: 40, per_client: 5, ..fleet.options.clone() };
    let vault = fleet.vault(&options);
    for number in 0..100 {
        assert!(put_for(&vault, number, Some(b"greedy")), "{number}");
    }
    assert!(put(&vault, 1000) && put_for(&vault, 1001, Some(b"alice")));
    assert_eq!(vault.len(), 7);
}

/// Takes of unknown secrets leave no tombstones, and take no room from those of used ones.
#[test]
fn takes_that_find_nothing_count_no_tombstones() {
    let fleet = Fleet::start();
    let options = VaultOptions { secrets: 4, ..fleet.options.clone() };
    let vault = fleet.vault(&options);
    for round in 0..12 {
        assert!(put(&vault, round));
        assert_eq!(accept(&vault, round), Ok(()));
        assert_eq!(vault.len(), 0);
        for number in 1000..1004 {
            assert_eq!(accept(&vault, number), Err(Absence::Unknown));
            vault.burn(&handle(number));
        }
    }
    for round in 0..12 {
        assert_eq!(accept(&vault, round), Err(Absence::Used));
    }
}
