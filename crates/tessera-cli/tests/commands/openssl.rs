//! OpenSSL's own programs at the other end.

use std::time::Duration;
use tessera_test_peers::{Directory, Process, openssl};

use crate::program::{P256, Pki, RSA, Server, connect, facts, stderr};

const IDENTITY: &str = "client1";
const KEY: &str = "000102030405060708090a0b0c0d0e0f";

pub(crate) fn s_client(server: &Server, options: &[&str]) -> String {
    let address = server.address.parse().unwrap();
    let mut client = openssl::s_client(address, &[&["-tls1_3", "-ign_eof"], options].concat());
    client.tell("GET / HTTP/1.0\r\n\r\n").end_input().ends();
    client.stdout()
}

#[test]
fn s_client_gets_the_page_of_serve() {
    for kind in [P256, RSA] {
        let pki = Pki::new(kind);
        let [root, certificate, key] =
            ["root.pem", "server.pem", "server.key"].map(|it| pki.path(it));
        let server = Server::start(&["--http", "--certificate", &certificate, "--key", &key]);
        let page = s_client(&server, &["-CAfile", &root, "-verify_return_error"]);
        assert!(page.contains("Verify return code: 0") && page.contains("200 OK"), "{page}");
        assert_eq!(server.next()["error"], serde_json::Value::Null);
    }
}

#[test]
fn s_client_connects_to_serve_with_a_psk() {
    let named = format!("{IDENTITY}:{KEY}");
    for alone in [false, true] {
        let mut options = vec!["--http", "--psk", &named];
        options.extend(alone.then_some("--psk-only-without-forward-secrecy"));
        let server = Server::start(&options);
        let mut options = vec!["-psk", KEY, "-psk_identity", IDENTITY];
        options.extend(alone.then_some("-allow_no_dhe_kex"));
        let page = s_client(&server, &options);
        assert!(page.contains("200 OK"), "{page}");
        let told = server.next();
        assert_eq!((&told["psk"], &told["external_psk"]), (&"external".into(), &IDENTITY.into()));
    }
}

#[test]
fn s_client_resumes_a_session_of_serve() {
    let server = Server::start(&["--http"]);
    let directory = Directory::new();
    let session = directory.path("session");
    s_client(&server, &["-sess_out", &session]);
    let page = s_client(&server, &["-sess_in", &session]);
    assert!(page.contains("Reused, TLSv1.3"), "{page}");
    server.next();
    assert_eq!(server.next()["psk"], "resumption");
}

/// Starts `openssl s_server`, which answers each line in reverse.
pub(crate) fn s_server(pki: &Pki, options: &[&str]) -> (Process, String) {
    let (certificate, key) = (pki.path("server.pem"), pki.path("server.key"));
    let own = ["-rev", "-cert", &certificate, "-key", &key];
    let (process, address) = openssl::s_server(&[&own, options].concat());
    (process, address.to_string())
}

#[test]
fn connect_gets_an_answer_of_s_server_and_resumes() {
    let pki = Pki::new(P256);
    let root = pki.path("root.pem");
    let (_server, address) = s_server(&pki, &[]);
    let directory = Directory::new();
    let sessions = directory.path("sessions");
    let options = [&address, "--ca", &root, "--server-name", "localhost", "--sessions", &sessions];
    let output = connect(&options, "abc\n");
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(output.stdout, b"cba\n");
    let told = facts(&connect(&[&options[..], &["--json", "-"]].concat(), "abc\n"));
    assert_eq!(told["resumed"], true);
}

#[test]
fn connect_reaches_s_server_with_a_psk() {
    let pki = Pki::new(P256);
    let (_server, address) = s_server(&pki, &["-nocert", "-psk", KEY, "-psk_identity", IDENTITY]);
    let named = format!("{IDENTITY}:{KEY}");
    let told = facts(&connect(&[&address, "--psk", &named, "--json", "-"], "abc\n"));
    assert_eq!(told["psk"], "external");
    // It continues after a client that can't be served.
    std::thread::sleep(Duration::from_millis(10));
    let wrong = format!("{IDENTITY}:{}", "00".repeat(16));
    assert_eq!(connect(&[&address, "--psk", &wrong], "").status.code(), Some(1));
}
