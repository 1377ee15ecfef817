//! `tessera serve --http`.

use serde_json::Value;
use tessera_test_peers::chromium;

use crate::document::DOCUMENT;
use crate::program::{Server, stderr};

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
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
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
        assert!(response.starts_with(&format!("HTTP/1.1 {status}")), "{response}");
    }
    let head = ask("HEAD / HTTP/1.0\r\n\r\n");
    assert!(head.ends_with("\r\n\r\n"), "{head}");
    let two = ask("GET /facts.json HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nConnection: close\r\n\r\n");
    assert_eq!(two.matches("HTTP/1.1 200 OK").count(), 2);
    let new_keys = ask("GET /keyupdate HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n");
    assert_eq!(new_keys.matches("HTTP/1.1 200 OK").count(), 2);
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
