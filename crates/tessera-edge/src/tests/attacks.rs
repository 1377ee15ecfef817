//! Clients that try to be another, or to lose what they did.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Request, StatusCode};
use tessera_bindings::{ClientName, Generation};
use tessera_proxy::http::body::Body;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout};

use super::world::{World, connect, read_until, until};
use crate::demo::{ORIGIN, proxy};
use crate::edge::Routed;
use crate::fields;

const CERTIFICATES: &str = "[clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";
const WITH_STATE: &str =
    "state = \"/state\"\n[clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";
const DRONE: &str = "dns%3Adrone.example";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_client_reaches_the_paths_of_clients_state() {
    let world = World::start(&["a", "b"], WITH_STATE).await;
    let (king, drone) = (world.client(Some("king.example")), world.client(Some("drone.example")));
    king.get("/").await;
    for path in [
        "/state/dns%3Aking.example",
        "/%73tate/dns%3Aking.example",
        "//state/dns%3Aking.example",
        "/state;x/dns%3Aking.example",
    ] {
        assert!(drone.get(path).await.status.is_client_error(), "{path}");
        let request = Request::put(format!("https://{ORIGIN}{path}"));
        assert!(drone.send(request, "700").await.status.is_client_error(), "{path}");
    }
    let king_now = world.proxies["a"].service.count("dns%3Aking.example");
    assert_eq!(king_now, 1, "another client has set its state");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_field_removes_nothing_that_the_proxy_adds() {
    let world = World::start(&["a", "b"], CERTIFICATES).await;
    world.client(Some("drone.example")).get("/").await;
    for at in ["a", "b"] {
        let mut stream = connect(&world, at, "drone.example").await;
        let request = format!(
            "GET /fields HTTP/1.1\r\nHost: {ORIGIN}\r\n\
             Connection: close, tessera-client, tessera-generation, x-forwarded-for, x-forwarded-proto\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let expected = format!("{DRONE}|127.0.0.1|https|");
        let answer = read_until(&mut stream, &expected).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{at}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_request_that_is_cancelled_loses_no_change() {
    let world = World::start(&["b", "a"], WITH_STATE).await;
    let drone = ClientName::new("dns:drone.example").unwrap();
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    let b = world.edge("b");
    until("it is bound", || b.table.binding(&drone).is_some()).await;
    world.client(Some("drone.example")).get("/one").await;
    // The hand-over waits for this one, which changes the state.
    let mut slow = connect(&world, "a", "drone.example").await;
    let request = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: {ORIGIN}\r\n\r\n");
    world.announce(&drone, "b").await;
    slow.write_all(request("/slow").as_bytes()).await.unwrap();
    until("it is executed", || world.executed().iter().any(|line| line.ends_with("/slow"))).await;
    let client = world.client(Some("drone.example"));
    let first = tokio::spawn({
        let client = client.clone();
        async move { client.get_if_answered("/first").await }
    });
    until("it has switched", || b.table.binding(&drone).unwrap().owner() == &b.own).await;
    first.abort();
    assert_eq!(client.get("/other").await.status, StatusCode::OK);
    read_until(&mut slow, "\r\n\r\n2").await;
    assert_eq!(client.get("/last").await.status, StatusCode::OK);
    assert_eq!(
        world.proxies["b"].service.count(DRONE),
        world.executed().len() as u64,
        "the state went back to what it was before the move: {:?}",
        world.executed()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_are_cancelled_at_an_arrival_leave_nothing_behind() {
    let world = World::start(&["b", "a"], WITH_STATE).await;
    let drone = ClientName::new("dns:drone.example").unwrap();
    world.bindings.bind(&drone, &proxy("a")).await.unwrap();
    let b = world.edge("b");
    until("it is bound", || b.table.binding(&drone).is_some()).await;
    world.announce(&drone, "b").await;
    let client = b.clients.at(&drone, Instant::now());
    let arrival = client.arrive().await;
    let before = Arc::strong_count(&client);
    for _ in 0..100 {
        let routed = timeout(Duration::from_millis(1), b.route(&client, true, None)).await;
        assert!(routed.is_err());
    }
    assert_eq!(Arc::strong_count(&client), before, "their tasks wait");
    drop(arrival);
    assert!(matches!(b.route(&client, true, None).await, Routed::Serve { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_websocket_loses_no_change_of_the_requests_that_have_ended() {
    let world = World::start(&["a", "b"], WITH_STATE).await;
    let client = world.client(Some("drone.example"));
    client.get("/one").await;
    let drone = world.only_client().await;
    let mut socket = connect(&world, "a", "drone.example").await;
    let request = format!(
        "GET /ws HTTP/1.1\r\nHost: {ORIGIN}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\nhello"
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    read_until(&mut socket, "hello").await;
    let at_a = world.edge("a").clients.get(&drone).unwrap();
    let quiet = timeout(Duration::from_secs(20), at_a.hand_over(Generation(0))).await;
    assert!(quiet.is_ok(), "a move waits for the WebSocket");
    world.announce(&drone, "b").await;
    // By another client: the first one would follow at once.
    for _ in 0..3 {
        assert_eq!(world.client(Some("drone.example")).get("/at-a").await.status, StatusCode::OK);
    }
    assert_eq!(world.proxies["a"].service.count(DRONE), 4);
    let mut first = connect(&world, "b", "drone.example").await;
    let request = format!("GET /first HTTP/1.1\r\nHost: {ORIGIN}\r\nConnection: close\r\n\r\n");
    first.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = first.read_to_end(&mut answer).await;
    assert_eq!(
        world.proxies["b"].service.count(DRONE),
        5,
        "the state went back to what it was before the move: {}",
        String::from_utf8_lossy(&answer)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_owner_applies_its_policy_to_what_is_forwarded() {
    let world = World::start(
        &["a"],
        "methods = [\"GET\"]\n[clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n",
    )
    .await;
    world.client(Some("drone.example")).get("/").await;
    let name = world.only_client().await;
    let generation = world.table.binding(&name).unwrap().generation;
    for (method, status) in [("GET", 200), ("POST", 405), ("TRACE", 405)] {
        let mut headers = HeaderMap::new();
        fields::name_to_proxy(&mut headers, &name, generation);
        let mut request = Request::new(Body::empty());
        *request.method_mut() = method.parse().unwrap();
        *request.uri_mut() = format!("https://{ORIGIN}/").parse().unwrap();
        *request.headers_mut() = headers;
        let response = world.edge("a").answer_peer(request).await;
        assert_eq!(response.status().as_u16(), status, "{method}");
    }
}

/// Its name is a digest, which an Envoy or an earlier life of this proxy has bound.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_whose_names_are_not_known_is_admitted_where_all_are() {
    let more = "path = \"/own\"\n[service.narrow]\nadmit = [\"drone.example\"]\ninstances = [\"127.0.0.1:1\"]\n\
                [clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";
    let world = World::start(&["a"], more).await;
    let a = world.edge("a");
    let long = ClientName::new(format!("sha256:{}", "0".repeat(64))).unwrap();
    let generation = world.bindings.bind(&long, &proxy("a")).await.unwrap().generation;
    let ask = async |path: &str| {
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = format!("https://{ORIGIN}{path}").parse().unwrap();
        fields::name_to_proxy(request.headers_mut(), &long, generation);
        request.headers_mut().insert(fields::OWNER, HeaderValue::from_static("a"));
        let response = a.answer_peer(request).await;
        let status = response.status().as_u16();
        (status, response.into_body().collect_up_to(1000).await.unwrap().data)
    };
    assert_eq!(ask("/own").await, (200, "tessera-client".into()), "not what Envoy adds");
    assert_eq!(ask("/narrow").await.0, 403);
    // It was here by itself.
    let known = a.clients.at(&long, Instant::now());
    known.identity.get_or_init(|| b"dns:drone.example".to_vec());
    assert_eq!(ask("/narrow").await.0, 503, "its instance can't be reached");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trailers_of_a_client_do_not_pass() {
    // To an instance of HTTP/1.1 they wouldn't pass without the field `Trailer` either.
    let more = "http2 = true\n[clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";
    let world = World::start(&["a"], more).await;
    let mut stream = connect(&world, "a", "drone.example").await;
    let request = format!(
        "POST /trailers HTTP/1.1\r\nHost: {ORIGIN}\r\nTrailer: tessera-client\r\nTransfer-Encoding: chunked\r\n\r\n\
         1\r\nx\r\n0\r\ntessera-client: dns%3Aking.example\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    read_until(&mut stream, "\r\n\r\nNone").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_proxy_is_refused_what_is_not_here() {
    let world = World::start(&["a"], WITH_STATE).await;
    world.client(Some("drone.example")).get("/").await;
    let name = world.only_client().await;
    let Generation(generation) = world.table.binding(&name).unwrap().generation;
    let other = ClientName::new("dns:other.example").unwrap();
    let ask = async |name: &ClientName, generation, question: &'static str| {
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = format!("https://{ORIGIN}/").parse().unwrap();
        fields::name_to_proxy(request.headers_mut(), name, Generation(generation));
        if !question.is_empty() {
            request.headers_mut().insert(fields::STATE, HeaderValue::from_static(question));
        }
        let response = world.edge("a").answer_peer(request).await;
        (response.status().as_u16(), response.headers().contains_key(fields::REFUSED))
    };
    // It is bound where it comes to, not where another proxy believes that it is.
    assert_eq!(ask(&other, generation, "").await, (503, true));
    assert!(world.table.binding(&other).is_none());
    assert_eq!(ask(&name, generation - 1, "export").await, (503, true));
    assert_eq!(ask(&name, generation - 1, "hand-over").await, (503, true));
    assert_eq!(ask(&name, generation, "give").await, (400, false));
    assert_eq!(ask(&name, generation, "").await, (200, false), "it was not handed over");
    assert_eq!(ask(&name, generation, "export").await, (200, false));
    assert_eq!(world.executed().len(), 2);
    let nameless = world.edge("a").answer_peer(Request::new(Body::empty())).await;
    assert_eq!(nameless.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_whose_clients_others_may_own_executes_nothing_that_has_state() {
    let more = "state = \"/state\"\npath = \"/with\"\n[service.plain]\ninstances = [\"127.0.0.1:1\"]\n\
                [clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";
    let world = World::start(&["a"], more).await;
    let client = world.client(Some("drone.example"));
    assert_eq!(client.get("/with").await.status, StatusCode::OK);
    let a = world.edge("a");
    a.lease.leave().await.unwrap();
    assert!(!a.lease.is_held(), "another proxy may own its clients now");
    assert_eq!(client.get("/with").await.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(world.executed().len(), 1);
    assert_eq!(client.get("/plain").await.body, "the service can't be reached now\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_of_another_proxy_writes_no_field_of_its_own() {
    let world = World::start(&["a"], CERTIFICATES).await;
    let a = world.edge("a");
    assert!(a.alt_svc("b.example:443").is_some());
    for authority in
        ["b\", h2=\"c:443", "b:443\"; ma=31536000; x=\"", "b:443\r\nset-cookie: x", "", "b"]
    {
        assert_eq!(a.alt_svc(authority), None, "{authority}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_connections_of_a_client_that_has_moved_end() {
    let world = World::start(&["a", "b"], CERTIFICATES).await;
    let mut stream = connect(&world, "a", "drone.example").await;
    let request = format!("GET /one HTTP/1.1\r\nHost: {ORIGIN}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    read_until(&mut stream, "\r\n\r\n1").await;
    let name = world.only_client().await;
    world.announce(&name, "b").await;
    let mut next = connect(&world, "b", "drone.example").await;
    next.write_all(request.as_bytes()).await.unwrap();
    let read = timeout(Duration::from_secs(20), stream.read_to_end(&mut Vec::new())).await;
    assert_eq!(read.unwrap().unwrap(), 0);
}
