//! Tests against an NRF that answers, forgets and refuses.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::time::{Instant, advance};

use super::*;

/// An NRF.
#[derive(Clone, Default)]
struct Stub(Arc<State>);

#[derive(Default)]
struct State {
    /// Method, path and body.
    asked: Mutex<Vec<(Method, String, String)>>,
    refuses: AtomicBool,
    knows: AtomicBool,
    is_registered: AtomicBool,
}

impl Nrf for Stub {
    async fn send(&self, request: Request<Body>, _: Deadline) -> Result<Response<Body>, String> {
        let (parts, body) = request.into_parts();
        let body = body.collect_up_to(MAX_BODY).await.unwrap().data;
        let body = String::from_utf8(body.to_vec()).unwrap();
        let path = parts.uri.path().to_owned();
        self.0.asked.lock().unwrap().push((parts.method.clone(), path, body));
        if self.0.refuses.load(Ordering::Relaxed) {
            return Err("the NRF is unreachable".to_owned());
        }
        let mut response = Response::new(Body::empty());
        let knows = &self.0.knows;
        *response.status_mut() = match parts.method {
            Method::PUT => {
                knows.store(true, Ordering::Relaxed);
                *response.body_mut() = Body::full(Bytes::from_static(b"{\"heartBeatTimer\":7}"));
                StatusCode::CREATED
            }
            Method::PATCH if !knows.load(Ordering::Relaxed) => StatusCode::NOT_FOUND,
            _ => StatusCode::NO_CONTENT,
        };
        Ok(response)
    }

    fn profile(&self) -> Value {
        serde_json::json!({"nfType": "SEPP", "nfStatus": "REGISTERED"})
    }

    fn is_registered(&self, is_registered: bool) {
        self.0.is_registered.store(is_registered, Ordering::Relaxed);
    }
}

impl Stub {
    fn methods(&self) -> Vec<Method> {
        self.0.asked.lock().unwrap().iter().map(|(method, ..)| method.clone()).collect()
    }

    /// Lets time pass until it has received this number of requests.
    async fn asked(&self, times: usize) -> Duration {
        let began = Instant::now();
        while self.methods().len() < times {
            tokio::task::yield_now().await;
            if self.methods().len() < times {
                advance(Duration::from_millis(100)).await;
            }
            assert!(began.elapsed() < Duration::from_secs(600), "{:?}", self.methods());
        }
        began.elapsed()
    }
}

fn begin(stub: &Stub) -> (watch::Sender<bool>, watch::Sender<()>, tokio::task::JoinHandle<()>) {
    let (ending, changes) = (watch::Sender::new(false), watch::Sender::new(()));
    let registration = Registration {
        nrf: stub.clone(),
        instance_id: instance_id(&"sepp.example.org".parse().unwrap()),
        heartbeat: Duration::from_secs(10),
    };
    let kept = tokio::spawn(registration.keep(ending.subscribe(), changes.subscribe()));
    (ending, changes, kept)
}

#[tokio::test(start_paused = true)]
async fn a_sepp_registers_lives_and_leaves() {
    let stub = Stub::default();
    let (ending, changes, kept) = begin(&stub);
    stub.asked(1).await;
    let (method, path, body) = stub.0.asked.lock().unwrap()[0].clone();
    let id = path.strip_prefix("/nnrf-nfm/v1/nf-instances/").unwrap();
    assert_eq!((method, id.len(), &id[14..15]), (Method::PUT, 36, "8"));
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&body["nfInstanceId"], &body["heartBeatTimer"]), (&id.into(), &10.into()));
    // It asked for seven seconds.
    let waited = stub.asked(2).await;
    assert!((6..=8).contains(&waited.as_secs()), "{waited:?}");
    assert!(stub.0.is_registered.load(Ordering::Relaxed));
    // It forgets.
    stub.0.knows.store(false, Ordering::Relaxed);
    stub.asked(4).await;
    assert_eq!(stub.methods()[2..], [Method::PATCH, Method::PUT]);
    // The profile changes.
    tokio::task::yield_now().await;
    changes.send_replace(());
    stub.asked(5).await;
    assert_eq!(stub.methods()[4], Method::PUT);
    ending.send_replace(true);
    kept.await.unwrap();
    assert_eq!(stub.methods()[5..], [Method::DELETE]);
    assert!(!stub.0.is_registered.load(Ordering::Relaxed));
}

#[tokio::test(start_paused = true)]
async fn an_nrf_that_is_not_there_is_asked_again_more_and_more_seldom() {
    let stub = Stub::default();
    stub.0.refuses.store(true, Ordering::Relaxed);
    let (ending, _changes, kept) = begin(&stub);
    stub.asked(8).await;
    let waited = stub.asked(9).await;
    assert!(waited > Duration::from_secs(29), "{waited:?}");
    stub.0.refuses.store(false, Ordering::Relaxed);
    stub.asked(11).await;
    assert_eq!(stub.methods()[10], Method::PATCH);
    ending.send_replace(true);
    kept.await.unwrap();
}

#[test]
fn a_profile_states_where_the_sepp_is_and_which_networks_it_reaches() {
    let text = "[local]\nfqdn = \"sepp.example.org\"\nplmns = [\"999-70\"]\ncertificate = \"a.pem\"\n\
                [listen]\nsbi = \"127.0.0.1:7777\"\nn32c = \":2\"\nn32f = \":3\"\n\
                [trust.v]\nplmns = [\"001-01\"]\nroots = \"v.pem\"\n\
                [peer.v]\nfqdn = \"sepp.example.net\"\nplmns = [\"001-01\"]\nanchor = \"v\"\ninitiate = false\n";
    let path = std::path::Path::new("sepp.toml");
    let document = tessera_proxy::config::Document::from_text(path, text.to_owned());
    let configuration: crate::config::Configuration = document.parse().unwrap();
    let told = profile(&configuration, &configuration.listen.sbi);
    assert_eq!(
        told,
        serde_json::json!({
            "nfType": "SEPP",
            "nfStatus": "REGISTERED",
            "fqdn": "sepp.example.org",
            "plmnList": [{"mcc": "999", "mnc": "70"}],
            "ipv4Addresses": ["127.0.0.1"],
            "seppInfo": {
                "remotePlmnList": [{"mcc": "001", "mnc": "01"}],
                "seppPorts": {"http": 7777},
            },
        })
    );
}
