//! Proxies that are stopped and started again, one after the other, as at an upgrade.

use std::time::Duration;

use serde_json::json;
use tessera_bindings::ProxyName;
use tessera_edge_tests::{Orchestrator, Outcome, Pool, PoolSettings, until};

use crate::PROGRAM;

const CLIENTS: usize = 8;

/// The order of docs/edge.md: drain, restart, undo.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_of_each_proxy_loses_no_request() {
    let mut pool = Pool::start(PoolSettings::of(PROGRAM)).await;
    let orchestrator = Orchestrator::start(PROGRAM, &pool, "");
    let mut tracks = Vec::new();
    let mut drones = Vec::new();
    for number in 0..CLIENTS {
        let drone = pool.drone(Some(&format!("d{number}.example")));
        assert_eq!(drone.post("/cart").await.0, Outcome::Answered);
        tracks.push(drone.sends("/cart", Duration::from_millis(20)));
        // A second device of the client's.
        tracks.push(drone.sends("/web", Duration::from_millis(30)));
        drones.push(drone);
    }
    for name in ["a", "b"] {
        let (status, answer) =
            orchestrator.ask("POST", &format!("/proxies/{name}/drain"), &json!({}));
        assert_eq!(status, 202, "{answer}");
        let proxy = ProxyName(name.to_owned());
        until("its clients have left", || pool.table.clients_of(&proxy).is_empty()).await;
        let at = pool.index(name);
        pool.proxies[at].end();
        until("the others notice", || pool.table.proxy(&proxy).is_none()).await;
        pool.proxies[at].start();
        pool.are_live(&["a", "b"]).await;
        let (status, _) = orchestrator.ask("DELETE", &format!("/proxies/{name}/drain"), &json!({}));
        assert_eq!(status, 204);
    }
    for track in tracks {
        track.end().await;
    }
    let executed = pool.executions.counts();
    for drone in &drones {
        drone.agrees_with(&executed);
        let [refused, unknown] = [Outcome::Refused, Outcome::Unknown].map(|it| drone.counts(it));
        assert_eq!((refused, unknown), (0, 0), "{} lost requests", drone.seen);
    }
    assert_eq!(pool.executions.doubled(), []);
}
