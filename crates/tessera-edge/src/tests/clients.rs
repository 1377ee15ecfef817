//! Who clients are, and what they may do.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, StatusCode};
use tessera_kit::{SettingFile, trust};
use tessera_tokio::Connector;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::world::World;
use crate::demo::ORIGIN;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cookie_names_a_client_from_its_second_request_on() {
    let world = World::start(&["a", "b"], "[clients]\nnamed-by = \"cookie\"\n").await;
    let client = world.client(None);
    let got = client.get("/fields").await;
    assert_eq!((got.body.split('|').next(), got.field("alt-svc")), (Some(""), ""));
    let cookie = got.field("set-cookie");
    let pair = cookie.split(';').next().unwrap();
    assert!(cookie.ends_with("; Secure; HttpOnly; SameSite=Lax"), "{cookie}");
    let ask = async |path: &str| {
        let request = Request::get(format!("https://{ORIGIN}{path}")).header("cookie", pair);
        client.send(request, "").await
    };
    let got = ask("/fields").await;
    assert!(got.body.starts_with("cookie%3A"), "{got:?}");
    assert!(
        got.field("set-cookie").is_empty() && got.field("alt-svc").starts_with("h2=\"a.example"),
        "{got:?}"
    );
    assert_eq!(ask("/cookies").await.body, "", "a service could be the client");
    let name = world.only_client().await;
    world.announce(&name, "b").await;
    assert!(ask("/").await.field("alt-svc").starts_with("h2=\"b.example"));
    // An alternative counts for a second, after which a client asks the origin again.
    let begin = Instant::now();
    while world.executed_at("b").is_empty() {
        assert_eq!(ask("/").await.status, StatusCode::OK);
        assert!(begin.elapsed() < Duration::from_secs(20), "it doesn't follow");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_without_a_name_is_served_without_a_binding() {
    let world = World::start(&["a"], "").await;
    let got = world.client(None).get("/fields").await;
    assert_eq!((got.body.as_str(), got.field("alt-svc")), ("|127.0.0.1|https|", ""));
    assert_eq!(got.field("tessera-refused"), "");
    assert!(world.edge("a").table.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_cannot_name_itself_or_its_way() {
    let more = "[clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";
    let world = World::start(&["a"], more).await;
    let client = world.client(Some("drone.example"));
    let request = Request::get(format!("https://{ORIGIN}/fields"))
        .header("tessera-client", "dns%3Aking.example")
        .header("tessera-generation", "7")
        .header("tessera-state", "export")
        .header("x-forwarded-for", "192.0.2.1")
        .header("x-forwarded-proto", "http");
    let got = client.send(request, "").await;
    assert_eq!(got.body, "dns%3Adrone.example|127.0.0.1|https|");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_refuses_methods_clients_and_paths() {
    let more = "methods = [\"GET\"]\nadmit = [\"drone.example\"]\npath = \"/open\"\n\
                [clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";
    let world = World::start(&["a"], more).await;
    let (drone, other) = (world.client(Some("drone.example")), world.client(None));
    assert_eq!(drone.get("/open").await.status, StatusCode::OK);
    assert_eq!(drone.post("/open", "").await.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(drone.get("/shut").await.status, StatusCode::NOT_FOUND);
    assert_eq!(drone.get("/open/../shut").await.status, StatusCode::BAD_REQUEST);
    assert_eq!(other.get("/open").await.status, StatusCode::FORBIDDEN);
    assert_eq!(world.executed().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_of_the_pools_clients_is_no_proxy() {
    let more = "[clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";
    let world = World::start(&["a"], more).await;
    let peers = world.proxies["a"].peers;
    for name in [None, Some("drone.example")] {
        let mut config = world.client_config(name).unwrap();
        let file = SettingFile { setting: "the pool", path: &world.file("pool.pem") };
        config.verifier = Arc::new(trust::roots(file).unwrap());
        let connector = Connector::new(config.checked().unwrap());
        let socket = TcpStream::connect(peers).await.unwrap();
        let destination =
            tessera::Destination { server_name: "localhost".into(), ..Default::default() };
        let Ok(mut stream) = connector.connect(destination, socket).await else { continue };
        // The refusal may come after the client's own end of the handshake.
        let _ = stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer).await;
        assert!(read.is_err() && answer.is_empty(), "{read:?} {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_websocket_passes_at_the_owner_and_through_another_proxy() {
    let more = "[clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";
    let world = World::start(&["a", "b"], more).await;
    world.client(Some("drone.example")).get("/").await;
    for at in ["a", "b"] {
        let mut config = world.client_config(Some("drone.example")).unwrap();
        config.protocols = vec![b"http/1.1".to_vec()];
        let connector = Connector::new(config.checked().unwrap());
        let socket = TcpStream::connect(world.proxies[at].address).await.unwrap();
        let destination = tessera::Destination { server_name: ORIGIN.into(), ..Default::default() };
        let mut stream = connector.connect(destination, socket).await.unwrap();
        let request = format!(
            "GET /ws HTTP/1.1\r\nHost: {ORIGIN}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\nhello"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"hello") {
            assert!(
                stream.read_buf(&mut answer).await.unwrap() > 0,
                "{}",
                String::from_utf8_lossy(&answer)
            );
        }
        let text = String::from_utf8_lossy(&answer).to_lowercase();
        assert!(text.starts_with("http/1.1 101 "), "{at}: {text}");
        // RFC 6455 §1.3 has this answer to this key.
        assert!(
            text.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="),
            "{at}: {text}"
        );
        stream.write_all(b"again").await.unwrap();
        let mut again = [0; 5];
        stream.read_exact(&mut again).await.unwrap();
        assert_eq!(&again, b"again");
        stream.shutdown().await.unwrap();
        assert_eq!(stream.read_to_end(&mut Vec::new()).await.unwrap(), 0);
    }
    assert_eq!(world.executed_at("a").len(), 3);
}
