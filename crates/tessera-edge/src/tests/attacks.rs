//! Clients that try to be another, to lose what they did, or to take what others need.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Request, StatusCode};
use tessera_bindings::{ClientName, Generation};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::deadline::Deadline;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout};

use super::world::{World, connect, read_until, until};
use crate::demo::{ORIGIN, proxy};
use crate::edge::{BINDING, Routed};
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
    assert_eq!(ask(&name, generation, "hand-over").await, (503, true), "it stays here");
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
async fn a_client_that_is_one_too_many_is_refused_only_what_has_state() {
    let more = "state = \"/state\"\npath = \"/with\"\n[service.plain]\ninstances = [\"127.0.0.1:1\"]\n\
                [clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\nbound = 1\n";
    let world = World::start(&["a"], more).await;
    assert_eq!(world.client(Some("drone.example")).get("/with").await.status, StatusCode::OK);
    world.only_client().await;
    let other = world.client(Some("other.example"));
    assert_eq!(other.get("/with").await.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(other.get("/plain").await.body, "the service can't be reached now\n");
    assert_eq!((world.table.len(), world.executed().len()), (1, 1));
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
async fn cookies_that_nothing_is_bound_to_are_forgotten() {
    let world = World::start(&["a"], "[clients]\nnamed-by = \"cookie\"\nbound = 1\n").await;
    let client = world.client(None);
    for _ in 0..100 {
        let got = client.get("/").await;
        let cookie = got.field("set-cookie").split(';').next().unwrap();
        let request = Request::get(format!("https://{ORIGIN}/")).header("cookie", cookie);
        assert_eq!(client.send(request, "").await.status, StatusCode::OK);
    }
    let a = world.edge("a");
    until("they are forgotten", || a.clients.len() <= 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn few_clients_are_bound_at_once() {
    let world = World::start(&["a"], WITH_STATE).await;
    let places = world.edge("a").binding.clone().acquire_many_owned(BINDING as u32).await.unwrap();
    let client = world.client(Some("drone.example"));
    assert_eq!(client.get("/").await.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(world.table.is_empty(), "it is bound next to the others");
    drop(places);
    assert_eq!(client.get("/").await.status, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_address_does_not_bind_all_that_the_pool_may_have() {
    let more = "state = \"/state\"\npath = \"/with\"\n[service.plain]\ninstances = [\"127.0.0.1:1\"]\n\
                [clients]\nnamed-by = \"cookie\"\nbound = 100\nbound-per-address = 2\n";
    let world = World::start(&["a"], more).await;
    let client = world.client(None);
    let ask = async |path: &str, cookie: &str| {
        let request = Request::get(format!("https://{ORIGIN}{path}")).header("cookie", cookie);
        client.send(request, "").await
    };
    let mut cookies = Vec::new();
    for _ in 0..4 {
        let got = client.get("/with").await;
        cookies.push(got.field("set-cookie").split(';').next().unwrap().to_owned());
    }
    let with = async |cookie: &String| ask("/with", cookie).await;
    for bound in &cookies[..2] {
        assert_eq!(with(bound).await.status, StatusCode::OK);
    }
    for one_too_many in &cookies[2..] {
        let got = with(one_too_many).await;
        assert_eq!(got.status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(got.body.starts_with("no more clients can be bound"), "{got:?}");
        let got = ask("/plain", one_too_many).await;
        assert_eq!(got.body, "the service can't be reached now\n");
    }
    assert_eq!(world.table.len(), 2);
    for bound in &cookies[..2] {
        assert_eq!(with(bound).await.status, StatusCode::OK);
    }
}

/// A stream of HTTP/2 that is reset drops its request (RFC 9113 §6.4), whatever the store makes of the step.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_cancelled_keeps_its_clients_place() {
    let more = "[clients]\nnamed-by = \"cookie\"\nbound = 100\nbound-per-address = 2\n";
    let world = World::start(&["a"], more).await;
    let a = world.edge("a");
    let from = Some([192, 0, 2, 7].into());
    for at in 0..4 {
        let name = ClientName::new(format!("client-{at}")).unwrap();
        let client = a.clients.at(&name, Instant::now());
        let mut cancelled = Box::pin(a.route(&client, false, from));
        assert_eq!(futures_util::poll!(&mut cancelled).is_pending(), at < 2);
        drop(cancelled);
        if at < 2 {
            until("it is bound", || world.table.binding(&name).is_some()).await;
            // A client that nothing binds would be forgotten by then.
            let later = Instant::now() + Duration::from_secs(60);
            until("it is known as bound", || {
                !a.clients.is_idle(&name, later, Duration::from_secs(3600))
            })
            .await;
        }
    }
    assert_eq!(world.table.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_never_comes_back_is_released_after_a_restart_too() {
    let more = "[clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\nidle = 1\n";
    let world = World::start(&["a"], more).await;
    // As an earlier life of this proxy did.
    let gone = ClientName::new("dns:gone.example").unwrap();
    world.bindings.bind(&gone, &proxy("a")).await.unwrap();
    until("it is bound", || world.table.binding(&gone).is_some()).await;
    until("it is released", || world.table.binding(&gone).is_none()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_clients_of_a_proxy_that_never_comes_back_are_released() {
    let more = "[clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\nidle = 1\n";
    let world = World::start(&["a"], more).await;
    let client = |name: String| ClientName::new(name).unwrap();
    // Those of proxies that are gone, and of one that is live.
    for at in 0..150 {
        world.bindings.bind(&client(format!("gone-{at}")), &proxy("gone")).await.unwrap();
    }
    let joined = world.bindings.join(
        &proxy("b"),
        world.table.proxy(&proxy("a")).unwrap(),
        Duration::from_secs(60),
    );
    let b = joined.unwrap();
    world.bindings.bind(&client("other".into()), &proxy("b")).await.unwrap();
    until("all are bound", || world.table.len() == 151).await;
    until("those of the dead one are released", || world.table.len() == 1).await;
    assert!(b.is_held() && world.table.binding(&client("other".into())).is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_hang_block_no_question_for_a_clients_state() {
    let more = "[limits]\nstreams = 1\n\
                [clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";
    let world = World::start(&["b", "a"], more).await;
    let name = ClientName::new("dns:drone.example").unwrap();
    let generation = world.bindings.bind(&name, &proxy("a")).await.unwrap().generation;
    let b = world.edge("b");
    until("it is bound", || b.table.binding(&name).is_some()).await;
    // More than the connections to another proxy carry, with one request at a time each.
    let mut hanging = Vec::new();
    let request = format!("GET /hang HTTP/1.1\r\nHost: {ORIGIN}\r\n\r\n");
    let hang = || world.executed_at("a").iter().filter(|it| it.ends_with("/hang")).count();
    for _ in 0..80 {
        let mut stream = connect(&world, "b", "drone.example").await;
        stream.write_all(request.as_bytes()).await.unwrap();
        hanging.push(stream);
    }
    // Calls may wait on a connection until that reports how many it takes.
    until("they hang", || hang() >= 16).await;
    let to = world.table.proxy(&proxy("a")).unwrap().forward;
    let state = b.peers.state(&to, &name, generation).await;
    drop(hanging);
    assert!(state.is_ok(), "{state:?}");
    assert_eq!(b.peers.len(), 2, "moves have connections of their own");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_of_clients_do_not_hold_for_other_proxies() {
    let more = "[limits]\nconnections-per-address = 3\n\
                [clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";
    let world = World::start(&["a", "b", "c"], more).await;
    let name = ClientName::new("dns:drone.example").unwrap();
    let generation = world.bindings.bind(&name, &proxy("a")).await.unwrap().generation;
    let to = world.table.proxy(&proxy("a")).unwrap().forward;
    for at in ["b", "c"] {
        let mut request = Request::get(format!("https://{ORIGIN}/")).body(Body::empty()).unwrap();
        fields::name_to_proxy(request.headers_mut(), &name, generation);
        let deadline = Deadline::after(Duration::from_secs(20));
        let peers = &world.edge(at).peers;
        assert!(peers.forward(&to, request, deadline).await.is_ok(), "{at}");
        // By another connection, while that one is kept.
        assert!(peers.state(&to, &name, generation).await.is_ok(), "{at}");
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_hold_for_clients() {
    let more = "[limits]\nbody = 10\nhead = \"100ms\"\n\
                [clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";
    let world = World::start(&["a"], more).await;
    let client = world.client(Some("drone.example"));
    assert_eq!(client.post("/echo", "0123456789").await.status, StatusCode::OK);
    assert_eq!(client.post("/echo", "0123456789a").await.status, StatusCode::PAYLOAD_TOO_LARGE);
    // It turns out to be too long when the service has got its beginning.
    let mut chunked = connect(&world, "a", "drone.example").await;
    let head = format!("POST / HTTP/1.1\r\nHost: {ORIGIN}\r\nTransfer-Encoding: chunked\r\n\r\n");
    chunked.write_all(format!("{head}b\r\n0123456789a\r\n0\r\n\r\n").as_bytes()).await.unwrap();
    let answer = read_until(&mut chunked, "too long\n").await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    let mut slow = connect(&world, "a", "drone.example").await;
    slow.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
    let read = timeout(Duration::from_secs(20), slow.read_to_end(&mut Vec::new())).await;
    assert!(read.is_ok(), "a head that doesn't end holds its connection");
    assert_eq!(world.executed().len(), 1);
}
