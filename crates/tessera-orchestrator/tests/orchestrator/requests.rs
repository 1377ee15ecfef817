//! Requests that are wrong, and callers that may not.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use http::Method;
use serde_json::json;
use tessera_orchestrator::operator::{ApiAddress, ApiClient};
use tessera_pki::Authority;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::world::{LONG, World, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_request_is_refused_with_what_is_wrong() {
    let world = World::new().await;
    let _proxies = (world.proxy("a", "").await, world.proxy("b", "").await);
    let orchestrator = world.orchestrator();
    let api = world.api(&orchestrator);
    world.bind("drone", "a").await;
    until("the proxies are known", || orchestrator.table().proxies().len() == 2).await;
    for (body, status, cause) in [
        (json!({ "client": "stranger", "to": "b" }), 404, "unknown-client"),
        (json!({ "client": "stranger", "to": "auto" }), 404, "unknown-client"),
        (json!({ "client": "drone", "to": "nowhere" }), 404, "unknown-proxy"),
        (json!({ "client": "drone", "to": "" }), 400, "bad-request"),
        (json!({ "client": "", "to": "b" }), 400, "bad-request"),
        (json!({ "client": "a".repeat(513), "to": "b" }), 400, "bad-request"),
        (json!({ "client_hex": "0g", "to": "b" }), 400, "bad-request"),
        (json!({ "client": "drone", "client_hex": "00", "to": "b" }), 400, "bad-request"),
        (json!({ "client": "drone" }), 400, "bad-request"),
        (json!({ "client": "drone", "to": "b", "wait": "forever" }), 400, "bad-request"),
        (json!(["drone", "b"]), 400, "bad-request"),
        (json!({ "client": "drone", "to": "b", "queued": true }), 400, "bad-request"),
    ] {
        let (answered, problem) = api.request(body.clone()).await;
        assert_eq!((answered, &problem["cause"]), (status, &json!(cause)), "{body}: {problem}");
        assert_eq!(problem["status"], status);
    }
    let (_, problem) = api.request(json!({ "client": "drone", "to": "b", "queued": true })).await;
    assert!(problem["detail"].as_str().unwrap().contains("`queued`"), "{problem}");
    for path in ["/clients/drone/abort", "/proxies/a/drain", "/sites/x/evacuate"] {
        let answer = api.call(Method::POST, path, Some(json!({ "force": true }))).await;
        assert_eq!(answer.0, 400, "{path}");
        assert!(answer.1["detail"].as_str().unwrap().contains("`force`"), "{}", answer.1);
    }
    let answer = api.call(Method::DELETE, "/proxies/a/drain", Some(json!({ "force": true }))).await;
    assert_eq!(answer.0, 400);
    let post = async |body: Vec<u8>| api.call_raw(Method::POST, "/moves", Some(body)).await.0;
    assert_eq!(post(b"{".to_vec()).await, 400);
    assert_eq!(post(b"\xff".to_vec()).await, 400);
    assert_eq!(post(vec![b'['; 64 * 1024]).await, 400, "nested, but short enough");
    assert_eq!(post(vec![b' '; 64 * 1024 + 1]).await, 413);
    // Without a media type.
    assert_eq!(api.post("/moves").await.0, 415);
    for (method, path, status) in [
        (Method::GET, "/", 404),
        (Method::GET, "/clients/stranger", 404),
        (Method::GET, "/clients/", 400),
        (Method::POST, "/clients/stranger/abort", 404),
        (Method::GET, "/clients?limit=0", 400),
        (Method::PUT, "/moves", 405),
        (Method::POST, "/proxies", 405),
        (Method::POST, "/proxies/nowhere/drain", 404),
        (Method::DELETE, "/proxies/nowhere/drain", 204),
        (Method::POST, "/sites/nowhere/evacuate", 404),
        (Method::POST, "/sites//evacuate", 400),
    ] {
        let (answered, body) = api.call(method.clone(), path, None).await;
        assert_eq!(answered, status, "{method} {path}: {body}");
    }
    assert_eq!(api.call(Method::POST, "/clients/drone/abort", Some(json!({}))).await.0, 200);
    // None of it moved the client.
    assert_eq!(api.get("/clients/drone").await["state"], "stable");
}

/// Over HTTP/1.1, as a program without an HTTP library sends it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_web_page_changes_nothing_even_in_a_browser_that_has_the_certificate() {
    let world = World::new().await;
    let _proxies = (world.proxy("a", "").await, world.proxy("b", "").await);
    let orchestrator = world.orchestrator();
    world.bind("drone", "a").await;
    let body = json!({ "client": "drone", "to": "b" }).to_string();
    let ask = async |fields: &str| {
        let mut stream = world.connect(&orchestrator).await;
        let length = body.len();
        let head = format!(
            "POST /moves HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}\r\n{fields}\r\n"
        );
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        String::from_utf8(answer).unwrap().split(' ').nth(1).unwrap().to_owned()
    };
    const HOST: &str = "Host: o\r\n";
    const JSON: &str = "Content-Type: application/json; charset=utf-8\r\n";
    assert_eq!(ask(&format!("{HOST}{JSON}Origin: https://evil.example\r\n")).await, "403");
    assert_eq!(ask(&format!("{HOST}{JSON}Sec-Fetch-Site: cross-site\r\n")).await, "403");
    assert_eq!(ask(&format!("{HOST}Content-Type: text/plain\r\n")).await, "415");
    assert_eq!(ask(JSON).await, "400", "without a host");
    assert_eq!(world.api(&orchestrator).get("/clients/drone").await["state"], "stable");
    assert_eq!(ask(&format!("{HOST}{JSON}")).await, "200");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_with_odd_characters_go_through_paths_and_bodies() {
    let world = World::new().await;
    let _proxies = (world.proxy("a/ü", "").await, world.proxy("b", "").await);
    let orchestrator = world.orchestrator();
    let api = world.api(&orchestrator);
    world.bind("x/../y?z ü\n", "a/ü").await;
    let shown = api.get("/clients/x%2F..%2Fy%3Fz%20%C3%BC%0A").await;
    assert_eq!(shown["client"], "x/../y?z ü\n");
    assert_eq!(api.move_to("x/../y?z ü\n", "b").await.0, 200);
    let bytes = tessera_bindings::ClientName::new([0xff, 0x00]).unwrap();
    world.bindings.bind(&bytes, &tessera_bindings::ProxyName("b".into())).await.unwrap();
    assert_eq!(api.get("/clients/%FF%00").await["client_hex"], "ff00");
    let (status, moved) = api.request(json!({ "client_hex": "ff00", "to": "a/ü" })).await;
    assert_eq!((status, &moved["client_hex"]), (200, &json!("ff00")));
    assert_eq!(api.post("/proxies/a%2F%C3%BC/drain").await.0, 202);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_that_is_not_listed_only_reads() {
    let world = World::with("operators = [\"Ops.example\"]", "").await;
    let _proxies = (world.proxy("a", "").await, world.proxy("b", "").await);
    let orchestrator = world.orchestrator();
    world.bind("drone", "a").await;
    let reader = world.api_as(&orchestrator, "reader.example");
    assert_eq!(reader.get("/clients/drone").await["owner"], "a");
    let (status, refused) = reader.move_to("drone", "b").await;
    assert_eq!((status, &refused["cause"]), (403, &json!("read-only")));
    for path in ["/clients/drone/abort", "/proxies/a/drain", "/sites/x/evacuate"] {
        assert_eq!(reader.post(path).await.0, 403, "{path}");
    }
    assert_eq!(reader.delete("/proxies/a/drain").await.0, 403);
    assert_eq!(world.api(&orchestrator).move_to("drone", "b").await.0, 200);
    // As of a reload, on a connection that is open.
    let mut section = world.configuration.api.clone();
    section.operators = Some(vec!["reader.example".into()]);
    orchestrator.reload(&section).unwrap();
    assert_eq!(reader.post("/clients/drone/abort").await.0, 200);
    assert_eq!(world.api(&orchestrator).move_to("drone", "b").await.0, 403);
    section.ca = "/missing".into();
    assert!(orchestrator.reload(&section).is_err());
    assert_eq!(reader.get("/clients/drone").await["owner"], "a");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_unknown_proxies_reads_the_store_once_a_second() {
    let (world, store) = World::on_test_store("").await;
    let _a = world.proxy("a", "").await;
    let orchestrator = world.orchestrator_on(store.clone(), &world.metrics);
    let api = world.api(&orchestrator);
    world.bind("drone", "a").await;
    until("the proxy is known", || orchestrator.table().proxies().len() == 1).await;
    let (began, before) = (Instant::now(), store.proxy_reads.load(Ordering::Relaxed));
    for number in 0..100 {
        let (status, refused) = api.move_to("drone", &format!("nowhere {number}")).await;
        assert_eq!((status, &refused["cause"]), (404, &json!("unknown-proxy")));
    }
    let reads = store.proxy_reads.load(Ordering::Relaxed) - before;
    assert!(reads as u64 <= 16 + began.elapsed().as_secs(), "{reads} reads");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_clients_are_read_from_the_store_at_once() {
    let (world, store) = World::on_test_store("").await;
    let orchestrator = world.orchestrator_on(store.clone(), &world.metrics);
    let api = world.api(&orchestrator);
    store.holds_reads.store(true, Ordering::Relaxed);
    let mut reads = JoinSet::new();
    for number in 0..30 {
        let api = api.clone();
        reads.spawn(async move {
            api.call(Method::GET, &format!("/clients/stranger{number}"), None).await.0
        });
    }
    let most = || store.most_reading.load(Ordering::Relaxed);
    until("they are read", || most() >= 16).await;
    // Time for the others to be read as well, if they were.
    sleep(Duration::from_millis(50)).await;
    store.holds_reads.store(false, Ordering::Relaxed);
    assert_eq!(reads.join_all().await, [404; 30], "the others wait for their turn");
    assert_eq!(most(), 16);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_address_has_at_most_half_of_the_connections() {
    let world = World::with("connections = 4", "").await;
    let orchestrator = world.orchestrator();
    let connect = async |from| {
        let mut stream = world.connect_from(from, &orchestrator).await?;
        // The first bytes of an answer show that the handshake is over at the other end, too.
        stream.write_all(b"GET /status HTTP/1.1\r\nHost: o\r\n\r\n").await?;
        stream.read_exact(&mut [0; 8]).await?;
        std::io::Result::Ok(stream)
    };
    let (near, far) = ([127, 0, 0, 1], [127, 0, 0, 2]);
    let mut open = vec![connect(near).await.unwrap(), connect(near).await.unwrap()];
    assert!(connect(near).await.is_err(), "a third one");
    open.push(connect(far).await.unwrap());
    drop(open.remove(0));
    // Its place is free soon.
    let deadline = Instant::now() + LONG;
    while connect(near).await.is_err() {
        assert!(Instant::now() < deadline, "the place isn't free");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_without_a_certificate_of_the_operators_gets_no_answer() {
    let world = World::new().await;
    let orchestrator = world.orchestrator();
    let other = Authority::new("Others").issue("ops.example").both_pem();
    let path = world.directory.join("other.pem");
    std::fs::write(&path, other).unwrap();
    let address = ApiAddress {
        server: orchestrator.addresses()[0].to_string().parse().unwrap(),
        server_name: Some("orchestrator.example".into()),
        ca: world.directory.join("ca.pem"),
        certificate: path,
        key: None,
    };
    let client = ApiClient::open(address).unwrap();
    let answer = client.call(Method::GET, "/status", None, Duration::from_secs(5)).await;
    assert!(answer.is_err(), "{answer:?}");
    let answer = world.api(&orchestrator).0.call(Method::GET, "/status", None, LONG).await;
    assert!(answer.is_ok(), "{answer:?}");
}
