//! What a SEPP knows about the paths to its peers.

use std::sync::Arc;

use http::Method;
use tessera_sepp::guard::Guard;
use tessera_sepp::names::Fqdn;

use crate::world::{AM_DATA, HOME, Words, World, empty, request};

impl World {
    fn home_is(&self) -> &'static str {
        self.visited.relay.look_at_ways();
        let home: Fqdn = HOME.parse().unwrap();
        self.visited.relay.reach(&home).0.as_str()
    }

    fn told(&self) -> Vec<&'static str> {
        let ways = self.visited.seen.ways.lock().unwrap();
        ways.iter().map(|(_, way)| *way).collect()
    }
}

#[tokio::test]
async fn a_short_deadline_of_a_function_is_no_peer_that_is_gone() {
    let world = World::new(Words::default()).await;
    assert_eq!(world.home_is(), "unknown");
    let hasty = request(Method::GET, AM_DATA).header("3gpp-sbi-max-rsp-time", "1");
    assert_eq!(world.ask(empty(hasty)).await.status(), 504);
    assert_ne!(world.home_is(), "unreachable");
    assert_eq!(world.ask(empty(request(Method::GET, AM_DATA))).await.status(), 200);
    assert_eq!((world.home_is(), world.told()), ("reachable", vec!["reachable"]));
}

#[tokio::test]
async fn a_slow_function_of_a_peer_is_no_peer_that_is_gone() {
    let world = World::new(Words::default()).await;
    let slow = request(Method::GET, "/nudm-sdm/v2/imsi-999700000000001/never")
        .header("3gpp-sbi-max-rsp-time", "700");
    assert_eq!(world.ask(empty(slow)).await.status(), 504);
    assert_eq!((world.home_is(), world.told()), ("reachable", vec!["reachable"]));
}

#[tokio::test]
async fn a_peer_that_a_reload_moves_is_unknown_again() {
    let world = World::new(Words::default()).await;
    assert_eq!(world.ask(empty(request(Method::GET, AM_DATA))).await.status(), 200);
    assert_eq!(world.home_is(), "reachable");
    let reload = |change: fn(&mut tessera_sepp::config::Peer)| {
        let mut config = world.visited.config.clone();
        config.peer.values_mut().for_each(change);
        let guard = Arc::new(Guard::new(&config, &[7; 32]).unwrap());
        world.visited.relay.reload(&config, guard).unwrap();
    };
    reload(|_| ());
    assert_eq!(world.told(), ["reachable"], "nothing of it changed");
    reload(|peer| peer.n32f_address = vec!["127.0.0.1:1".parse().unwrap()]);
    assert_eq!(world.told(), ["reachable", "unknown"]);
}
