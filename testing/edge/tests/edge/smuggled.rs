//! Requests that two parsers may read in two ways. Each is refused, or reaches the service with one meaning: the bytes that it
//! receives show which.

use std::time::Duration;

use tessera::Destination;
use tessera_edge_tests::{ORIGIN, Pool, PoolSettings, RawBackend, RecordedRequest};
use tessera_tokio::{ClientStream, Connector};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::PROGRAM;

const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: www.example\r\n\r\n";

/// It follows each attempt on its connection.
const PROBE: &str = "GET /probe HTTP/1.1\r\nHost: www.example\r\nConnection: close\r\n\r\n";

const SHORT_LIMITS: &str =
    "[limits]\nhead = \"1s\"\nbody-idle = \"1s\"\nheader-bytes = \"16KiB\"\n";

struct Place {
    pool: Pool,
    backend: RawBackend,
    connector: Connector,
}

impl Place {
    async fn start() -> Self {
        let backend = RawBackend::start().await;
        let instances = format!("\"{}\"", backend.address);
        let pool = Pool::start(PoolSettings {
            proxies: &["a"],
            instances: Some(&instances),
            more: SHORT_LIMITS,
            ..PoolSettings::of(PROGRAM)
        })
        .await;
        let mut config = pool.client_config(Some("drone.example"));
        config.protocols = vec![b"http/1.1".to_vec()];
        let connector = Connector::new(config.checked().unwrap());
        Self { pool, backend, connector }
    }

    async fn connect(&self) -> ClientStream<TcpStream> {
        let socket = TcpStream::connect(self.pool.addresses[0]).await.unwrap();
        let destination = Destination { server_name: ORIGIN.into(), ..Destination::default() };
        self.connector.connect(destination, socket).await.unwrap()
    }

    /// Sends bytes, and then the probe; returns the statuses of the answers, and what the service received.
    async fn attempt(&self, bytes: &str) -> (Vec<u16>, Vec<RecordedRequest>) {
        let mut stream = self.connect().await;
        let all = [bytes.as_bytes(), PROBE.as_bytes()].concat();
        // It may be refused before it was sent.
        let _ = stream.write_all(&all).await;
        let answer = read(&mut stream).await;
        let received = self.backend.take();
        for request in &received {
            // Whatever the client claims, it is who it is, once.
            assert_eq!(request.values("tessera-client"), ["dns%3Adrone.example"], "{request:?}");
            assert_eq!(request.values("x-forwarded-for"), ["127.0.0.1"], "{request:?}");
            assert_eq!(request.values("via").last(), Some(&"1.1 tessera"), "{request:?}");
            assert_eq!(request.values("host"), [ORIGIN], "{request:?}");
            assert!(!request.head.contains("king"), "{request:?}");
            let framing =
                ["content-length", "transfer-encoding"].map(|it| request.values(it).len());
            assert!(framing.iter().sum::<usize>() <= 1, "{request:?}");
            for name in ["connection", "upgrade", "keep-alive", "te", "trailer", "proxy-connection"]
            {
                assert_eq!(request.values(name), [] as [&str; 0], "{request:?}");
            }
            let lines = ["GET /own", "POST /own", "GET /probe HTTP/1.1"];
            assert!(lines.iter().any(|it| request.line().starts_with(it)), "{request:?}");
        }
        (statuses(&answer), received)
    }

    /// It is refused with one of these statuses, and no part of it passes.
    async fn is_refused(&self, name: &str, bytes: &str, expected: &[u16]) {
        let (statuses, received) = self.attempt(bytes).await;
        let status = statuses.first().copied().unwrap_or_default();
        assert!(expected.contains(&status), "{name}: {statuses:?}");
        // A refusal may leave the connection open for the probe.
        let is_probe = received.iter().all(|it| it.line() == "GET /probe HTTP/1.1");
        assert!(is_probe && received.len() < statuses.len(), "{name}: {received:?}");
    }

    /// It passes as one request. Returns that, as the service received it.
    async fn passes(&self, name: &str, bytes: &str) -> RecordedRequest {
        let (statuses, mut received) = self.attempt(bytes).await;
        assert_eq!(statuses.iter().find(|it| **it != 100), Some(&200), "{name}: {received:?}");
        // Its connection may end after it.
        let is_probe = received.iter().skip(1).all(|it| it.line() == "GET /probe HTTP/1.1");
        assert!(is_probe && (1..=2).contains(&received.len()), "{name}: {received:?}");
        received.remove(0)
    }
}

/// Reads to the end of the connection, which a reset is too.
async fn read(stream: &mut ClientStream<TcpStream>) -> String {
    let mut answer = Vec::new();
    let read = timeout(Duration::from_secs(20), stream.read_to_end(&mut answer)).await;
    assert!(read.is_ok(), "no end: {}", String::from_utf8_lossy(&answer));
    String::from_utf8_lossy(&answer).into_owned()
}

fn statuses(answer: &str) -> Vec<u16> {
    // A body ends where it ends, without a line's end.
    let heads = answer.split("HTTP/1.").skip(1);
    heads.map(|head| head[2..5].parse().unwrap()).collect()
}

fn post(fields: &str, body: &str) -> String {
    format!("POST /own HTTP/1.1\r\nHost: www.example\r\n{fields}\r\n{body}")
}

fn get(fields: &str) -> String {
    format!("GET /own HTTP/1.1\r\nHost: www.example\r\n{fields}\r\n")
}

fn target(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: www.example\r\n\r\n")
}

fn host(host: &str) -> String {
    format!("GET /own HTTP/1.1\r\n{host}\r\n\r\n")
}

/// A body of five bytes, chunked.
const CHUNKED: &str = "5\r\n12345\r\n0\r\n\r\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_without_one_certain_end_is_refused() {
    let place = Place::start().await;
    let len = SMUGGLED.len();
    for (name, fields) in [
        ("two lengths", format!("Content-Length: 0\r\nContent-Length: {len}\r\n")),
        ("two lengths in one field", format!("Content-Length: 0, {len}\r\n")),
        ("a negative length", "Content-Length: -1\r\n".into()),
        ("a length with a sign", format!("Content-Length: +{len}\r\n")),
        ("a length in hexadecimal", "Content-Length: 0x10\r\n".into()),
        ("a length beyond 64 bits", "Content-Length: 18446744073709551617\r\n".into()),
        ("a space before the colon", format!("Content-Length : {len}\r\n")),
        ("an unknown coding", "Transfer-Encoding: xchunked\r\n".into()),
        ("chunked, but not last", "Transfer-Encoding: chunked, identity\r\n".into()),
        ("a folded coding", "Content-Length: 0\r\nTransfer-Encoding:\r\n chunked\r\n".into()),
        ("a coding after a control character", "Transfer-Encoding: \x0bchunked\r\n".into()),
    ] {
        place.is_refused(name, &post(&fields, SMUGGLED), &[400]).await;
    }
    for (name, fields) in [
        ("a coding twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
        ("a coding twice in one field", "Transfer-Encoding: chunked, chunked\r\n"),
        ("a coding after nothing", "Transfer-Encoding: , chunked\r\n"),
        ("two codings", "Transfer-Encoding: gzip, chunked\r\n"),
    ] {
        place.is_refused(name, &post(fields, CHUNKED), &[501]).await;
    }
    let chunked = "Transfer-Encoding: chunked\r\n";
    for (name, body) in [
        ("an extension that ends with LF", "5;\n12345\r\n0\r\n\r\n"),
        ("chunks that end with LF", "5\n12345\n0\n\n"),
        ("a chunk beyond 64 bits", "FFFFFFFFFFFFFFFFF\r\n12345\r\n0\r\n\r\n"),
        ("a chunk that is longer than announced", "5\r\n12345xx0\r\n\r\n"),
        ("a chunk with 0x", "0x5\r\n12345\r\n0\r\n\r\n"),
    ] {
        place.is_refused(name, &post(chunked, body), &[400]).await;
    }
    let old = format!("POST /own HTTP/1.0\r\nHost: www.example\r\n{chunked}\r\n{CHUNKED}");
    place.is_refused("chunks in HTTP/1.0", &old, &[400]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_passes_as_one_whatever_its_framing() {
    let place = Place::start().await;
    let len = SMUGGLED.len();
    let both = format!("Content-Length: {len}\r\nTransfer-Encoding: chunked\r\n");
    let chunked = "Transfer-Encoding: chunked\r\n";
    for (name, fields, body) in [
        ("a length twice", "Content-Length: 5\r\nContent-Length: 5\r\n", "12345"),
        // RFC 9112 §6.1: the coding counts, and the connection ends.
        ("a length and a coding", &both, CHUNKED),
        ("a coding and a length", "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", CHUNKED),
        ("an extension", chunked, "5;x=\"y\"\r\n12345\r\n0\r\n\r\n"),
        ("a space behind a length", chunked, "5 \r\n12345\r\n0\r\n\r\n"),
        (
            "trailers with claims",
            "Transfer-Encoding: chunked\r\nTrailer: tessera-client, x-forwarded-for\r\n",
            "5\r\n12345\r\n0\r\ntessera-client: king\r\nx-forwarded-for: king\r\n\r\n",
        ),
        ("an expectation", "Expect: 100-continue\r\nContent-Length: 5\r\n", "12345"),
    ] {
        let received = place.passes(name, &post(fields, body)).await;
        let expected = match received.values("transfer-encoding")[..] {
            [] => "12345",
            _ => CHUNKED,
        };
        assert_eq!(String::from_utf8_lossy(&received.body), expected, "{name}");
    }
    let with_body = get(&format!("Content-Length: {len}\r\n")) + SMUGGLED;
    let received = place.passes("a GET with a body", &with_body).await;
    assert_eq!(received.body, SMUGGLED.as_bytes());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_that_can_be_read_in_two_ways_is_refused() {
    let place = Place::start().await;
    let many = (0..2000).map(|number| format!("x-{number}: 1\r\n")).collect::<String>();
    for (name, bytes, statuses) in [
        ("a folded field", get("x-a: 1\r\n two\r\n"), 400),
        ("a folded first field", get(" x-a: 1\r\n"), 400),
        ("a CR alone", get("x-a: 1\rtessera-client: king\r\n"), 400),
        ("a NUL", get("x-a: 1\x002\r\n"), 400),
        ("a name with a space", get("tessera-client : king\r\n"), 400),
        ("an empty name", get(": king\r\n"), 400),
        ("a name that isn't ASCII", get("x-\u{e9}: king\r\n"), 400),
        ("a target elsewhere", target("https://king.example/own"), 400),
        ("a target with a user", target("https://king@www.example/own"), 400),
        ("a target of another scheme", target("ftp://www.example/own"), 400),
        ("a target with a space", target("/own king"), 400),
        ("an authority without CONNECT", target("www.example:443"), 400),
        ("an asterisk without OPTIONS", target("*"), 400),
        ("a target with dots", target("/own/..;/king"), 400),
        ("a target with hidden dots", target("/own/%2e%2e/king"), 400),
        ("another client's state", target("/%73tate/dns%3Aking.example"), 404),
        ("a host with a user", host("Host: king@www.example"), 400),
        ("two hosts", host("Host: www.example\r\nHost: king.example"), 400),
        ("two hosts in one field", host("Host: www.example, king.example"), 400),
        ("a host with a path", host("Host: www.example/king"), 400),
        ("no host", host("x-a: 1"), 400),
        ("a host of the connection alone", get("Connection: host\r\n"), 400),
        ("HTTP/1.0 without a host", "GET /own HTTP/1.0\r\n\r\n".into(), 400),
        ("HTTP/0.9", "GET /own\r\n".into(), 400),
        ("HTTP/1.2", "GET /own HTTP/1.2\r\nHost: www.example\r\n\r\n".into(), 400),
        ("HTTP/2.0 in HTTP/1.1", "GET /own HTTP/2.0\r\nHost: www.example\r\n\r\n".into(), 400),
        ("tabs", "GET\t/own\tHTTP/1.1\r\nHost: www.example\r\n\r\n".into(), 400),
        ("CONNECT", "CONNECT www.example:443 HTTP/1.1\r\nHost: www.example\r\n\r\n".into(), 405),
        ("TRACE", "TRACE /own HTTP/1.1\r\nHost: www.example\r\n\r\n".into(), 405),
        ("a long field", get(&format!("x-a: {}\r\n", "x".repeat(100_000))), 431),
        ("a long target", target(&"/own".repeat(25_000)), 431),
        ("many fields", get(&many), 431),
    ] {
        place.is_refused(name, &bytes, &[statuses]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_client_claims_does_not_reach_the_service() {
    let place = Place::start().await;
    for (name, bytes) in [
        (
            "fields of ours",
            get("tessera-client: king\r\ntessera-state: king\r\nforwarded: for=king\r\n"),
        ),
        (
            "with underscores",
            get("tessera_client: king\r\nx_forwarded_for: king\r\nTessera_Generation: king\r\n"),
        ),
        ("fields named by Connection", get("Connection: tessera-client, x-forwarded-for, via\r\n")),
        (
            "h2c",
            get("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: king\r\n"),
        ),
        ("an upgrade", get("Connection: Upgrade\r\nUpgrade: king\r\n")),
        ("an upgrade of no connection", get("Upgrade: king\r\n")),
        (
            "lines that end with LF",
            "GET /own HTTP/1.1\nHost: www.example\ntessera-client: king\n\n".into(),
        ),
        ("a target in absolute form", target("https://www.example/own")),
        ("a fragment", target("/own#king")),
    ] {
        let received = place.passes(name, &bytes).await;
        assert_eq!(received.line(), "GET /own HTTP/1.1", "{name}");
        let [host, proto] =
            ["host", "proto"].map(|it| received.values(&format!("x-forwarded-{it}")));
        assert_eq!((host, proto), (vec![ORIGIN], vec!["https"]), "{name}");
        assert_eq!(received.body, b"", "{name}");
    }
    // The length next to a coding is no length (RFC 9112 §6.3), and a coding that isn't decoded no content.
    let mut stream = place.connect().await;
    stream.write_all(target("/own/both").as_bytes()).await.unwrap();
    stream.write_all(PROBE.as_bytes()).await.unwrap();
    let answer = read(&mut stream).await;
    assert_eq!(statuses(&answer), [200, 200], "{answer}");
    assert!(answer.contains("\r\n8\r\nanswered\r\n0\r\n\r\n"), "{answer}");
    assert_eq!(place.backend.take().len(), 2);
    // RFC 9110 §2.5: its version isn't the service's.
    let mut stream = place.connect().await;
    stream.write_all((target("/own/old") + PROBE).as_bytes()).await.unwrap();
    let answer = read(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 200") && statuses(&answer).len() == 2, "{answer}");
    assert_eq!(place.backend.take().len(), 2);
    let (statuses_of_codings, _) = place.attempt(&target("/own/codings")).await;
    assert_eq!(statuses_of_codings.first(), Some(&502));
    // Its answer is that of the service, behind its early hints.
    let (statuses, received) = place.attempt(&target("/own/hints")).await;
    assert_eq!((statuses, received.len()), (vec![200, 200], 2));
}

/// The service answers as if the client had not asked for another protocol: what follows may be of that, and is no request
/// (RFC 9931).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_passes_behind_an_upgrade_that_the_service_ignores() {
    let place = Place::start().await;
    let fields = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                  Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let mut stream = place.connect().await;
    stream.write_all((get(fields) + SMUGGLED).as_bytes()).await.unwrap();
    let answer = read(&mut stream).await;
    let received = place.backend.take();
    assert_eq!((statuses(&answer), received.len()), (vec![200], 1), "{answer} {received:?}");
    assert_eq!(received[0].line(), "GET /own HTTP/1.1");
    assert_ne!(received[0].values("sec-websocket-key"), ["dGhlIHNhbXBsZSBub25jZQ=="]);
    assert_eq!(received[0].values("tessera-client"), ["dns%3Adrone.example"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_and_incomplete_requests_end_and_reach_no_service() {
    let place = Place::start().await;
    let head = get("x-a: 1\r\n");
    let body = post("Content-Length: 1000\r\n", "12345");
    let chunked = post("Transfer-Encoding: chunked\r\n", "5\r\n12345\r\n");
    for (name, bytes) in
        [("a head", &head[..head.len() - 3]), ("a body", &body), ("chunks", &chunked)]
    {
        let mut stream = place.connect().await;
        stream.write_all(bytes.as_bytes()).await.unwrap();
        // The next byte never comes: the proxy ends the wait.
        let answer = read(&mut stream).await;
        let is_refused = matches!(statuses(&answer)[..], [] | [400 | 408]);
        assert!(is_refused, "{name}: {answer}");
        // A body that ends early is no request.
        assert_eq!(place.backend.take(), [], "{name}");
    }
    let mut stream = place.connect().await;
    // A byte at a time: the whole head has its time.
    let dripping = async {
        for byte in get("x-a: 1\r\n").bytes().cycle().take(10_000) {
            if stream.write_all(&[byte]).await.is_err() {
                return;
            }
            sleep(Duration::from_millis(100)).await;
        }
        panic!("it goes on for ever");
    };
    timeout(Duration::from_secs(20), dripping).await.unwrap();
}
