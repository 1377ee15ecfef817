//! Answers without a network function.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Method};
use tessera_proxy::http::deadline::Deadline;
use tessera_sepp::n32c::Settings;
use tessera_sepp::n32c::association::{LocalSettings, PeerSettings};
use tessera_sepp::n32c::messages::{Features, N32Purpose};
use tessera_sepp::names::Fqdn;

use crate::world::{AM_DATA, HOME, VISITED, Words, World, empty, request, text};

#[tokio::test]
async fn a_dead_function_is_504_without_a_word_of_the_inside() {
    let world = World::new(Words::default()).await;
    let mut asked = empty(request(Method::GET, AM_DATA));
    let dead = HeaderValue::from_static("http://dead.5gc.mnc070.mcc999.3gppnetwork.org");
    asked.headers_mut().insert("3gpp-sbi-target-apiroot", dead);
    asked.headers_mut().insert("3gpp-sbi-max-rsp-time", HeaderValue::from_static("2000"));
    let response = world.ask(asked).await;
    assert_eq!(response.status(), 504);
    let text = text(response).await;
    for inside in ["127.0.0.1", "dead", "refused", "detail", "os error"] {
        assert!(!text.contains(inside), "{text}");
    }
}

#[tokio::test]
async fn the_time_of_the_client_is_the_deadline() {
    let world = World::new(Words::default()).await;
    let with = |waits: &'static str| {
        request(Method::GET, "/nudm-sdm/v2/imsi-999700000000001/never")
            .header("3gpp-sbi-max-rsp-time", waits)
    };
    let begun = std::time::Instant::now();
    let response = world.ask(empty(with("500"))).await;
    assert_eq!(response.status(), 504);
    assert!(text(response).await.contains("TIMED_OUT_REQUEST"));
    assert!(begun.elapsed() < Duration::from_secs(10), "not the configured 20 seconds");
    // A request whose client no longer waits isn't sent.
    let count = world.udm.count();
    let sent = httpdate::fmt_http_date(std::time::SystemTime::now() - Duration::from_secs(30));
    let sent = sent.replace(" GMT", ".000 GMT");
    let late = with("5000").header("3gpp-sbi-sender-timestamp", sent);
    assert_eq!(world.ask(empty(late)).await.status(), 504);
    assert_eq!(world.udm.count(), count);
}

#[tokio::test]
async fn the_configured_time_is_the_most() {
    let both = "[limits]\nresponse = \"1s\"";
    let world = World::new(Words { both, ..Words::default() }).await;
    let never = request(Method::GET, "/nudm-sdm/v2/imsi-999700000000001/never")
        .header("3gpp-sbi-max-rsp-time", "90000");
    let begun = std::time::Instant::now();
    assert_eq!(world.ask(empty(never)).await.status(), 504);
    assert!(begun.elapsed() < Duration::from_secs(15), "not the 90 seconds of the client");
}

/// Of the requests that may be in progress others need the rest.
#[tokio::test]
async fn a_peer_that_does_not_answer_holds_half_of_all_requests() {
    let both = "[limits]\nrequests = 4";
    let world = Arc::new(World::new(Words { both, ..Words::default() }).await);
    let never = || {
        let asked = request(Method::GET, "/nudm-sdm/v2/imsi-999700000000001/never")
            .header("3gpp-sbi-max-rsp-time", "60000");
        let world = world.clone();
        tokio::spawn(async move { world.ask(empty(asked)).await })
    };
    let waiting = [never(), never()];
    while world.udm.count() < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let response = world.ask(empty(request(Method::GET, AM_DATA))).await;
    assert_eq!(response.status(), 503);
    assert!(text(response).await.contains("NF_CONGESTION"));
    for one in waiting {
        one.abort();
        assert!(one.await.unwrap_err().is_cancelled());
    }
    let response = world.ask(empty(request(Method::GET, AM_DATA))).await;
    assert_eq!(response.status(), 200);
}

/// A peer that was restarted, and doesn't initiate, answers that it has no association.
#[tokio::test]
async fn an_association_that_the_peer_forgot_is_agreed_again() {
    let world = World::new(Words::default()).await;
    let peer = forget(&world, false);
    let response = world.ask(empty(request(Method::GET, AM_DATA))).await;
    assert_eq!(response.status(), 403);
    assert!(text(response).await.contains("CONTEXT_NOT_FOUND"));
    let home = world.home.relay.associations();
    home.ensure(&peer, Deadline::after(Duration::from_secs(20))).await.unwrap();
    let response = world.ask(empty(request(Method::GET, AM_DATA))).await;
    assert_eq!(response.status(), 200);
}

#[tokio::test]
async fn a_function_behind_the_peer_ends_no_association() {
    let visible = "[peer.visited.guard]\nhide-topology = false";
    let world = World::new(Words { visited_peer: visible, ..Words::default() }).await;
    let visited = world.visited.relay.associations();
    let home: Fqdn = HOME.parse().unwrap();
    let ensured = || visited.ensure(&home, Deadline::after(Duration::from_secs(20)));
    // Both initiate: which exchange is the last one is known when neither begins another.
    let pause = || tokio::time::sleep(Duration::from_secs(2));
    pause().await;
    let before = ensured().await.unwrap();
    let path = "/nudm-sdm/v2/imsi-999700000000001/context";
    let response = world.ask(empty(request(Method::GET, path))).await;
    assert!(response.headers()["server"].to_str().unwrap().starts_with("SEPP-sepp2."));
    assert!(text(response).await.contains("CONTEXT_NOT_FOUND"));
    // A doubted association would be agreed on again.
    // A SEPP that doubts an association renews it after a pause of a second.
    pause().await;
    assert!(Arc::ptr_eq(&ensured().await.unwrap(), &before));
}

/// A peer that was restarted, and initiates, gets a request before it has an association.
#[tokio::test]
async fn a_peer_that_is_just_beginning_answers_when_it_has_agreed() {
    let world = World::new(Words::default()).await;
    forget(&world, true);
    let response = world.ask(empty(request(Method::GET, AM_DATA))).await;
    assert_eq!(response.status(), 200, "{}", text(response).await);
}

/// HOME loses its association with VISITED, as in a restart. Returns VISITED's name.
fn forget(world: &World, initiate: bool) -> Fqdn {
    let home = world.home.relay.associations();
    let (own, peer): (Fqdn, Fqdn) = (HOME.parse().unwrap(), VISITED.parse().unwrap());
    let of = |plmn: &str| [plmn.parse().unwrap()].into_iter().collect();
    let local = LocalSettings {
        fqdn: own,
        plmns: of("999-70"),
        n32f_port: Some(world.home.n32f_address.port()),
        features: Features::default(),
    };
    home.set(&Settings { local: local.clone(), peers: Vec::new() });
    let settings = PeerSettings {
        fqdn: peer.clone(),
        plmns: of("001-01"),
        anchor: "visited".into(),
        purposes: vec![N32Purpose::Roaming],
        initiate,
        keep_alive: Duration::from_secs(60),
    };
    home.set(&Settings { local, peers: vec![settings] });
    peer
}
