//! Reloads replace everything at once, or nothing.

use std::collections::HashMap;
use std::sync::Arc;

use http::Method;
use tessera_proxy::address::DialAddress;
use tessera_sepp::config::Configuration;
use tessera_sepp::guard::Guard;
use tokio::task::JoinHandle;

use crate::world::{Function, Words, World, empty, request};

const SDM: &str = "/nudm-sdm/v2/imsi-999700000000001/nothing";
const UECM: &str = "/nudm-uecm/v1/imsi-999700000000001/nothing";

impl World {
    fn reload(&self, config: &Configuration) -> Result<usize, String> {
        let guard = Arc::new(Guard::new(config, &[7; 32]).unwrap());
        let changed = self.home.relay.reload(config, guard);
        changed.map(|changed| changed.len()).map_err(|error| error.to_string())
    }
}

/// One configuration has one API and one function, the other has another of each: no request sees the API of one and
/// the function of the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rules_and_functions_change_at_once() {
    let world = Arc::new(World::new(Words::default()).await);
    let other = Function::start().await;
    let with = |api: &str, function: &Function| {
        let mut config = world.home.config.clone();
        let at = DialAddress::Tcp(function.address);
        config.sbi.hosts.values_mut().for_each(|host| *host = at.clone());
        config.peer.values_mut().for_each(|peer| peer.guard.apis = vec![api.parse().unwrap()]);
        config
    };
    let configs = [with("nudm-sdm", &world.udm), with("nudm-uecm", &other)];
    // Until it was refused and answered this often.
    let ask = |path: &'static str| {
        let world = world.clone();
        tokio::spawn(async move {
            let mut seen = HashMap::from([(204, 0), (403, 0)]);
            while seen.values().any(|times| *times < 100) {
                let answer = world.ask(empty(request(Method::GET, path))).await;
                *seen.entry(answer.status().as_u16()).or_default() += 1;
            }
            seen
        })
    };
    let asked = [SDM, UECM, SDM, UECM].map(ask);
    let reloads = world.clone();
    let asked = tokio::task::spawn_blocking(move || {
        for config in configs.iter().cycle() {
            assert_eq!(reloads.reload(config), Ok(0));
            if asked.iter().all(JoinHandle::is_finished) {
                break;
            }
        }
        asked
    });
    for asked in asked.await.unwrap() {
        let seen = asked.await.unwrap();
        assert_eq!(seen.len(), 2, "{seen:?}");
    }
    for (function, path) in [(&world.udm, SDM), (&other, UECM)] {
        let asked = function.asked.lock().unwrap();
        assert!(asked.len() > 100);
        for (_, uri, _) in asked.iter() {
            assert!(uri.ends_with(path), "{uri}");
        }
    }
}

/// A file that can't be read prevents the rest from changing too.
#[tokio::test(flavor = "multi_thread")]
async fn a_reload_that_fails_keeps_rules_and_functions() {
    let world = World::new(Words::default()).await;
    let mut config = world.home.config.clone();
    config.peer.values_mut().for_each(|peer| peer.guard.apis.clear());
    config.sbi.hosts.clear();
    config.sbi.ca = Some("/nonexistent".into());
    let error = world.reload(&config).unwrap_err();
    assert!(error.contains("[sbi] ca"), "{error}");
    assert_eq!(world.ask(empty(request(Method::GET, SDM))).await.status(), 204);
    config.sbi.ca = None;
    assert_eq!(world.reload(&config), Ok(0));
    assert_eq!(world.ask(empty(request(Method::GET, SDM))).await.status(), 403);
}
