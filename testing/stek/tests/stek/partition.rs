//! A pool whose store is gone: keys end at their time.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tessera_etcd::{EtcdClient, Transport};
use tessera_ring::system_clock;
use tessera_stek_tests::{Fleet, RunningServer, settled};
use tessera_test_peers::etcd::Cluster;
use tessera_vault::Rotation;
use tokio::time::sleep;

/// Short, to be seen: a key seals for six seconds at most, and opens for three more.
const ROTATION: Rotation = Rotation {
    issue_for: Duration::from_secs(6),
    open_for: Duration::from_secs(3),
    skew: Duration::from_millis(100),
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures time"]
async fn a_member_without_a_store_stops_sealing_and_opening_in_time() {
    let mut etcd = Cluster::start_with(3, None, Path::new("/dev/shm")).unwrap();
    let transport = Transport::PlaintextOnPrivateNetwork;
    let client = EtcdClient::new(etcd.endpoints(), transport, Duration::from_secs(1));
    let fleet = Fleet::over(Arc::new(client));
    let mut server = RunningServer::haproxy(&fleet.pki);
    let installer = Arc::new(server.haproxy_installer(fleet.keys("haproxy")));
    let ring = fleet.join_with("a", installer, ROTATION);
    server.start_with_keys().await;
    settled(&[&ring]).await;
    for member in 0..3 {
        etcd.kill(member).unwrap();
    }
    // The last of the ring's keys, and that of the rotation that didn't happen.
    let active = ring.status().active;
    let [_, sealing, next] = <[_; 3]>::try_from(server.haproxy_keys()).unwrap();
    let clock = system_clock();
    let mut late = Vec::new();
    for (what, at) in [("seals", active[0].issues_until), ("opens", active[0].opens_until)] {
        let holds = || {
            let held = server.haproxy_keys();
            if what == "seals" { held[1] == sealing } else { held.contains(&sealing) }
        };
        while holds() {
            assert!(clock() < at + Duration::from_secs(5), "{what} for too long");
            sleep(Duration::from_millis(5)).await;
        }
        late.push(clock().as_secs_f64() - at.as_secs_f64());
        assert!(!server.haproxy_keys()[1].eq(&next), "no member activates a key by itself");
    }
    println!(
        "without a store: HAProxy stopped sealing {:.0} ms after its key's time, and dropped the key {:.0} ms after its",
        late[0] * 1000.0,
        late[1] * 1000.0
    );
    // Nor too early.
    assert!(late.iter().all(|late| (-0.05..1.0).contains(late)), "{late:?}");
}
