//! Instances and proxies that don't keep to their part in a move.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{HeaderValue, Method, Request, StatusCode};
use tessera_bindings::{ClientName, Fence, Generation};
use tessera_kit::clock::unix;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::deadline::Deadline;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::world::World;
use crate::demo::{ORIGIN, proxy};
use crate::edge::LAST_CHANGES;
use crate::fields::{self, STATE, STATE_VERSION};
use crate::metrics::MoveStep;
use crate::peers::ForwardError;
use crate::state::{ClientState, ServiceState};

const CERTIFICATES: &str = "[clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";

/// A pool of one proxy, with a second service whose instance answers everything with this.
async fn with_instance(answer: String, more: &str) -> (World, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let (answer, count) = (answer.clone(), count.clone());
            tokio::spawn(async move {
                let mut request = Vec::new();
                while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                    if socket.read_buf(&mut request).await.unwrap_or(0) == 0 {
                        return;
                    }
                }
                count.fetch_add(1, Ordering::Relaxed);
                let _ = socket.write_all(answer.as_bytes()).await;
            });
        }
    });
    let more = format!(
        "[service.other]\npath = \"/other\"\ninstances = [\"{address}\"]\nstate = \"/state\"\n\
         {}{CERTIFICATES}",
        more.replace("ADDRESS", &address.to_string())
    );
    (World::start(&["a"], more.leak()).await, asked)
}

fn answer(head: &str, len: usize) -> String {
    let close = "connection: close\r\n";
    format!("HTTP/1.1 {head}\r\n{close}content-length: {len}\r\n\r\n{}", "x".repeat(len))
}

/// Asks the proxy for a client's state, as the next one does.
async fn export(world: &World) -> StatusCode {
    world.client(Some("drone.example")).get("/").await;
    let name = world.only_client().await;
    let generation = world.table.binding(&name).unwrap().generation;
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = format!("https://{ORIGIN}/").parse().unwrap();
    fields::name_to_proxy(request.headers_mut(), &name, generation);
    request.headers_mut().insert(STATE, HeaderValue::from_static("export"));
    let response = world.edge("a").answer_peer(request).await;
    assert_eq!(response.headers().contains_key(STATE_VERSION), response.status().is_success());
    response.status()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_that_fails_is_not_taken_for_no_state() {
    let longest = ClientState::LONGEST;
    for (answer, exported) in [
        (answer("200 OK\r\ntessera-state-version: 7", longest), 200),
        (answer("204 No Content", 0), 200),
        (answer("404 Not Found", 5), 200),
        (answer("200 OK\r\ntessera-state-version: 7", longest + 1), 502),
        (answer("200 OK", 5), 502),
        (answer("200 OK\r\ntessera-state-version: -7", 5), 502),
        (answer("500 Internal Server Error", 5), 502),
        (answer("302 Found\r\nlocation: http://x/", 5), 502),
        (String::new(), 502),
    ] {
        let (world, _) = with_instance(answer.clone(), "").await;
        assert_eq!(export(&world).await.as_u16(), exported, "{}", &answer[..answer.len().min(80)]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn state_that_is_too_long_at_all_services_together_is_not_exported() {
    let more =
        "[service.third]\npath = \"/third\"\ninstances = [\"ADDRESS\"]\nstate = \"/state\"\n";
    for (len, exported) in [(ClientState::LONGEST / 2, 200), (ClientState::LONGEST / 2 + 1, 502)] {
        let answer = answer("200 OK\r\ntessera-state-version: 7", len);
        let (world, _) = with_instance(answer, more).await;
        assert_eq!(export(&world).await.as_u16(), exported, "{len}");
    }
}

/// An instance that takes connections, and answers nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_that_takes_too_long_is_refused_before_the_next_proxy_gives_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let more = format!(
        "[service.other]\npath = \"/other\"\ninstances = [\"{}\"]\nstate = \"/state\"\n{CERTIFICATES}",
        listener.local_addr().unwrap()
    );
    let world = World::start(&["a"], more.leak()).await;
    let asked = tokio::time::timeout(LAST_CHANGES, export(&world)).await;
    assert_eq!(asked.unwrap().as_u16(), 502);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_an_instance_fences_off_may_be_sent_again() {
    for (head, expected) in [
        ("412 Precondition Failed\r\ntessera-fence: 27", StatusCode::SERVICE_UNAVAILABLE),
        ("412 Precondition Failed", StatusCode::PRECONDITION_FAILED),
        ("409 Conflict\r\ntessera-fence: 27", StatusCode::CONFLICT),
    ] {
        let (world, asked) = with_instance(answer(head, 0), "").await;
        let got = world.client(Some("drone.example")).post("/other", "x").await;
        assert_eq!((got.status, got.field("tessera-fence")), (expected, ""), "{head}");
        let is_refused = expected == StatusCode::SERVICE_UNAVAILABLE;
        assert_eq!(got.field("retry-after") == "1", is_refused);
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_an_instance_may_have_executed_is_sent_once() {
    let (world, asked) = with_instance(String::new(), "").await;
    let client = world.client(Some("drone.example"));
    assert_eq!(client.post("/other", "x").await.status, StatusCode::BAD_GATEWAY);
    assert_eq!(client.post("/other", "").await.status, StatusCode::BAD_GATEWAY);
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_that_an_instance_refuses_prepares_nothing() {
    let drone = ClientName::new("dns:drone.example").unwrap();
    for (answer, service, is_imported) in [
        (answer("204 No Content\r\ntessera-fence: 26", 0), "other", true),
        // It doesn't compare, or something else.
        (answer("204 No Content", 0), "other", false),
        (answer("204 No Content\r\ntessera-fence: 25", 0), "other", false),
        // It has a later state, as an instance has that serves the client's owner too.
        (answer("412 Precondition Failed\r\ntessera-fence: 27", 0), "other", true),
        (answer("412 Precondition Failed", 0), "other", false),
        (answer("409 Conflict", 0), "other", false),
        (answer("302 Found\r\nlocation: http://x/", 0), "other", false),
        (answer("204 No Content", 0), "web", false),
        (answer("204 No Content", 0), "unknown", false),
    ] {
        let (world, _) = with_instance(answer, "").await;
        let a = world.edge("a");
        let data = vec![7; 9].into();
        let state = ClientState(vec![ServiceState { service: service.into(), version: 7, data }]);
        let sealed = state.seal(&a.state_keys, &drone, Generation(7), unix()).unwrap();
        let import = async |generation| {
            let fence = Fence::of_first_import(Generation(7));
            let deadline = Deadline::after(Duration::from_secs(20));
            a.import(&drone, Generation(generation), fence, &sealed, deadline).await
        };
        let imported = import(7).await;
        assert_eq!(imported.is_ok(), is_imported, "{service}: {imported:?}");
        assert!(import(8).await.is_err(), "another move's");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_that_does_not_forget_is_counted() {
    let drone = ClientName::new("dns:drone.example").unwrap();
    for (head, has_state, not_forgotten) in [
        ("204 No Content\r\ntessera-fence: 26", false, 0),
        ("404 Not Found\r\ntessera-fence: 26", false, 0),
        // It served the proxy that is gone.
        ("412 Precondition Failed\r\ntessera-fence: 27", true, 0),
        // It doesn't compare, so that the request could take effect later.
        ("204 No Content", false, 1),
        ("204 No Content\r\ntessera-fence: 25", false, 1),
        ("404 Not Found", false, 1),
        ("405 Method Not Allowed", false, 1),
        ("412 Precondition Failed", false, 1),
    ] {
        let (world, asked) = with_instance(answer(head, 0), "").await;
        let a = world.edge("a");
        let deadline = Deadline::after(Duration::from_secs(20));
        assert_eq!(a.forget(&drone, Fence(26), deadline).await, has_state, "{head}");
        assert_eq!(a.metrics.steps(MoveStep::NotForgotten), not_forgotten, "{head}");
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_does_not_own_a_client_is_taken_at_its_word() {
    let world = World::start(&["b", "a"], CERTIFICATES).await;
    let drone = ClientName::new("dns:drone.example").unwrap();
    let to = world.table.proxy(&proxy("a")).unwrap().forward;
    let mut request = Request::new(Body::empty());
    *request.method_mut() = Method::POST;
    *request.uri_mut() = format!("https://{ORIGIN}/").parse().unwrap();
    fields::name_to_proxy(request.headers_mut(), &drone, Generation(7));
    let deadline = Deadline::after(Duration::from_secs(20));
    let forwarded = world.edge("b").peers.forward(&to, request, deadline).await;
    assert!(matches!(forwarded, Err(ForwardError::Refused)));
    assert!(world.executed().is_empty());
}
