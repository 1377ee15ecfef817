//! What one client or one address may take, and what is given back.

use std::time::Duration;

use http::{Request, StatusCode};
use tessera_bindings::ClientName;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::deadline::Deadline;
use tessera_tokio::{ClientStream, Connector};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::world::{World, connect, read_until, until};
use crate::demo::{ORIGIN, proxy};
use crate::edge::{BINDING, RELEASES};
use crate::fields;

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
    let more = "state = \"/state\"\n[clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";
    let world = World::start(&["a"], more).await;
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
    // Some may be released before the last ones are bound.
    let is_bound = || world.table.binding(&client("other".into())).is_some();
    until("all have been bound", is_bound).await;
    until("those of the dead one are released", || world.table.len() == 1).await;
    assert!(b.is_held() && world.table.binding(&client("other".into())).is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_hang_block_no_question_for_a_clients_state() {
    let more = "[clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";
    let world = World::start(&["b", "a"], more).await;
    let name = ClientName::new("dns:drone.example").unwrap();
    let generation = world.bindings.bind(&name, &proxy("a")).await.unwrap().generation;
    let b = world.edge("b");
    until("it is bound", || b.table.binding(&name).is_some()).await;
    let mut hanging = Vec::new();
    let request = format!("GET /hang HTTP/1.1\r\nHost: {ORIGIN}\r\n\r\n");
    let hang = || world.executed_at("a").iter().filter(|it| it.ends_with("/hang")).count();
    for _ in 0..80 {
        let mut stream = connect(&world, "b", "drone.example").await;
        stream.write_all(request.as_bytes()).await.unwrap();
        hanging.push(stream);
    }
    until("they hang", || hang() == 80).await;
    let to = world.table.proxy(&proxy("a")).unwrap().forward;
    let state = b.peers.state(&to, &name, generation).await;
    drop(hanging);
    assert!(state.is_ok(), "{state:?}");
    assert_eq!(b.peers.len(), 2, "moves have connections of their own");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_of_clients_do_not_hold_for_other_proxies() {
    let more = "[limits]\nconnections-per-address = 3\nbody = 10\nheader-bytes = 8192\n\
                [clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";
    let world = World::start(&["a", "b", "c"], more).await;
    let name = ClientName::new("dns:drone.example").unwrap();
    let generation = world.bindings.bind(&name, &proxy("a")).await.unwrap().generation;
    let to = world.table.proxy(&proxy("a")).unwrap().forward;
    for at in ["b", "c"] {
        let request = Request::post(format!("https://{ORIGIN}/echo"));
        let request = request.header("x-long", "x".repeat(20_000));
        let mut request = request.body(Body::full("0123456789a".into())).unwrap();
        fields::name_to_proxy(request.headers_mut(), &name, generation);
        let deadline = Deadline::after(Duration::from_secs(20));
        let peers = &world.edge(at).peers;
        let answered = peers.forward(&to, request, deadline).await;
        assert!(answered.is_ok_and(|it| it.status() == StatusCode::OK), "{at}");
        // By another connection, while that one is kept.
        assert!(peers.state(&to, &name, generation).await.is_ok(), "{at}");
    }
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

/// Asks for a WebSocket, and returns the connection with the first line of the answer.
async fn websocket(
    world: &World,
    at: &str,
    name: Option<&str>,
) -> (ClientStream<TcpStream>, String) {
    let mut config = world.client_config(name).unwrap();
    config.protocols = vec![b"http/1.1".to_vec()];
    let socket = TcpStream::connect(world.proxies[at].address).await.unwrap();
    let destination = tessera::Destination { server_name: ORIGIN.into(), ..Default::default() };
    let connector = Connector::new(config.checked().unwrap());
    let mut stream = connector.connect(destination, socket).await.unwrap();
    let request = format!(
        "GET /ws HTTP/1.1\r\nHost: {ORIGIN}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.contains(&b'\n') {
        let read = timeout(Duration::from_secs(20), stream.read_buf(&mut answer)).await;
        assert!(read.unwrap().unwrap() > 0, "{}", String::from_utf8_lossy(&answer));
    }
    let line = String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned();
    (stream, line)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_client_or_address_does_not_take_all_websockets() {
    let more = "[limits]\nwebsockets-per-client = 2\n\
                [clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";
    let world = World::start(&["a", "b"], more).await;
    let (drone, king) = (Some("drone.example"), Some("king.example"));
    world.client(drone).get("/").await;
    let mut open = Vec::new();
    let is_open = |line: &str| line.starts_with("HTTP/1.1 101 ");
    // The second one is forwarded.
    for (at, name) in [("a", drone), ("b", drone), ("a", None), ("a", None)] {
        let (stream, line) = websocket(&world, at, name).await;
        assert!(is_open(&line), "{at}, {name:?}: {line}");
        open.push(stream);
    }
    for (at, name) in [("a", drone), ("b", drone), ("a", None)] {
        let (_, line) = websocket(&world, at, name).await;
        assert!(line.starts_with("HTTP/1.1 429 "), "{at}, {name:?}: {line}");
    }
    assert!(is_open(&websocket(&world, "a", king).await.1), "another client has its own");
    drop(open);
    let again = async {
        while !is_open(&websocket(&world, "a", drone).await.1) {
            sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(timeout(Duration::from_secs(20), again).await.is_ok(), "none is given back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_are_away_are_released_some_at_a_time_and_not_one_that_is_back() {
    const MORE: usize = RELEASES + 50;
    let world = World::start(&["a"], "[clients]\nnamed-by = \"cookie\"\nidle = \"1h\"\n").await;
    let a = world.edge("a");
    let client = |at: usize| ClientName::new(format!("client-{at}")).unwrap();
    for at in 0..MORE {
        world.bindings.bind(&client(at), &proxy("a")).await.unwrap();
    }
    until("all are known", || (0..MORE).all(|at| a.clients.get(&client(at)).is_some())).await;
    let later = Instant::now() + Duration::from_secs(2 * 3600);
    assert_eq!(a.clients.idle(later, a.settings.idle).len(), MORE);
    a.release_idle(later).await;
    until("some are released", || a.table.len() == MORE - RELEASES).await;
    let mut releasing = Box::pin(a.release_idle(later));
    assert!(futures_util::poll!(&mut releasing).is_pending(), "it releases the first one");
    // The others come back meanwhile.
    for at in 0..MORE {
        a.clients.at(&client(at), later);
    }
    releasing.await;
    until("that one is released", || a.table.len() < MORE - RELEASES).await;
    // It has followed all that was done.
    let last = ClientName::new("last").unwrap();
    world.bindings.bind(&last, &proxy("a")).await.unwrap();
    until("the last one is bound", || a.table.binding(&last).is_some()).await;
    assert_eq!(a.table.len(), MORE - RELEASES);
}
