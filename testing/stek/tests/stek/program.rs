//! The program: two sidecars, three members of etcd, and what fails among them.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tessera_aws_lc::provider;
use tessera_ring::RingKeys;
use tessera_stek::keys::{ServerKeys, TicketKeyDomain};
use tessera_stek_tests::{Fleet, RunningServer, Sidecar, count, shared_file, until};
use tessera_test_peers::etcd::Cluster;
use tessera_test_peers::{Directory, free_port};
use tessera_vault::{EpochKey, TicketKey, TicketKeyForm, WrappingKeys, WrappingPurpose};
use tokio::time::sleep;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_stek-under-test");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_goes_on_whatever_of_it_is_killed() {
    let fleet = Fleet::new();
    let mut etcd = Cluster::start(3).unwrap();
    let mut servers = [RunningServer::haproxy(&fleet.pki), RunningServer::haproxy(&fleet.pki)];
    let files = Directory::new();
    let ca = files.write("ca.pem", fleet.pki.authority.pem());
    let endpoints = etcd.endpoints();
    let store =
        format!("etcd = {{ endpoints = {endpoints:?}, plaintext-on-private-network = true }}");
    let mut sidecars = [0, 1].map(|at: usize| {
        let section = servers[at].haproxy_section(&ca);
        Sidecar::new(PROGRAM, ["a", "b"][at], &store, &section)
    });
    for (sidecar, server) in sidecars.iter_mut().zip(&mut servers) {
        sidecar.start();
        server.start_with_keys().await;
    }
    let [a, b] = [0, 1].map(|at: usize| servers[at].address);
    let canary = fleet.canary();
    until("all is well", || sidecars.iter().all(Sidecar::is_well)).await;
    let earlier = canary.ticket(a).await.unwrap();
    assert!(fleet.crosses(a, b).await);
    let rotated = sidecars[1].task("rotate");
    assert!(rotated.status.success(), "{}", String::from_utf8_lossy(&rotated.stderr));
    assert!(canary.resumes(b, earlier).await.unwrap());
    assert!(fleet.crosses(b, a).await);

    // A sidecar: its server goes on.
    sidecars[0].kill();
    let ticket = canary.ticket(b).await.unwrap();
    assert!(canary.resumes(a, ticket).await.unwrap());
    let status = sidecars[0].task("status");
    let why = String::from_utf8_lossy(&status.stderr).into_owned();
    assert!(status.status.code() == Some(1) && why.contains("check that it runs"), "{why}");

    // The whole store, then the sidecar's and the server's start without it.
    for member in 0..3 {
        etcd.kill(member).unwrap();
    }
    until("the loss is reported", || !sidecars[1].is_well()).await;
    servers[0].kill();
    fs::write(servers[0].path("keys"), "").unwrap();
    sidecars[0].start();
    let keys = servers[0].path("keys");
    until("the cached keys are written", || fs::metadata(&keys).unwrap().len() > 300).await;
    servers[0].start();
    assert!(fleet.crosses(a, b).await && fleet.crosses(b, a).await);

    for member in 0..3 {
        etcd.restart(member).unwrap();
    }
    etcd.wait_for_leader(&[0, 1, 2]).unwrap();
    until("all is well again", || sidecars.iter().all(Sidecar::is_well)).await;
    let revoked = servers[0].haproxy_keys();
    let secret = |key: &TicketKey| key.secret.to_vec();
    let revoked_secrets: Vec<_> = ring_keys(&etcd).iter().map(secret).collect();
    assert!(revoked_secrets.len() >= 3);
    let earlier = canary.ticket(a).await.unwrap();
    let done = sidecars[0].task("revoke");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    until("the keys are gone", || {
        let held = [servers[0].haproxy_keys(), servers[1].haproxy_keys()].concat();
        held.len() == 6 && held.iter().all(|key| !revoked.contains(key))
    })
    .await;
    assert!(!canary.resumes(b, earlier).await.unwrap());
    assert!(fleet.crosses(a, b).await && fleet.crosses(b, a).await);

    // No key is left in a sidecar, in a log, or in what etcd wrote.
    sleep(Duration::from_millis(300)).await;
    // After a revocation the earlier key is a random one, which the sidecar keeps.
    let gone = [&revoked[..], &servers[0].haproxy_keys()[1..]].concat();
    // Without the names of the keys, which aren't secret.
    let mut gone: Vec<&[u8]> = gone.iter().flat_map(|key| key.chunks_exact(16).skip(1)).collect();
    // The ring's own secrets: the present ones are there, and no revoked one.
    gone.extend(revoked_secrets.iter().map(|secret| &secret[8..24]));
    let present = ring_keys(&etcd);
    let mut present: Vec<_> = present.iter().map(|key| &key.secret[8..24]).collect();
    present.push(b"haproxy.www");
    for sidecar in &sidecars {
        assert!(sidecar.count_in_memory(&gone).iter().all(|count| *count == 0));
        assert!(sidecar.count_in_memory(&present).iter().all(|count| *count > 0));
        assert!(!sidecar.log().contains("tls-key"), "{}", sidecar.log());
    }
    let all = [revoked, servers[0].haproxy_keys(), revoked_secrets].concat();
    for member in 0..3 {
        search(&etcd.data_dir(member), &all);
    }
}

/// After a reboot without a cache, while the store is down: servers that wait for the sidecar start all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sidecar_that_knows_no_key_lets_its_server_start() {
    let fleet = Fleet::new();
    let mut server = RunningServer::haproxy(&fleet.pki);
    let files = Directory::new();
    let ca = files.write("ca.pem", fleet.pki.authority.pem());
    let nowhere = free_port().unwrap();
    let store = format!(
        "etcd = {{ endpoints = [\"127.0.0.1:{nowhere}\"], plaintext-on-private-network = true }}"
    );
    let mut sidecar = Sidecar::new(PROGRAM, "a", &store, &server.haproxy_section(&ca));
    sidecar.start();
    server.start_with_keys().await;
    let address = server.address;
    assert!(fleet.crosses(address, address).await, "its tickets open there");
    assert!(!sidecar.is_well());
    assert_eq!(fs::read_to_string(server.path("keys")).unwrap().lines().count(), 3);
}

/// Tickets cross all the same, but clients get another key exchange at one of the servers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn canaries_report_servers_that_choose_other_groups() {
    let (sidecar, _servers) = pool_of_one_sidecar(["X25519:P-256", "P-256"]).await;
    let status = || String::from_utf8_lossy(&sidecar.task("status").stdout).into_owned();
    until("both pairs are reported", || status().matches("\"other-group\"").count() == 2).await;
    assert!(sidecar.log().contains("give them the same groups in the same order"));
    assert!(!sidecar.is_well());
}

/// The other looks are ten seconds apart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn canaries_look_right_after_an_activation() {
    let (sidecar, _servers) = pool_of_one_sidecar(["P-256", "P-256"]).await;
    let offered = || {
        let metrics = sidecar.metrics();
        let resumed = metrics.lines().filter(|line| line.contains("result=\"resumed\""));
        resumed.filter_map(|line| line.rsplit(' ').next()?.parse::<u32>().ok()).sum::<u32>()
    };
    // Two servers, each with its own ticket and that of the other.
    until("all pairs are tried", || offered() >= 4).await;
    until("all is well", || sidecar.is_well()).await;
    let before = offered();
    assert!(sidecar.task("rotate").status.success());
    let begun = Instant::now();
    until("all pairs are tried again", || offered() >= before + 4).await;
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
}

/// Two HAProxys with these groups, which one sidecar serves.
async fn pool_of_one_sidecar(groups: [&str; 2]) -> (Sidecar, [RunningServer; 2]) {
    let fleet = Fleet::new();
    let mut servers = groups.map(|it| RunningServer::haproxy(&fleet.pki).with_groups(it));
    let files = Directory::new();
    let ca = files.write("ca.pem", fleet.pki.authority.pem());
    let [first, second] = servers.each_ref().map(|it| it.haproxy_section(&ca) + "pool = \"www\"\n");
    let sections = first + &second.replace("haproxy.www", "haproxy.other");
    let mut sidecar = Sidecar::new(PROGRAM, "a", "file = \"{dir}/cache/store\"", &sections);
    sidecar.start();
    for server in &mut servers {
        server.start_with_keys().await;
    }
    (sidecar, servers)
}

/// A site without etcd: one sidecar has the store in a file, the other reaches it by mutual TLS.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_site_keeps_its_ring_in_a_file_of_one_sidecar() {
    let fleet = Fleet::new();
    let mut servers = [RunningServer::nghttpx(&fleet.pki), RunningServer::nghttpx(&fleet.pki)];
    let files = Directory::new();
    let ca = files.write("ca.pem", fleet.pki.authority.pem());
    let [serve, reach, reach_without] = shared_file(&fleet.pki, &files, &ca);
    let sections = [0, 1].map(|at: usize| servers[at].nghttpx_section(&ca));
    servers.iter_mut().for_each(RunningServer::start);
    let mut stranger = Sidecar::new(PROGRAM, "c", &reach_without, &sections[1]);
    let mut sidecars = [
        Sidecar::new(PROGRAM, "a", &serve, &sections[0]),
        Sidecar::new(PROGRAM, "b", &reach, &sections[1]),
    ];
    let checked = sidecars[0].task("check");
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    sidecars.iter_mut().for_each(Sidecar::start);
    until("all is well", || sidecars.iter().all(Sidecar::is_well)).await;
    let [a, b] = [0, 1].map(|at: usize| servers[at].address);
    let canary = fleet.canary();
    for round in 0..3 {
        let ticket = canary.ticket(a).await.unwrap();
        assert!(canary.resumes(b, ticket).await.unwrap());
        let rotated = sidecars[round % 2].task("rotate");
        assert!(rotated.status.success(), "{}", String::from_utf8_lossy(&rotated.stderr));
        until("all is well again", || sidecars.iter().all(Sidecar::is_well)).await;
    }

    // The sidecar with the store dies, and returns.
    sidecars[0].kill();
    assert!(fleet.crosses(a, b).await && fleet.crosses(b, a).await);
    assert!(!sidecars[1].task("rotate").status.success());
    sidecars[0].start();
    until("all is well again", || sidecars.iter().all(Sidecar::is_well)).await;
    assert!(sidecars[1].task("rotate").status.success());

    // A process without a certificate changes nothing.
    stranger.start();
    until("it is refused", || stranger.log().contains("keeps its current keys")).await;
    assert!(!stranger.task("revoke").status.success());
}

/// What HTTP/2 writes to Envoy is wiped too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs ENVOY, the program"]
async fn no_key_that_envoys_had_is_left_in_their_sidecars() {
    let fleet = Fleet::new();
    let etcd = Cluster::start(1).unwrap();
    let endpoints = etcd.endpoints();
    let store =
        format!("etcd = {{ endpoints = {endpoints:?}, plaintext-on-private-network = true }}");
    let mut servers = ["a", "b"].map(|node| RunningServer::envoy(&fleet.pki, node));
    let mut sidecars = [0, 1].map(|at: usize| {
        let mut sidecar =
            Sidecar::new(PROGRAM, ["a", "b"][at], &store, &servers[at].envoy_section());
        sidecar.start();
        sidecar
    });
    servers.iter_mut().for_each(RunningServer::start);
    until("all is well", || sidecars.iter().all(Sidecar::is_well)).await;
    // As Envoy gets them, in parts of which each is secret.
    let domain = TicketKeyDomain { kind: "envoy", name: "www".into() };
    let keys = ServerKeys::new(&provider(), TicketKeyForm::Aes256, &domain);
    let parts = |key: Box<TicketKey>| {
        let ring = RingKeys { issuing: Some(key), ..RingKeys::default() };
        let derived = keys.issuing(&ring).unwrap();
        derived.chunks_exact(16).skip(1).map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    let mut gone = Vec::new();
    for round in 0..5 {
        let present: Vec<_> =
            ring_keys(&etcd).into_iter().flat_map(|key| parts(Box::new(key))).collect();
        let texts: Vec<_> = present.iter().map(Vec::as_slice).collect();
        for sidecar in &sidecars {
            let counts = sidecar.count_in_memory(&texts);
            assert!(counts.iter().all(|count| *count > 0), "Envoy's secret is there");
        }
        gone.extend(present);
        let done = sidecars[round % 2].task(if round < 4 { "rotate" } else { "revoke" });
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        until("all is well again", || sidecars.iter().all(Sidecar::is_well)).await;
    }
    sleep(Duration::from_millis(300)).await;
    let texts: Vec<_> = gone.iter().map(Vec::as_slice).collect();
    for sidecar in &mut sidecars {
        assert!(sidecar.count_in_memory(&texts).iter().all(|count| *count == 0));
        sidecar.kill();
    }
}

/// Returns the ring's keys: the test has the key that wraps them in etcd.
fn ring_keys(etcd: &Cluster) -> Vec<TicketKey> {
    let wrapping = WrappingKeys::new(&provider(), WrappingPurpose::TicketKeys);
    let secret = *b"\x01\x23\x45\x67\x89\xab\xcd\xef";
    let mut key = [0; 32];
    key.chunks_exact_mut(8).for_each(|part| part.copy_from_slice(&secret));
    let id = *b"stek ring key\0\0\0";
    wrapping.add(EpochKey::forever(id, key.into()), Duration::ZERO).unwrap();
    let (from, to) = (STANDARD.encode("/tessera/stek/"), STANDARD.encode("/tessera/stek0"));
    let range = json!({ "key": from, "range_end": to });
    let answer = etcd.ask(0, "/v3/kv/range", &range).unwrap();
    let entries = answer["kvs"].as_array().cloned().unwrap_or_default();
    let keys = entries.iter().filter_map(|entry| {
        let decode = |field: &str| STANDARD.decode(entry[field].as_str()?).ok();
        let (name, value) = (decode("key")?, decode("value")?);
        let context = [&[1], &name[..]].concat();
        let plain = wrapping.unwrap(&context, &value[1..], Duration::from_secs(1))?;
        // When it was generated, a length, and the key.
        let length = usize::from(u16::from_be_bytes([plain[8], plain[9]]));
        TicketKey::decode(&plain[10..][..length])
    });
    keys.collect()
}

/// Fails if a file below this directory has a part of a key.
fn search(directory: &Path, keys: &[Vec<u8>]) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            search(&path, keys);
            continue;
        }
        let parts: Vec<_> = keys.iter().flat_map(|key| key.chunks_exact(16)).collect();
        let counts = count(&fs::read(&path).unwrap(), &parts);
        assert!(counts.iter().all(|count| *count == 0), "{}", path.display());
    }
}
