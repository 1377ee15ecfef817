//! `tessera serve --http`.

use std::time::Duration;

use serde_json::Value;
use tessera_test_peers::http::{curl, h2load};
use tessera_test_peers::{chromium, openssl};

use crate::document::DOCUMENT;
use crate::program::{P256, Pki, Server, stderr};

#[test]
fn serve_answers_http_requests_and_closes_the_connection() {
    let server = Server::start(&["--http"]);
    let ask = |request: &str| {
        let trust = ["--fingerprint", &server.fingerprint, "--keep-open"];
        let output = server.connect(&trust, request);
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let page = ask("GET / HTTP/1.0\r\n\r\n");
    assert!(page.starts_with("HTTP/1.0 200 OK\r\n"), "{page}");
    assert!(page.contains("Connection: close") && page.contains("X25519MLKEM768"), "{page}");
    let (head, body) = page.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");

    let json = ask("GET /facts.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let facts: Value = serde_json::from_str(json.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(DOCUMENT.check(&facts), Ok(()));
    assert_eq!(facts["suite"], "TLS_AES_128_GCM_SHA256");

    for (request, status) in [
        ("GET /nothing HTTP/1.0\r\n\r\n", "404"),
        ("POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", "405"),
        ("nonsense\r\n\r\n", "400"),
        (&format!("GET / HTTP/1.0\r\nX: {}", "x".repeat(20_000)), "431"),
    ] {
        let response = ask(request);
        // An HTTP/1.0 request gets an HTTP/1.0 response; anything malformed gets one of the highest version.
        let (version, rest) = response.split_once(' ').unwrap();
        assert!(version.starts_with("HTTP/1.") && rest.starts_with(status), "{response}");
    }
    let head = ask("HEAD / HTTP/1.0\r\n\r\n");
    assert!(head.ends_with("\r\n\r\n") && head.contains("Content-Length: "), "{head}");
    let two = ask("GET /facts.json HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nConnection: close\r\n\r\n");
    assert_eq!(two.matches("HTTP/1.1 200 OK").count(), 2);
    let new_keys = ask("GET /keyupdate HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n");
    assert_eq!(new_keys.matches(" 200 OK\r\n").count(), 2);
    // A client that asks to keep an HTTP/1.0 connection gets one answer about it (RFC 9112 §9.3).
    let kept = "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n";
    let kept = ask(&format!("{kept}{kept}GET / HTTP/1.0\r\n\r\n"));
    assert_eq!(kept.matches("HTTP/1.0 200 OK\r\n").count(), 3, "{kept}");
    assert_eq!(kept.matches("Connection: keep-alive\r\n").count(), 2, "{kept}");
    assert_eq!(kept.matches("Connection: close\r\n").count(), 1, "{kept}");
    assert_eq!(server.next()["error"], Value::Null);
}

#[test]
fn a_browser_shows_the_page_of_serve() {
    let server = Server::start(&["--http", "--alpn", "http/1.1"]);
    let dom = chromium::show(&format!("https://localhost:{}/", server.port()), 1280).dom;
    for text in ["Your connection", "full handshake, X25519MLKEM768", "http/1.1", "localhost"] {
        assert!(dom.contains(text), "{dom}");
    }
}

/// Starts a server with a certificate for localhost, and returns the URL of its pages.
fn certified(options: &[&str]) -> (Pki, Server, impl Fn(&str) -> String) {
    let pki = Pki::new(P256);
    let [certificate, key] = ["server.pem", "server.key"].map(|it| pki.path(it));
    let own = ["--http", "--certificate", &certificate, "--key", &key];
    let server = Server::start(&[&own, options].concat());
    let port = server.port().to_owned();
    (pki, server, move |path| format!("https://localhost:{port}{path}"))
}

#[test]
fn curl_gets_the_facts_in_each_version_of_http() {
    let (pki, server, url) = certified(&[]);
    let root = pki.path("root.pem");
    for (option, version, protocol) in
        [("--http2", "2", "h2"), ("--http1.1", "1.1", "http/1.1"), ("--http1.0", "1", "http/1.0")]
    {
        let page = url("/facts.json");
        let answer = curl(&[option, "--cacert", &root, "-w", "\n%{http_version}", &page]);
        let (facts, spoken) = answer.rsplit_once('\n').unwrap();
        assert_eq!(spoken, version);
        let facts: Value = serde_json::from_str(facts).unwrap();
        assert_eq!(facts["protocol"], protocol);
        let told = server.next();
        assert_eq!((&told["error"], &told["protocol"]), (&Value::Null, &protocol.into()), "{told}");
    }
}

#[test]
fn curl_gets_the_status_of_each_refusal() {
    let (pki, server, url) = certified(&[]);
    let root = pki.path("root.pem");
    let status = |arguments: &[&str]| {
        let own = ["--http2", "--cacert", &root, "-o", "/dev/null", "-w", "%{http_code}"];
        curl(&[&own, arguments].concat())
    };
    assert_eq!(status(&[&url("/nothing")]), "404");
    // A short body is read before the answer: curl 7.88 treats RST_STREAM with NO_ERROR in HTTP/2 (RFC 9113 §8.1) as a
    // failure. A long one is not read, and a client that is still sending it gets the answer.
    assert_eq!(status(&["--data", "abc", &url("/")]), "405");
    let much = pki.directory.write("much", vec![b'x'; 1 << 20]);
    let much = ["--http1.1", "--data-binary", &format!("@{much}"), &url("/")];
    assert_eq!(status(&much), "405");
    assert_eq!(status(&["-H", &format!("X: {}", "x".repeat(20_000)), &url("/")]), "431");
    assert_eq!(status(&["--head", &url("/")]), "200");
    // New keys of TLS, in the middle of HTTP/2.
    assert_eq!(status(&[&url("/keyupdate")]), "200");
    for _ in 0..6 {
        assert_eq!(server.next()["error"], Value::Null);
    }
}

#[test]
fn h2load_has_all_its_requests_answered() {
    let (_pki, server, url) = certified(&[]);
    for (options, protocol) in [(&["-m", "20"][..], "h2"), (&["--h1"], "http/1.1")] {
        let page = url("/facts.json");
        let report = h2load(&[options, &["-n", "3000", "-c", "8", &page]].concat());
        assert!(report.contains(&format!("Application protocol: {protocol}")), "{report}");
        assert!(report.contains("3000 succeeded, 0 failed, 0 errored, 0 timeout"), "{report}");
        assert!(report.contains("status codes: 3000 2xx"), "{report}");
        for _ in 0..8 {
            assert_eq!(server.next()["protocol"], protocol);
        }
    }
}

/// A slow client is not idle, but its time is limited: dripping doesn't hold a place.
#[test]
fn the_head_of_a_request_that_drips_ends_with_its_time() {
    let server = Server::start(&["--http", "--idle-timeout", "1s"]);
    let address = server.address.parse().unwrap();
    let mut client = openssl::s_client(address, &["-quiet"]);
    client.tell("GET / HTTP/1.1\r\n");
    let told = loop {
        // The connection ends with it; the server may report it a moment later.
        let _ = client.try_to_tell("X: y\r\n");
        if let Some(told) = server.next_within(Duration::from_millis(300)) {
            break told;
        }
    };
    assert_eq!(told["error"], "the request took too long", "{told}");
}

/// Neither a preface nor a request: the connection ends, and the next client is served.
#[test]
fn input_that_is_no_http_ends_only_its_own_connection() {
    let server = Server::start(&["--http"]);
    let address = server.address.parse().unwrap();
    for (alpn, text) in [("h2", "no preface at all, and longer than it\n"), ("http/1.1", "\0\n\n")]
    {
        let mut client = openssl::s_client(address, &["-quiet", "-alpn", alpn]);
        client.tell(text);
        client.ends();
        assert_eq!(server.next()["protocol"], alpn);
    }
    let mut client = openssl::s_client(address, &["-quiet"]);
    client.tell("GET /facts.json HTTP/1.1\r\nConnection: close\r\n\r\n").says("\"suite\"");
}
