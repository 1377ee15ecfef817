//! Answers to an operator's program, which other clients can't prevent.

use std::net::SocketAddr;
use std::sync::Arc;

use tessera_proxy::admin::prometheus_client::metrics::counter::Counter;
use tessera_proxy::admin::prometheus_client::metrics::family::Family;
use tessera_proxy::admin::prometheus_client::metrics::gauge::Gauge;
use tessera_proxy::admin::prometheus_client::metrics::histogram::Histogram;
use tessera_proxy::admin::prometheus_client::registry::Unit;
use tessera_proxy::admin::{self, Answer, Health, Metrics, Routes};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::open_metrics;

/// Starts an admin server.
async fn start(health: &Health) -> SocketAddr {
    start_with(Metrics::new(), health).await
}

async fn start_with(metrics: Metrics, health: &Health) -> SocketAddr {
    start_with_routes(metrics, health, Routes::new()).await
}

async fn start_with_routes(metrics: Metrics, health: &Health, routes: Routes) -> SocketAddr {
    let listener = Arc::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
    let address = listener.local_addr().unwrap();
    let accept = move || {
        let listener = listener.clone();
        async move { listener.accept().await.unwrap().0 }
    };
    tokio::spawn(admin::serve(accept, metrics, health.clone(), routes));
    address
}

/// Sends these bytes; returns the answers until the connection ends.
async fn ask(address: SocketAddr, request: &[u8]) -> String {
    let mut socket = TcpStream::connect(address).await.unwrap();
    // A server that refuses needn't read everything.
    let _ = socket.write_all(request).await;
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").into_bytes()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paths_are_answered() {
    let health = Health::new();
    let address = start(&health).await;
    let (head, body) = split(&ask(address, &get("/metrics")).await);
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    let kind = "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n";
    assert!(head.contains(kind), "{head}");
    assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
    open_metrics::read(&body).unwrap();
    assert!(ask(address, &get("/healthz")).await.ends_with("\r\n\r\nok\n"));
    assert!(ask(address, &get("/healthz?verbose")).await.ends_with("\r\n\r\nok\n"));

    let listener = health.condition("listener postgres");
    let store = health.condition("etcd");
    store.fails("no connection");
    let (head, body) = split(&ask(address, &get("/readyz")).await);
    assert!(head.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{head}");
    assert_eq!(body, "etcd: no connection\nlistener postgres: not yet\n");
    listener.holds();
    drop(store);
    let (head, body) = split(&ask(address, &get("/readyz")).await);
    assert_eq!((head.starts_with("HTTP/1.1 200 OK\r\n"), body.as_str()), (true, "ready\n"));

    assert!(ask(address, &get("/")).await.starts_with("HTTP/1.1 404 Not Found\r\n"));
    assert!(ask(address, &get("/metrics/")).await.starts_with("HTTP/1.1 404 Not Found\r\n"));
}

fn split(answer: &str) -> (String, String) {
    let (head, body) = answer.split_once("\r\n\r\n").expect(answer);
    (format!("{head}\r\n"), body.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn head_is_answered_without_a_body_and_other_methods_are_not() {
    let address = start(&Health::new()).await;
    let head = "HEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\n".to_owned();
    // The second answer begins right after the head of the first.
    let answer = ask(address, &[head.as_bytes(), &get("/healthz")].concat()).await;
    let (first, rest) = answer.split_once("\r\n\r\n").unwrap();
    assert!(first.contains("Content-Length: 3\r\n"), "{first}");
    assert!(rest.starts_with("HTTP/1.1 200 OK\r\n"), "{rest}");
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE", "get"] {
        let request = format!("{method} /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
        let (head, _) = split(&ask(address, request.as_bytes()).await);
        assert!(head.starts_with("HTTP/1.1 405 Method Not Allowed\r\n"), "{head}");
        assert!(head.contains("Allow: GET, HEAD\r\n"), "{head}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pipelined_requests_are_answered_in_their_order() {
    let address = start(&Health::new()).await;
    let paths = ["/healthz", "/readyz", "/nowhere"];
    let mut requests = Vec::new();
    for path in paths.repeat(500) {
        requests.extend(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").bytes());
    }
    requests.extend(get("/healthz"));
    let mut socket = TcpStream::connect(address).await.unwrap();
    let (mut read, mut write) = socket.split();
    let mut answers = String::new();
    let (written, answered) =
        tokio::join!(write.write_all(&requests), read.read_to_string(&mut answers));
    written.unwrap();
    answered.unwrap();
    let statuses = answers.match_indices("HTTP/1.1 ").map(|(at, _)| &answers[at + 9..at + 12]);
    let expected = [["200", "200", "404"].repeat(500), vec!["200"]].concat();
    assert_eq!(statuses.collect::<Vec<_>>(), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_requests_are_refused_with_a_message() {
    let address = start(&Health::new()).await;
    let huge_field = format!("GET / HTTP/1.1\r\nHost: a\r\nA: {}\r\n\r\n", "a".repeat(1 << 20));
    let many_fields = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "a: b\r\n".repeat(100_000));
    let huge_target = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(1 << 20));
    for (request, status) in [
        (&b"\x16\x03\x01\x00\xf8\x01\x00\x00\xf4\x03\x03"[..], "400"),
        (b"\0\0\0\0\0\0\0\0", "400"),
        (b"GET /metrics\r\n\r\n", "400"),
        (b"GET /metrics HTTP/1.1\r\n\r\n", "400"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nGET /", "400"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400"),
        (huge_field.as_bytes(), "431"),
        (many_fields.as_bytes(), "431"),
        (huge_target.as_bytes(), "431"),
    ] {
        let answer = ask(address, request).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.contains("\r\nConnection: close\r\n"), "{answer}");
    }
    // Bytes after the end of a request don't affect its answer.
    let answer = ask(address, &[get("/healthz"), vec![b'x'; 1 << 20]].concat()).await;
    assert!(answer.ends_with("\r\n\r\nok\n"), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_silent_clients_keep_no_other_out_and_hold_few_places() {
    let address = start(&Health::new()).await;
    let mut silent = Vec::new();
    for number in 0..1000 {
        let mut socket = TcpStream::connect(address).await.unwrap();
        if number % 2 == 0 {
            // Half of them start a request.
            socket.write_all(b"GET /metr").await.unwrap();
        }
        silent.push(socket);
        if number % 100 == 99 {
            assert!(ask(address, &get("/healthz")).await.ends_with("ok\n"));
        }
    }
    // All but the allowed number were closed, the oldest first.
    for socket in &mut silent[..1000 - 64] {
        let mut rest = Vec::new();
        // A reset counts as an end: some had sent bytes.
        let _ = socket.read_to_end(&mut rest).await;
        assert_eq!(rest, b"");
    }
    assert!(ask(address, &get("/metrics")).await.ends_with("# EOF\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_never_read_their_answers_keep_no_other_out() {
    let metrics = Metrics::new();
    let family: Family<[(&'static str, String); 1], Counter> = Family::default();
    for number in 0..50 {
        drop(family.get_or_create(&[("tunnel", format!("{number:020000}"))]));
    }
    metrics.register("tunnel_connections", "Connections that were accepted", family);
    let address = start_with(metrics, &Health::new()).await;
    let mut deaf = Vec::new();
    for _ in 0..100 {
        let mut socket = TcpStream::connect(address).await.unwrap();
        // The answers exceed the kernel's buffers.
        let requests = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n".repeat(50);
        socket.write_all(requests.as_bytes()).await.unwrap();
        deaf.push(socket);
    }
    assert!(ask(address, &get("/healthz")).await.ends_with("ok\n"));
}

#[test]
fn metrics_of_all_types_are_valid_open_metrics_whatever_their_labels() {
    let metrics = Metrics::new();
    let health = Health::new();
    let odd = "line\nquote\" back\\slash {},= é";
    let _condition = health.condition(odd);
    metrics.register_collector(health.clone());
    type Labels = [(&'static str, String); 2];
    let family: Family<Labels, Counter> = Family::default();
    family.get_or_create(&[("tunnel", odd.to_owned()), ("role", "server".to_owned())]).inc_by(3);
    family.get_or_create(&[("tunnel", "b".to_owned()), ("role", String::new())]).inc();
    metrics.register("tunnel_connections", "Connections that were accepted", family);
    let seconds = Histogram::new([0.001, 0.1, 10.0]);
    seconds.observe(0.05);
    metrics.register_with_unit("tunnel_handshake", "Handshakes", Unit::Seconds, seconds);
    metrics.register_with_unit("tunnel_buffer", "Buffers", Unit::Bytes, Gauge::<i64>::default());
    let text = metrics.text();
    let families = open_metrics::read(&text).unwrap_or_else(|wrong| panic!("{wrong}\n{text}"));
    let connections = &families["tunnel_connections"];
    assert_eq!(connections.kind, "counter");
    let name =
        r#"tunnel_connections_total{role="server",tunnel="line\nquote\" back\\slash {},= é"}"#;
    assert_eq!(connections.samples[name], 3.0);
    assert_eq!(families["tunnel_handshake_seconds"].unit, "seconds");
    assert_eq!(families["tessera_condition_holds"].samples.values().copied().sum::<f64>(), 0.0);
    assert_eq!(families["tessera_ready"].samples["tessera_ready{}"], 0.0);
    // Linux's data about the process.
    let value = |name: &str| families[name].samples.values().copied().sum::<f64>();
    assert!(value("process_resident_memory_bytes") > 100_000.0);
    assert!(value("process_virtual_memory_bytes") > value("process_resident_memory_bytes"));
    assert!(
        value("process_open_fds") >= 3.0 && value("process_max_fds") >= value("process_open_fds")
    );
    assert!(value("process_start_time_seconds") > 1.7e9 && value("process_threads") >= 1.0);
    assert!(families.contains_key("process_cpu_seconds"));
}

#[test]
fn the_check_of_open_metrics_finds_what_is_wrong() {
    let family = "# HELP a A.\n# TYPE a counter\n";
    for wrong in [
        "".to_owned(),
        format!("{family}a_total 1\n"),
        format!("{family}a_total 1\n# EOF\n# EOF\n"),
        format!("{family}a 1\n# EOF\n"),
        format!("{family}b_total 1\n# EOF\n"),
        format!("{family}a_total -1\n# EOF\n"),
        format!("{family}a_total 1\na_total 2\n# EOF\n"),
        format!("{family}a_total{{b=\"\\x\"}} 1\n# EOF\n"),
        format!("{family}a_total{{b=\"c\nd\"}} 1\n# EOF\n"),
        format!("{family}a_total{{b=\"c\",b=\"d\"}} 1\n# EOF\n"),
        format!("{family}a_total{{b=\"c\",}} 1\n# EOF\n"),
        format!("{family}a_total 1\n{family}a_total 1\n# EOF\n"),
        format!("{family}# UNIT a seconds\na_total 1\n# EOF\n"),
        "a_total 1\n# EOF\n".to_owned(),
        "# TYPE a gauge\na 1\n# EOF\n".to_owned(),
        "# HELP a_total A.\n# TYPE a_total counter\na_total_total 1\n# EOF\n".to_owned(),
    ] {
        assert!(open_metrics::read(&wrong).is_err(), "{wrong}");
    }
    assert!(open_metrics::read(&format!("{family}a_total{{b=\"\\\\\\n\"}} 1\n# EOF\n")).is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_product_answers_further_paths() {
    let routes = Routes::new()
        .get("/peers/{}", |name| match name {
            "a" => Answer::json("{}"),
            name => Answer::not_found(format!("no {name}")),
        })
        .post("/peers/{}/drain", |name| Answer::accepted(format!("{name} drains")));
    let address = start_with_routes(Metrics::new(), &Health::new(), routes).await;
    let ask = async |head: &str| {
        let request = format!("{head} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        let answer = ask(address, request.as_bytes()).await;
        let (head, body) = split(&answer);
        (head.lines().next().unwrap_or_default().to_owned(), head.to_owned(), body.to_owned())
    };
    let (status, head, body) = ask("GET /peers/a").await;
    assert_eq!((&*status, &*body), ("HTTP/1.1 200 OK", "{}"));
    assert!(head.contains("Content-Type: application/json\r\n"), "{head}");
    let (status, _, body) = ask("GET /peers/b").await;
    assert_eq!((&*status, &*body), ("HTTP/1.1 404 Not Found", "no b\n"));
    let (status, _, body) = ask("POST /peers/a/drain").await;
    assert_eq!((&*status, &*body), ("HTTP/1.1 202 Accepted", "a drains\n"));
    let (status, head, _) = ask("GET /peers/a/drain").await;
    assert_eq!(status, "HTTP/1.1 405 Method Not Allowed");
    assert!(head.contains("Allow: POST\r\n"), "{head}");
    for path in ["/peers/a", "/metrics", "/elsewhere"] {
        let (status, head, _) = ask(&format!("POST {path}")).await;
        assert_eq!(status, "HTTP/1.1 405 Method Not Allowed", "{path}");
        assert!(head.contains("Allow: GET, HEAD\r\n"), "{head}");
    }
    // A page in a browser on this machine.
    let page = b"POST /peers/a/drain HTTP/1.1\r\nHost: a\r\nOrigin: https://x.example\r\n\r\n";
    let (head, _) = split(&self::ask(address, page).await);
    assert!(head.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{head}");
}
