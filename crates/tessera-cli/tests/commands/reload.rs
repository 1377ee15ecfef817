//! `tessera serve` reloads its files on SIGHUP.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use tessera::{ClientConfig, Destination};
use tessera_kit::{SettingFile, trust};
use tessera_test_peers::Directory;
use tessera_tokio::{Connector, MemorySessionStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::program::{P256, Pki, Server, facts, replace_by_pipe, stderr, tessera};

pub(crate) const LOCALHOST: &str = "subjectAltName=DNS:localhost,IP:127.0.0.1";
pub(crate) const CLIENT: &str = "subjectAltName=DNS:client.example";

/// A server with copies of certificate and key, which a test may change.
pub(crate) struct ReloadableServer {
    pub(crate) pki: Pki,
    pub(crate) files: Directory,
    pub(crate) server: Server,
}

impl ReloadableServer {
    /// Replaces `{chain}`, `{key}` and the PKI's own files in the options.
    pub(crate) fn start(options: &[&str]) -> Self {
        let (pki, files) = (Pki::new(P256), Directory::new());
        pki.issue("renewed", LOCALHOST, P256);
        let live = |name: &str| files.path(name);
        fs::copy(pki.path("server.pem"), live("chain")).unwrap();
        fs::copy(pki.path("server.key"), live("key")).unwrap();
        let (chain, key) = (live("chain"), live("key"));
        let own = ["--certificate", &chain, "--key", &key];
        let server = Server::start(&[&own, options].concat());
        Self { pki, files, server }
    }

    /// Replaces both files by those of this name.
    pub(crate) fn renew(&self, name: &str) {
        fs::copy(self.pki.path(&format!("{name}.pem")), self.files.path("chain")).unwrap();
        fs::copy(self.pki.path(&format!("{name}.key")), self.files.path("key")).unwrap();
    }

    pub(crate) fn reload(&self) -> Value {
        reload(&self.server)
    }

    pub(crate) fn connect(&self) -> Value {
        let root = self.pki.path("root.pem");
        let told = facts(&self.server.connect(&["--json", "-", "--ca", &root], "hello\n"));
        assert_eq!(self.server.next()["error"], Value::Null);
        told
    }
}

/// Returns what a server reports after a SIGHUP.
pub(crate) fn reload(server: &Server) -> Value {
    server.signal("-HUP");
    server.next()
}

pub(crate) fn assert_failed(told: &Value, generation: u64, file: &str, reason: &str) {
    assert_eq!(
        (&told["event"], &told["generation"]),
        (&"reload_failed".into(), &generation.into())
    );
    let named = told["file"].as_str().unwrap_or_default();
    assert!(named.ends_with(file), "{told}");
    assert!(told["reason"].as_str().unwrap().contains(reason), "{told}");
}

/// `tessera connect` in the middle of a connection.
struct OpenClient {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl OpenClient {
    fn to(live: &ReloadableServer) -> Self {
        let mut child = tessera()
            .args(["connect", &live.server.address, "--ca", &live.pki.path("root.pem")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, answers }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        assert_eq!(answer.trim_end(), line);
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn a_renewed_certificate_is_shown_after_sighup_and_old_connections_go_on() {
    let live = ReloadableServer::start(&[]);
    let mut talking = OpenClient::to(&live);
    talking.say("before");
    live.renew("renewed");
    let told = live.reload();
    assert_eq!((&told["event"], &told["generation"]), (&"reloaded".into(), &2.into()), "{told}");
    assert_eq!(told["certificate_changed"], true);
    assert_eq!(told["ended_sessions_of_certificates"], false);
    assert_ne!(told["fingerprint"], live.server.fingerprint);
    let options = ["--fingerprint", told["fingerprint"].as_str().unwrap()];
    assert!(live.server.connect(&options, "hello\n").status.success());
    live.server.next();
    talking.say("after");
    talking.end();
    assert_eq!(live.server.next()["error"], Value::Null);
    // The same files: nothing has changed.
    assert_eq!(live.reload()["certificate_changed"], false);
}

#[test]
fn files_that_can_not_be_used_at_sighup_change_nothing_and_are_named() {
    let live = ReloadableServer::start(&[]);
    let mut talking = OpenClient::to(&live);
    talking.say("before");
    let (chain, key) = (live.files.path("chain"), live.files.path("key"));
    let (whole_chain, whole_key) = (fs::read(&chain).unwrap(), fs::read(&key).unwrap());
    let check = |file: &str, reason: &str| {
        assert_failed(&live.reload(), 1, file, reason);
        live.connect();
        fs::write(&chain, &whole_chain).unwrap();
        fs::write(&key, &whole_key).unwrap();
    };
    // Only one of two files was replaced.
    fs::copy(live.pki.path("renewed.pem"), &chain).unwrap();
    check("key", "another certificate");
    fs::copy(live.pki.path("renewed.key"), &key).unwrap();
    check("key", "another certificate");
    for (file, whole) in [("chain", &whole_chain), ("key", &whole_key)] {
        let path = live.files.path(file);
        // Truncated at each place that a reader may meet.
        for len in [0, 1, 20, whole.len() / 2, whole.len() - 20] {
            fs::write(&path, &whole[..len]).unwrap();
            check(file, "");
        }
        fs::remove_file(&path).unwrap();
        check(file, "no such file");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_failed(&live.reload(), 1, file, "directory");
        fs::remove_dir(&path).unwrap();
        check(file, "no such file");
        fs::write(&path, vec![b'x'; 2 * 1024 * 1024]).unwrap();
        check(file, "too long");
        replace_by_pipe(&path);
        assert_failed(&live.reload(), 1, file, "this is a pipe");
        fs::remove_file(&path).unwrap();
        check(file, "no such file");
    }
    let swapped = [&fs::read(live.pki.path("root.pem")).unwrap()[..], &whole_chain].concat();
    fs::write(&chain, swapped).unwrap();
    check("key", "comes first");
    let other_issuer = [&whole_chain[..], &fs::read(live.pki.path("client.pem")).unwrap()].concat();
    fs::write(&chain, other_issuer).unwrap();
    check("chain", "not the issuer of certificate 1");

    talking.say("after");
    talking.end();
    assert_eq!(live.server.next()["error"], Value::Null);
    live.renew("renewed");
    let told = live.reload();
    assert_eq!((&told["event"], &told["generation"]), (&"reloaded".into(), &2.into()), "{told}");
}

#[test]
fn a_certificate_that_can_not_be_used_at_the_start_ends_serve_with_2() {
    let pki = Pki::new(P256);
    let files = Directory::new();
    let (server, key) = (pki.path("server.pem"), pki.path("server.key"));
    let refused = |chain: &str, key: &str, names: &[&str]| {
        let output = crate::program::run(
            tessera().args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--certificate",
                chain,
                "--key",
                key,
            ]),
            "",
        );
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(names.iter().all(|name| told.contains(name)), "{told}");
    };
    let others = pki.path("client.key");
    refused(&server, &others, &["server.pem", "client.key", "another certificate"]);
    let read = |path: &str| fs::read_to_string(path).unwrap();
    let chain = files.write("chain", read(&server) + &read(&pki.path("client.pem")));
    refused(&chain, &key, &["chain", "not the issuer of certificate 1"]);
}

/// Connects and waits for the answer until `stop` is set; returns how often it succeeded. Half of the connections
/// resume.
fn load(address: std::net::SocketAddr, root: &str, stop: &AtomicBool) -> usize {
    let roots = SettingFile { setting: "a test's", path: Path::new(root) };
    let verifier = Arc::new(trust::roots(roots).unwrap());
    let mut config = ClientConfig::new(tessera_aws_lc::provider(), verifier);
    config.policy.tickets.new_session_count = 1;
    config.policy.tickets.resumption_count = 0;
    let sessions = Arc::new(MemorySessionStore::default());
    let connector = Connector::new(config.checked().unwrap()).with_sessions(sessions);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut count = 0;
        while !stop.load(Ordering::Relaxed) {
            let socket = TcpStream::connect(address).await.unwrap();
            let destination = Destination { server_name: "localhost".into(), ..Default::default() };
            let mut stream = connector.connect(destination, socket).await.unwrap();
            stream.write_all(b"ping").await.unwrap();
            stream.shutdown().await.unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.unwrap();
            assert_eq!(answer, b"ping");
            count += 1;
        }
        count
    })
}

/// Resident memory of a process, in KiB.
fn resident(server: &Server) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Every connection is served, whichever certificate it meets, and replaced certificates don't stay in memory.
#[test]
fn a_thousand_certificates_are_exchanged_under_load_without_a_refusal() {
    let live = ReloadableServer::start(&[]);
    let (address, root) = (live.server.address.parse().unwrap(), live.pki.path("root.pem"));
    let stop = AtomicBool::new(false);
    let exchange = |round: usize| {
        live.renew(["renewed", "server"][round % 2]);
        live.server.signal("-HUP");
        let told = loop {
            let told = live.server.next();
            if told["event"] != "connection" {
                break told;
            }
            assert_eq!(told["error"], Value::Null, "{told}");
        };
        assert_eq!(
            (&told["generation"], &told["certificate_changed"]),
            (&(round + 2).into(), &true.into())
        );
    };
    let (count, early, late) = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..2).map(|_| scope.spawn(|| load(address, &root, &stop))).collect();
        let exchanged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            (0..200).for_each(exchange);
            let early = resident(&live.server);
            (200..1000).for_each(exchange);
            (early, resident(&live.server))
        }));
        stop.store(true, Ordering::Relaxed);
        let counts: Vec<usize> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        let (early, late) = exchanged.unwrap();
        (counts.iter().sum::<usize>(), early, late)
    });
    println!(
        "{count} connections, none refused; resident after 200 exchanges {early} KiB, after 1,000 {late} KiB"
    );
    assert!(count >= 200, "{count} connections");
    // A configuration and its certificate have some 5 KiB: 800 of them would be 4 MiB.
    assert!(late < early + 2 * 1024, "{early} KiB, then {late} KiB");
}
