//! etcd as a store: it keeps the contract of stores, and a watch that can't go on ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tessera_store::contract::{commit, put, read};
use tessera_store::{Store, StoreError, contract};
use tessera_test_peers::etcd::Cluster;
use tokio::time::timeout;

use crate::common::{DEADLINE, client, runtime};

/// Each client asks another member.
#[test]
fn etcd_keeps_the_contract_of_stores() {
    let cluster = Cluster::start(3).unwrap();
    let count = AtomicUsize::new(0);
    runtime().block_on(contract::store(|| -> Arc<dyn Store> {
        let member = count.fetch_add(1, Ordering::Relaxed) % 3;
        Arc::new(client(vec![cluster.endpoints().remove(member)], DEADLINE))
    }));
}

#[test]
fn a_watch_of_compacted_changes_is_an_error() {
    let cluster = Cluster::start(1).unwrap();
    runtime().block_on(async {
        let store = client(cluster.endpoints(), DEADLINE);
        let first = commit(&store, vec![put(b"a", b"1")]).await;
        commit(&store, vec![put(b"a", b"2")]).await;
        let last = commit(&store, vec![put(b"a", b"3")]).await;
        let body = json!({ "revision": last.0.to_string(), "physical": true });
        cluster.ask(0, "/v3/kv/compaction", &body).unwrap();
        let result = match store.watch(b"a", first).await {
            Ok(mut watch) => watch.next().await,
            Err(error) => Err(error),
        };
        let expected = |why: &str| why.contains("no longer known");
        assert!(matches!(&result, Err(StoreError::Refused(why)) if expected(why)), "{result:?}");
        // From the read on, all is known.
        let revision = read(&store, b"a").await.revision;
        let mut watch = store.watch(b"a", revision).await.unwrap();
        commit(&store, vec![put(b"a", b"4")]).await;
        assert_eq!(watch.next().await.unwrap().len(), 1);
    });
}

/// It would be silent while others change the store.
#[test]
fn a_watch_of_a_member_without_a_leader_ends() {
    let cluster = Cluster::start(3).unwrap();
    let cut_off = (cluster.leader().unwrap() + 1) % 3;
    runtime().block_on(async {
        let store = client(vec![cluster.endpoints().remove(cut_off)], DEADLINE);
        let revision = read(&store, b"a").await.revision;
        let mut watch = store.watch(b"a", revision).await.unwrap();
        assert!(timeout(Duration::from_millis(500), watch.next()).await.is_err());
        cluster.cut_off(cut_off);
        let result = timeout(Duration::from_secs(30), watch.next()).await.expect("it ends");
        assert!(result.is_err(), "{result:?}");
    });
}

/// A pool of proxies has as many clients.
#[test]
fn a_long_snapshot_is_read_whole_while_others_change_the_store() {
    const COUNT: usize = 4_100;
    let cluster = Cluster::start(1).unwrap();
    runtime().block_on(async {
        let store = client(cluster.endpoints(), DEADLINE);
        let key = |number: usize| format!("pool/{number:05}").into_bytes();
        let mut last = None;
        for first in (0..COUNT).step_by(100) {
            let puts = (first..first + 100).map(|number| put(&key(number), b"0")).collect();
            last = Some(commit(&store, puts).await);
        }
        let snapshot = read(&store, b"pool/").await;
        assert_eq!(Some(snapshot.revision), last);
        let keys: Vec<_> = snapshot.entries.iter().map(|entry| entry.key.clone()).collect();
        assert!(keys.into_iter().eq((0..COUNT).map(key)));
        // Each transaction changes the first and the last entry: no snapshot has one change without the other.
        let changing = async {
            for number in 1..100 {
                let value = number.to_string();
                let both = [0, COUNT - 1].map(|at| put(&key(at), value.as_bytes()));
                commit(&store, both.into()).await;
            }
        };
        let reading = async {
            for _ in 0..20 {
                let entries = read(&store, b"pool/").await.entries;
                assert_eq!(entries[0].value, entries[COUNT - 1].value);
            }
        };
        tokio::join!(changing, reading);
    });
}
