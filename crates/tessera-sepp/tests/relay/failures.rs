//! What is answered when no function does.

use std::time::Duration;

use http::{HeaderValue, Method};

use crate::world::{AM_DATA, Words, World, empty, request, text};

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
    // One that waits no longer isn't sent.
    let count = world.udm.count();
    let sent = httpdate::fmt_http_date(std::time::SystemTime::now() - Duration::from_secs(30));
    let sent = sent.replace(" GMT", ".000 GMT");
    let late = with("5000").header("3gpp-sbi-sender-timestamp", sent);
    assert_eq!(world.ask(empty(late)).await.status(), 504);
    assert_eq!(world.udm.count(), count);
}

/// A SEPP that was restarted knows no association, and may be one that doesn't begin: it says so, and its peer begins.
#[tokio::test]
async fn an_association_that_the_peer_lost_is_begun_again() {
    let world = World::new(Words { home_silent: true, ..Words::default() }).await;
    assert_eq!(world.ask(empty(request(Method::GET, AM_DATA))).await.status(), 200);
    world.home.forget();
    assert_eq!(world.ask(empty(request(Method::GET, AM_DATA))).await.status(), 403);
    let served = async {
        while world.ask(empty(request(Method::GET, AM_DATA))).await.status() != 200 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), served).await.unwrap();
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
