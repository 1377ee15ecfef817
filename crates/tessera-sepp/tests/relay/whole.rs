//! T10: the function's status, headers and body come back unchanged.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use tessera_proxy::http::body::{Body, CompleteBody};
use tessera_sepp::names::Fqdn;

use crate::world::{AM_DATA, AM_DATA_BODY, HOME, UDM, VISITED, Words, World, empty, request, text};

#[tokio::test]
async fn a_request_crosses_and_its_answer_comes_back() {
    let world = World::new(Words::default()).await;
    let request = request(Method::GET, &format!("{AM_DATA}?supported-features=1"))
        .header("3gpp-sbi-discovery-target-nf-type", "UDM")
        .header("3gpp-sbi-correlation-info", "imsi-999700000000001");
    let response = world.ask(empty(request)).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["etag"], "yes");
    // No API has it.
    assert!(!response.headers().contains_key("x-of-function"));
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(text(response).await, AM_DATA_BODY);
    let (method, uri, headers) = world.udm.last();
    assert_eq!(method, Method::GET);
    // `:authority` is the function, and headers that only served routing are gone.
    assert_eq!(uri, format!("{UDM}{AM_DATA}?supported-features=1"));
    assert!(!headers.contains_key("3gpp-sbi-target-apiroot"));
    assert!(!headers.contains_key("3gpp-sbi-discovery-target-nf-type"));
    assert_eq!(headers["3gpp-sbi-correlation-info"], "imsi-999700000000001");
    let origin = format!("001-01; src: SEPP-{VISITED}");
    assert_eq!(headers["3gpp-sbi-originating-network-id"], origin);
    let relayed = world.home.seen.relayed.lock().unwrap().clone();
    let visited: Fqdn = VISITED.parse().unwrap();
    assert_eq!(relayed, [(Some(visited), "nudm-sdm", http::StatusCode::OK)]);
    let relayed = world.visited.seen.relayed.lock().unwrap()[0].clone();
    assert_eq!(relayed.0.unwrap().as_str(), HOME);
}

#[tokio::test]
async fn each_method_and_status_is_the_functions() {
    let world = World::new(Words::default()).await;
    let body = r#"{"priority":1}"#;
    for (method, end, status, answered) in [
        (Method::POST, "created", 201, body),
        (Method::PUT, "echo", 200, body),
        (Method::PATCH, "nothing", 204, ""),
        (Method::DELETE, "nothing", 204, ""),
        (Method::GET, "missing", 404, r#"{"status":404,"cause":"USER_NOT_FOUND"}"#),
        (Method::PUT, "broken", 500, r#"{"status":500,"cause":"SYSTEM_FAILURE"}"#),
        (Method::GET, "teapot", 418, ""),
    ] {
        let path = format!("/nudm-sdm/v2/imsi-999700000000001/{end}");
        let head = request(method.clone(), &path);
        let request = match method {
            Method::GET | Method::DELETE => empty(head),
            _ => head
                .header("content-type", "application/json")
                .body(Body::full(Bytes::from_static(body.as_bytes())))
                .unwrap(),
        };
        let response = world.ask(request).await;
        assert_eq!(response.status(), status, "{method} {end}");
        assert_eq!(text(response).await, answered, "{method} {end}");
        assert_eq!(world.udm.last().0, method);
    }
}

#[tokio::test]
async fn trailers_of_a_peer_go_on_in_neither_direction() {
    let world = World::new(Words::default()).await;
    let trailers = HeaderMap::from_iter([(
        "x-after".parse::<http::HeaderName>().unwrap(),
        HeaderValue::from_static("all"),
    )]);
    let data = Bytes::from_static(b"{\"priority\":1}");
    let body = Body::from(CompleteBody { data: data.clone(), trailers: Some(trailers) });
    let request = request(Method::PUT, "/nudm-sdm/v2/imsi-999700000000001/echo")
        .header("content-type", "application/json")
        .body(body)
        .unwrap();
    let response = world.ask(request).await;
    let collected = response.into_body().collect_up_to(1000).await.unwrap();
    assert_eq!(collected.data, data);
    assert!(collected.trailers.is_none_or(|trailers| trailers.is_empty()));
}

/// The path of the apiRoot precedes the API's.
#[tokio::test]
async fn a_prefix_of_the_api_root_is_kept() {
    let words = Words { home_sbi: "target-prefixes = [\"/deployed/here\"]", ..Words::default() };
    let world = World::new(words).await;
    let mut asked = empty(request(Method::GET, AM_DATA));
    let root =
        HeaderValue::from_static("http://UDM.5gc.mnc070.mcc999.3gppnetwork.org:8000/deployed/here");
    asked.headers_mut().insert("3gpp-sbi-target-apiroot", root);
    assert_eq!(world.ask(asked).await.status(), 200);
    assert!(world.udm.last().1.ends_with(&format!(":8000/deployed/here{AM_DATA}")));
}

/// A dead address of the peer is skipped.
#[tokio::test]
async fn several_addresses_with_a_dead_one() {
    let words = Words { addresses: "\"127.0.0.1:1\", ", ..Words::default() };
    let world = World::new(words).await;
    for _ in 0..3 {
        let response = world.ask(empty(request(Method::GET, AM_DATA))).await;
        assert_eq!(response.status(), 200);
    }
    assert_eq!(world.udm.count(), 3);
}
