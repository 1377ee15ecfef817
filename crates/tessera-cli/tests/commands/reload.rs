//! `tessera serve` is told by SIGHUP that its files have changed.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use tessera::{ClientConfig, Destination};
use tessera_kit::{SettingFile, trust};
use tessera_test_peers::{Directory, openssl};
use tessera_tokio::{Connector, MemorySessionStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::openssl::s_client;
use crate::program::{P256, Pki, RSA, Server, connect, facts, stderr, tessera};

const LOCALHOST: &str = "subjectAltName=DNS:localhost,IP:127.0.0.1";
const CLIENT: &str = "subjectAltName=DNS:client.example";

/// A server whose certificate and key are copies that a test may spoil.
struct Live {
    pki: Pki,
    files: Directory,
    server: Server,
}

impl Live {
    /// With `{chain}`, `{key}` and the PKI's own files in the options.
    fn start(options: &[&str]) -> Self {
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

    /// Exchanges both files for those of this name.
    fn renew(&self, name: &str) {
        fs::copy(self.pki.path(&format!("{name}.pem")), self.files.path("chain")).unwrap();
        fs::copy(self.pki.path(&format!("{name}.key")), self.files.path("key")).unwrap();
    }

    fn reload(&self) -> Value {
        reload(&self.server)
    }

    fn connect(&self) -> Value {
        let root = self.pki.path("root.pem");
        let told = facts(&self.server.connect(&["--json", "-", "--ca", &root], "hello\n"));
        assert_eq!(self.server.next()["error"], Value::Null);
        told
    }
}

/// What a server says to a SIGHUP.
fn reload(server: &Server) -> Value {
    server.signal("-HUP");
    server.next()
}

fn assert_failed(told: &Value, generation: u64, file: &str, reason: &str) {
    assert_eq!(
        (&told["event"], &told["generation"]),
        (&"reload_failed".into(), &generation.into())
    );
    let named = told["file"].as_str().unwrap_or_default();
    assert!(named.ends_with(file), "{told}");
    assert!(told["reason"].as_str().unwrap().contains(reason), "{told}");
}

/// `tessera connect` in the middle of a connection.
struct Talking {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Talking {
    fn to(live: &Live) -> Self {
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
    let live = Live::start(&[]);
    let mut talking = Talking::to(&live);
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
    // Nothing is different: nothing has changed.
    assert_eq!(live.reload()["certificate_changed"], false);
}

#[test]
fn files_that_can_not_be_used_at_sighup_change_nothing_and_are_named() {
    let live = Live::start(&[]);
    let mut talking = Talking::to(&live);
    talking.say("before");
    let (chain, key) = (live.files.path("chain"), live.files.path("key"));
    let (whole_chain, whole_key) = (fs::read(&chain).unwrap(), fs::read(&key).unwrap());
    let check = |file: &str, reason: &str| {
        assert_failed(&live.reload(), 1, file, reason);
        live.connect();
        fs::write(&chain, &whole_chain).unwrap();
        fs::write(&key, &whole_key).unwrap();
    };
    // One of two files was exchanged.
    fs::copy(live.pki.path("renewed.pem"), &chain).unwrap();
    check("key", "another certificate");
    fs::copy(live.pki.path("renewed.key"), &key).unwrap();
    check("key", "another certificate");
    for (file, whole) in [("chain", &whole_chain), ("key", &whole_key)] {
        let path = live.files.path(file);
        // Half written, in every place that may be seen.
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

/// Comes back with the sessions of before, as a client with a certificate.
fn come_back(live: &Live, sessions: &str, early_data: bool) -> Output {
    let [root, certificate, key] =
        ["root.pem", "client.pem", "client.key"].map(|name| live.pki.path(name));
    let own = ["--ca", &root, "--certificate", &certificate, "--key", &key];
    let options = ["--sessions", sessions, "--json", "-", "--forward-secret-early-data"];
    let early = live.files.write("early", "early\n");
    let early: &[&str] = if early_data { &["--early-data", &early] } else { &[] };
    live.server.connect(&[&own[..], &options, early].concat(), "hello\n")
}

#[test]
fn a_client_whose_authority_is_gone_does_not_resume() {
    let (clients, sessions) = (Directory::new(), Directory::new());
    let trusted = clients.path("clients.pem");
    let pki = Pki::new(P256);
    fs::copy(pki.path("root.pem"), &trusted).unwrap();
    let (chain, key) = (pki.path("server.pem"), pki.path("server.key"));
    let server = Server::start(&[
        "--certificate",
        &chain,
        "--key",
        &key,
        "--ca",
        &trusted,
        "--require-client-certificate",
        "--forward-secret-early-data",
    ]);
    let live = Live { pki, files: Directory::new(), server };
    let sessions = sessions.path("sessions");
    assert_eq!(facts(&come_back(&live, &sessions, true))["resumed"], false);
    live.server.next();
    let told = facts(&come_back(&live, &sessions, true));
    assert_eq!((&told["psk"], &told["early_data"]), (&"forward-secret".into(), &"accepted".into()));
    live.server.next();

    // The same again: nobody is withdrawn.
    let told = live.reload();
    assert_eq!(told["ended_sessions_of_certificates"], false, "{told}");
    assert_eq!(facts(&come_back(&live, &sessions, true))["psk"], "forward-secret");
    live.server.next();

    let other = Pki::new(P256);
    fs::copy(other.path("root.pem"), &trusted).unwrap();
    let told = live.reload();
    assert_eq!(told["ended_sessions_of_certificates"], true, "{told}");
    let output = come_back(&live, &sessions, true);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let told = live.server.next();
    assert_eq!((&told["resumed"], &told["peer"]), (&false.into(), &Value::Null), "{told}");
    assert_ne!(told["early_data"], "accepted");
    assert!(told["error"].as_str().unwrap().contains("not accepted"), "{told}");
}

/// A revocation list of the authority's that has these certificates in it.
fn revocation_list(pki: &Pki, revoked: &[&str], out: &str) {
    let directory = &pki.directory;
    let mut index = String::new();
    for name in revoked {
        let serial = pki.path("serial");
        openssl::run(&["x509", "-in", &pki.path(name), "-noout", "-serial", "-out", &serial]);
        let serial = fs::read_to_string(serial).unwrap();
        let (_, serial) = serial.trim().split_once('=').unwrap();
        index += &format!("R\t300101000000Z\t250101000000Z\t{serial}\tunknown\t/CN=it\n");
    }
    let index = directory.write("index", index);
    let number = directory.write("number", "01\n");
    let config = directory.write(
        "ca.cnf",
        format!(
            "[ca]\ndefault_ca=own\n[own]\ndatabase={index}\ncrlnumber={number}\ndefault_md=sha256\n\
             default_crl_days=2\n"
        ),
    );
    let (key, root) = (pki.path("root.key"), pki.path("root.pem"));
    let own = ["ca", "-gencrl", "-config", &config, "-keyfile", &key, "-cert", &root];
    openssl::run(&[&own[..], &["-out", out]].concat());
}

#[test]
fn a_client_that_a_new_list_revokes_does_not_resume_and_a_list_of_another_authority_is_refused() {
    let pki = Pki::new(P256);
    let files = Directory::new();
    pki.issue("other", CLIENT, P256);
    let (crl, sessions) = (files.path("clients.crl"), files.path("sessions"));
    revocation_list(&pki, &[], &crl);
    let [chain, key, root] = ["server.pem", "server.key", "root.pem"].map(|name| pki.path(name));
    let server = Server::start(&[
        "--certificate",
        &chain,
        "--key",
        &key,
        "--ca",
        &root,
        "--crl",
        &crl,
        "--require-client-certificate",
        "--forward-secret-early-data",
    ]);
    let live = Live { pki, files, server };
    assert_eq!(facts(&come_back(&live, &sessions, false))["resumed"], false);
    live.server.next();

    // A later list that revokes nobody ends nothing.
    revocation_list(&live.pki, &[], &crl);
    assert_eq!(live.reload()["ended_sessions_of_certificates"], false);
    assert_eq!(facts(&come_back(&live, &sessions, false))["resumed"], true);
    live.server.next();

    let namesake = Pki::new(P256);
    revocation_list(&namesake, &[], &crl);
    assert_failed(&live.reload(), 2, "clients.crl", "not signed by a root of that name");
    fs::write(&crl, "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n").unwrap();
    assert_failed(&live.reload(), 2, "clients.crl", "revocation list");
    fs::write(&crl, "").unwrap();
    assert_failed(&live.reload(), 2, "clients.crl", "no revocation list");
    assert_eq!(facts(&come_back(&live, &sessions, false))["resumed"], true);
    live.server.next();

    // Another's revocation ends the sessions of all, and everybody else begins anew.
    revocation_list(&live.pki, &["other.pem"], &crl);
    assert_eq!(live.reload()["ended_sessions_of_certificates"], true);
    assert_eq!(facts(&come_back(&live, &sessions, false))["resumed"], false);
    live.server.next();

    revocation_list(&live.pki, &["client.pem", "other.pem"], &crl);
    live.reload();
    let output = come_back(&live, &sessions, true);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let told = live.server.next();
    assert!(told["error"].as_str().unwrap().contains("CERTIFICATE_REVOKED"), "{told}");
    assert_ne!(told["early_data"], "accepted");
}

#[test]
fn psks_are_exchanged_and_sessions_of_those_that_are_gone_end() {
    let files = Directory::new();
    let [one, other] = [1, 2].map(|byte| format!("client1:{}", format!("{byte:02x}").repeat(16)));
    let (psks, sessions) = (files.write("psks", &one), files.path("sessions"));
    let server = Server::start(&["--psk-file", &psks]);
    let come_back = |psk: &str| {
        let options = ["--psk", psk, "--sessions", &sessions, "--json", "-"];
        connect(&[&[&*server.address], &options[..]].concat(), "hello\n")
    };
    assert_eq!(facts(&come_back(&one))["psk"], "external");
    server.next();
    fs::write(&psks, format!("second:{}\n{one}\n", "07".repeat(16))).unwrap();
    assert_eq!(reload(&server)["ended_sessions_of_psks"], false);
    assert_eq!(facts(&come_back(&one))["psk"], "resumption");
    server.next();

    fs::write(&psks, format!("{one}\n{other}\n")).unwrap();
    assert_failed(&reload(&server), 2, "psks", "the identity of another PSK");
    fs::write(&psks, &one[..one.len() / 2]).unwrap();
    let told = reload(&server);
    assert_failed(&told, 2, "psks", "16 bytes");
    assert_eq!(told["line"], 1);
    fs::write(&psks, "\n# nobody\n").unwrap();
    assert_failed(&reload(&server), 2, "psks", "no PSK");

    // Another secret under the same name.
    fs::write(&psks, &other).unwrap();
    assert_eq!(reload(&server)["ended_sessions_of_psks"], true);
    assert_eq!(come_back(&one).status.code(), Some(1));
    let told = server.next();
    assert_eq!(told["resumed"], false, "{told}");
    assert_eq!(facts(&come_back(&other))["psk"], "external");
}

#[test]
fn s_client_sees_the_new_certificate_and_does_not_resume_under_another_authority() {
    let (pki, files) = (Pki::new(P256), Directory::new());
    pki.issue("renewed", LOCALHOST, RSA);
    let [chain, key, trusted, session] =
        ["chain", "key", "clients", "session"].map(|name| files.path(name));
    let exchange = |from: &str, to: &str| {
        fs::copy(pki.path(from), to).unwrap();
    };
    exchange("server.pem", &chain);
    exchange("server.key", &key);
    exchange("root.pem", &trusted);
    let server = Server::start(&[
        "--http",
        "--certificate",
        &chain,
        "--key",
        &key,
        "--ca",
        &trusted,
        "--require-client-certificate",
    ]);
    let [root, own, own_key] = ["root.pem", "client.pem", "client.key"].map(|name| pki.path(name));
    let as_client = ["-cert", &own, "-key", &own_key, "-CAfile", &root, "-verify_return_error"];
    let s_client = |more: &[&str]| s_client(&server, &[&as_client, more].concat());
    let page = s_client(&["-sess_out", &session]);
    assert!(page.contains("CN = server") || page.contains("CN=server"), "{page}");
    server.next();

    exchange("renewed.pem", &chain);
    exchange("renewed.key", &key);
    assert_eq!(reload(&server)["certificate_changed"], true);
    let page = s_client(&[]);
    assert!(page.contains("CN = renewed") || page.contains("CN=renewed"), "{page}");
    assert!(page.contains("200 OK"), "{page}");
    server.next();
    let page = s_client(&["-sess_in", &session, "-sess_out", &session]);
    assert!(page.contains("Reused, TLSv1.3") && page.contains("200 OK"), "{page}");
    server.next();

    let other = Pki::new(P256);
    fs::copy(other.path("root.pem"), &trusted).unwrap();
    assert_eq!(reload(&server)["ended_sessions_of_certificates"], true);
    let page = s_client(&["-sess_in", &session]);
    assert!(!page.contains("Reused") && !page.contains("200 OK"), "{page}");
    let told = server.next();
    assert!(told["error"].as_str().unwrap().contains("not accepted"), "{told}");
}

/// Connects and is answered, again and again, until it is told to stop; says how often it was. Half of the
/// connections resume.
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

/// Every connection is served, whichever certificate it meets, and what was exchanged leaves nothing.
#[test]
fn a_thousand_certificates_are_exchanged_under_load_without_a_refusal() {
    let live = Live::start(&[]);
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
