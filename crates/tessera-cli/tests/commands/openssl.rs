//! OpenSSL's own programs at the other end.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::program::{Directory, P256, Pki, RSA, Server, connect, facts, run, stderr};

const IDENTITY: &str = "client1";
const KEY: &str = "000102030405060708090a0b0c0d0e0f";

fn s_client(server: &Server, options: &[&str]) -> String {
    let mut command = Command::new("openssl");
    command.args(["s_client", "-tls1_3", "-ign_eof", "-connect", &server.address]).args(options);
    let output = run(&mut command, "GET / HTTP/1.0\r\n\r\n");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn s_client_gets_the_page() {
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
fn s_client_with_a_psk() {
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
fn s_client_comes_back() {
    let server = Server::start(&["--http"]);
    let directory = Directory::new();
    let session = directory.path("session");
    s_client(&server, &["-sess_out", &session]);
    let page = s_client(&server, &["-sess_in", &session]);
    assert!(page.contains("Reused, TLSv1.3"), "{page}");
    server.next();
    assert_eq!(server.next()["psk"], "resumption");
}

/// `openssl s_server` on a free port, ended with this value.
struct SServer {
    child: Child,
    address: String,
}

impl SServer {
    fn start(pki: &Pki, options: &[&str]) -> Self {
        let (certificate, key) = (pki.path("server.pem"), pki.path("server.key"));
        let mut child = Command::new("openssl")
            .args(["s_server", "-accept", "127.0.0.1:0", "-rev"])
            .args(["-cert", &certificate, "-key", &key])
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("ACCEPT") {
            line.clear();
            assert!(stdout.read_line(&mut line).unwrap() > 0, "s_server ended");
        }
        let address = line.split_whitespace().nth(1).unwrap().to_owned();
        std::thread::spawn(move || stdout.read_to_end(&mut Vec::new()));
        Self { child, address }
    }
}

impl Drop for SServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn s_server_answers() {
    let pki = Pki::new(P256);
    let root = pki.path("root.pem");
    let server = SServer::start(&pki, &[]);
    let directory = Directory::new();
    let sessions = directory.path("sessions");
    let options =
        [&server.address, "--ca", &root, "--server-name", "localhost", "--sessions", &sessions];
    let output = connect(&options, "abc\n");
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(output.stdout, b"cba\n");
    let told = facts(&connect(&[&options[..], &["--json", "-"]].concat(), "abc\n"));
    assert_eq!(told["resumed"], true);
}

#[test]
fn s_server_with_a_psk() {
    let pki = Pki::new(P256);
    let server = SServer::start(&pki, &["-nocert", "-psk", KEY, "-psk_identity", IDENTITY]);
    let named = format!("{IDENTITY}:{KEY}");
    let told = facts(&connect(&[&server.address, "--psk", &named, "--json", "-"], "abc\n"));
    assert_eq!(told["psk"], "external");
    // It goes on after a client that can't be served.
    std::thread::sleep(Duration::from_millis(10));
    let wrong = format!("{IDENTITY}:{}", "00".repeat(16));
    assert_eq!(connect(&[&server.address, "--psk", &wrong], "").status.code(), Some(1));
}
