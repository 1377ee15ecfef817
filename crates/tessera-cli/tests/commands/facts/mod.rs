//! The program reports every fact that `docs/facts.md` lists, and no other.

mod early_data;

use std::cell::RefCell;
use std::fs;
use std::io::{BufRead, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use tessera_test_peers::Directory;

use crate::cached_certificates::{Ends, missed};
use crate::certificate::{KemPki, SERVER};
use crate::document::DOCUMENT;
use crate::forwarding::{echo, exchange, program};
use crate::openssl::{s_client, s_server};
use crate::program::{P256, Pki, Server, StartedServer, connect, serve, signal, stderr};

/// What no scene produces, with the reason. A new fact needs a scene, or a line here.
const UNSEEN: &[(&str, &str)] = &[
    (
        "connection.continuation \"psk_ke\"",
        "no option asks for it; a client made with the library can",
    ),
    ("state.found \"key-gone\"", "the machine was started again"),
    ("state.old_copies \"refused\"", "`restart` has the directory in memory for its key"),
    ("connection.peer_certificate_missed \"expired\"", "a certificate expires"),
    ("connection.peer_certificate_missed \"same-id\"", "two chains in 16,384 have one id"),
    (
        "connection.peer_certificate_missed \"forgotten\"",
        "the programs' caches have chains, and not hashes of those that a verifier remembers",
    ),
    (
        "certificate_cache_failed",
        "a disk fails under a running server, which writes to it every five minutes",
    ),
    ("relayed.error string", "the system has no sockets left"),
    ("state_failed", "a disk fails under a running server, which looks at it once a minute"),
];

/// What `fast_open.rs` produces, where the system allows it.
const ELSEWHERE: [&str; 5] = [
    "listening.fast_open ",
    "listening.fast_open_lacks ",
    "connection.fast_open ",
    "connection.syn_bytes ",
    "load.begun_in_syn ",
];

/// Produces every fact, in scenes as short as possible.
#[test]
fn every_documented_fact_is_reported_as_documented() {
    let stage = Stage::default();
    stage.full_and_resumed();
    stage.early_data_that_is_accepted_or_used();
    stage.early_data_that_is_burned();
    stage.early_data_that_nobody_knows_of();
    stage.early_data_that_is_never_answered();
    stage.keys_agreed_outside();
    stage.kems();
    stage.datagrams();
    stage.nobody_there();
    stage.limits();
    stage.reloads();
    stage.states();
    stage.cached_certificates();
    stage.missed();
    stage.loads();
    let mut unseen = DOCUMENT.unseen(&stage.facts.into_inner());
    for (known, why) in UNSEEN {
        assert!(unseen.remove(*known), "{known} is seen, though {why}");
    }
    unseen.retain(|name| !ELSEWHERE.iter().any(|it| name.starts_with(it)));
    assert!(unseen.is_empty(), "documented, and made by no scene: {unseen:#?}");
}

#[derive(Default)]
struct Stage {
    facts: RefCell<Vec<Value>>,
    directory: Directory,
}

const EARLY: &str = "--forward-secret-early-data";
const RISKY: &str = "--replayable-early-data-without-forward-secrecy";
const KEY: &str = "client1:000102030405060708090a0b0c0d0e0f";

impl Stage {
    fn serve(&self, options: &[&str]) -> Server {
        let server = Server::start(options);
        self.facts.borrow_mut().push(server.listening.clone());
        server
    }

    fn end(&self, server: Server) {
        self.facts.borrow_mut().extend(server.end());
    }

    /// Runs `tessera connect`, which reports one fact and exits with this code.
    fn connect(&self, options: &[&str], code: i32) -> Value {
        let output = connect(&[&["--json", "-"], options].concat(), "hello");
        assert_eq!(output.status.code(), Some(code), "{options:?}: {}", stderr(&output));
        let fact = DOCUMENT.parse(str::from_utf8(&output.stdout).unwrap());
        assert_eq!(code == 0, fact["error"].is_null(), "{fact}");
        self.facts.borrow_mut().push(fact.clone());
        fact
    }

    fn path(&self, name: &str) -> String {
        self.directory.path(name)
    }

    fn full_and_resumed(&self) {
        let pki = Pki::new(P256);
        let path = |name| pki.path(name);
        let (root, own, key) = (path("root.pem"), path("server.pem"), path("server.key"));
        let mut options = vec!["--certificate", &own, "--key", &key, "--ca", &root];
        options.extend(["--ask-client-certificate", "--alpn", "a"]);
        let server = self.serve(&options);
        let (own, key, sessions) = (path("client.pem"), path("client.key"), self.path("full"));
        let address = server.address.replace("127.0.0.1", "localhost");
        let mut options = vec![address.as_str(), "--certificate", &own, "--key", &key];
        options.extend(["--ca", &root, "--alpn", "a", "--sessions", &sessions]);
        for psk in [Value::Null, "resumption".into()] {
            assert_eq!(self.connect(&options, 0)["psk"], psk);
        }
        let name = server.end();
        assert_eq!(name[0]["peer"], "dns:client.example");
        self.facts.borrow_mut().extend(name);
    }

    fn keys_agreed_outside(&self) {
        let alone: &[&str] = &["--psk-only-without-forward-secrecy"];
        for more in [&["--groups", "x25519"], &["--import-psks", "--quiet"][..], alone] {
            let options = [&["--psk", KEY], more].concat();
            let server = self.serve(&options);
            self.connect(&[&[server.address.as_str()], &options[..]].concat(), 0);
            self.end(server);
        }
    }

    /// A server with a KEM that refuses a client without a certificate, and one whose key the client knows.
    fn kems(&self) {
        let pki = KemPki::new("p256");
        pki.issue("server", "ml-kem-768", SERVER);
        let [root, own, key] = ["root.pem", "server.pem", "server.key"].map(|it| pki.path(it));
        let options = ["--kem-auth", "--certificate", &own, "--key", &key, "--ca", &root];
        let server = self.serve(&[&options[..], &["--require-client-certificate"]].concat());
        let fact = self.connect(&[&server.address, "--kem-auth", "--ca", &root], 1);
        assert_eq!(fact["server_is_implicit"], true, "{fact}");
        self.end(server);
        let server = self.serve(&["--known-key", &key]);
        self.connect(&[&server.address, "--known-key", &own], 0);
        self.end(server);
    }

    fn datagrams(&self) {
        let server = self.serve(&["--udp", "--psk", KEY]);
        let fact = self.connect(&[&server.address, "--udp", "--psk", KEY], 0);
        assert_eq!(fact["version"], "DTLSv1.3");
        self.end(server);
        let target = echo();
        let to = target.to_string();
        let server = self.serve(&["--udp", "--forward", &to, "--forward-dtls12", &to]);
        let client = server.listening_client(&[]);
        exchange(&program(&client), b"datagram");
        // A record of DTLS 1.2 with a connection ID.
        exchange(&program(&server), &[25, 254, 253, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        self.end(client);
        self.end(server);
    }

    fn nobody_there(&self) {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let fact = self.connect(&[&address, "--psk", KEY], 1);
        assert!(fact["error"].as_str().unwrap().contains("nothing listens"), "{fact}");
    }

    fn limits(&self) {
        let server = self.serve(&["--max-connections-per-address", "1"]);
        let _silent = TcpStream::connect(&server.address).unwrap();
        let options = [server.address.as_str(), "--fingerprint", &server.fingerprint];
        let output = connect(&options, "");
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("--max-connections-per-address"), "{}", stderr(&output));
        self.connect(&options, 1);
        let told = server.end();
        let limits = told.iter().filter(|fact| fact["event"] == "limits");
        let counts: Vec<_> =
            limits.map(|fact| fact["refused_connections_of_address"].as_u64().unwrap()).collect();
        // On a slow machine the first may be reported before the second happens; none is reported twice.
        assert!(counts == [2] || counts == [1, 2], "{counts:?}");
        self.facts.borrow_mut().extend(told);
    }

    fn reloads(&self) {
        let (pki, other) = (Pki::new(P256), Pki::new(P256));
        let [root, own, key] = ["root.pem", "server.pem", "server.key"].map(|it| pki.path(it));
        let psks = self.directory.write("psks", KEY);
        let reload = |server: &Server, event: &str| {
            server.signal("-HUP");
            let fact = server.next();
            assert_eq!(fact["event"], event, "{fact}");
            self.facts.borrow_mut().push(fact);
        };

        let mut options = vec!["--certificate", &own, "--key", &key, "--psk-file", &psks];
        options.extend(["--ca", &root, "--ask-client-certificate"]);
        let server = self.serve(&options);
        reload(&server, "reloaded");
        for (from, to) in [("root.pem", &root), ("server.pem", &own), ("server.key", &key)] {
            fs::copy(other.path(from), to).unwrap();
        }
        fs::write(&psks, KEY.replace("00", "11")).unwrap();
        reload(&server, "reloaded");
        fs::remove_file(&own).unwrap();
        reload(&server, "reload_failed");
        self.end(server);

        let server = self.serve(&["--psk-file", &psks, "--import-psks"]);
        reload(&server, "reloaded");
        fs::write(&psks, "no key").unwrap();
        reload(&server, "reload_failed");
        // A well-formed line whose identity is too long to be imported.
        fs::write(&psks, format!("{}{KEY}", "x".repeat(70_000))).unwrap();
        reload(&server, "reload_failed");
        self.end(server);
    }

    fn states(&self) {
        let (state, key) = (self.path("state"), self.directory.write("key", "a5".repeat(32)));
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        let options = ["--state", &state, "--state-key", &key];
        for found in ["nothing", "closed", "crashed"] {
            let server = self.serve(&options);
            let fact = server.next();
            assert_eq!((&fact["event"], &fact["found"]), (&"state".into(), &found.into()));
            self.facts.borrow_mut().push(fact);
            // Dropping the server kills it.
            if found == "nothing" {
                self.end(server);
            }
        }
        // Now the witness knows the state; it doesn't know another one in the same place.
        let witness = self.path("witness");
        let witnessed = [&options[..], &["--state-witness", &witness]].concat();
        for (options, found, old_copies) in [
            (&witnessed[..], "crashed", "noticed"),
            (&options[..], "closed", "unnoticed"),
            (&witnessed[..], "rolled-back", "noticed"),
        ] {
            let server = self.serve(options);
            let fact = server.next();
            assert_eq!(
                (&fact["found"], &fact["old_copies"]),
                (&found.into(), &old_copies.into()),
                "{fact}"
            );
            self.facts.borrow_mut().push(fact);
            self.end(server);
        }
    }

    fn cached_certificates(&self) {
        let ends = Ends::new();
        let server = ends.serve_at("127.0.0.1:0", &["--http"]);
        let [root, own, key] = ["root.pem", "client.pem", "client.key"].map(|it| ends.pki.path(it));
        let push = |fact| self.facts.borrow_mut().push(fact);
        push(server.next());
        for why in ["nothing-cached", "-"] {
            let fact = ends.connect(&server);
            assert_eq!(missed(&fact), [why, why], "{fact}");
            push(fact);
        }
        // This reads what the server has reported so far.
        ends.exchange_certificate(&server);
        push(ends.connect(&server));
        let load = ["--json", "-", "--mode", "full", "--count", "2"];
        let output = ends.run(&server.address, &load);
        push(DOCUMENT.parse(str::from_utf8(&output.stdout).unwrap()));
        // OpenSSL neither compresses nor caches.
        let page = s_client(&server, &["-CAfile", &root, "-cert", &own, "-key", &key]);
        assert!(page.contains("200 OK"), "{page}");
        let address = server.address.clone();
        self.end(server);
        let server = ends.serve_trusting(&ends.trusting_another_too(), &address, &[]);
        assert_eq!(missed(&ends.connect(&server)), ["unknown-ticket", "-"]);
        self.end(server);

        for (found, damage) in [("kept", None), ("damaged", Some(0)), ("newer", Some(15))] {
            let file = ends.file("server");
            let mut bytes = fs::read(&file).unwrap();
            if let Some(place) = damage {
                bytes[place] = 200;
            }
            fs::write(&file, bytes).unwrap();
            let told = ends.serve().end();
            assert_eq!(told[0]["found"], found, "{}", told[0]);
            self.facts.borrow_mut().extend(told);
        }

        // A replaced server, which knows no clients.
        let server = ends.serve_at(&address, &[]);
        push(ends.connect(&server));
        self.end(server);
        let server = ends.serve_asking_nobody();
        let address = server.address.clone();
        ends.connect(&server);
        self.end(server);
        let server = ends.serve_at(&address, &[]);
        push(ends.connect(&server));
        self.end(server);

        let (_server, address) = s_server(&ends.pki, &[]);
        let directory = self.path("certificates");
        let options = [&address, "--ca", &root, "--server-name", "localhost"];
        let options = [&options[..], &["--cache-certificates", &directory]].concat();
        for why in ["nothing-cached", "takes-no-part"] {
            assert_eq!(missed(&self.connect(&options, 0)), ["-", why]);
        }
    }

    /// A pipe holds 64 KiB, and the program 1 MiB, of lines of half a kilobyte.
    fn missed(&self) {
        let StartedServer { mut child, mut stdout, address, .. } = serve(&[]);
        for _ in 0..3000 {
            let mut socket = TcpStream::connect(&address).unwrap();
            socket.write_all(b"nonsense").unwrap();
            socket.shutdown(Shutdown::Write).unwrap();
            let _ = socket.read_to_end(&mut Vec::new());
        }
        let (mut read, mut missed) = (0, 0);
        while read + missed < 3000 {
            let mut line = String::new();
            stdout.read_line(&mut line).unwrap();
            let fact = DOCUMENT.parse(&line);
            match fact["count"].as_u64() {
                Some(count) => missed += count,
                None => read += 1,
            }
            self.facts.borrow_mut().push(fact);
        }
        assert!(missed > 0 && read + missed == 3000, "{read} {missed}");
        signal(&child, "-TERM");
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }

    fn loads(&self) {
        let allowed = ["--psk-only-without-forward-secrecy", RISKY, EARLY];
        let server = self.serve(&allowed);
        // A register refuses tickets that are as old as itself.
        std::thread::sleep(std::time::Duration::from_millis(5));
        let load = |server: &Server, mode| {
            let trust = ["--fingerprint", &server.fingerprint, "--json", "-"];
            let load = ["--count", "5", "--mode", mode];
            let output = server.connect(&[&trust[..], &load].concat(), "");
            let fact = DOCUMENT.parse(str::from_utf8(&output.stdout).unwrap());
            self.facts.borrow_mut().push(fact.clone());
            (output.status.code(), fact, stderr(&output))
        };
        for mode in ["full", "psk-dhe", "psk-only", "0rtt", "0rtt-fs"] {
            let (code, fact, told) = load(&server, mode);
            assert_eq!((code, &fact["not_as_asked"]), (Some(0), &0.into()), "{mode}: {told}");
        }
        self.end(server);

        // The server doesn't allow the mode, so something else was measured.
        let server = self.serve(&[]);
        for (mode, advice) in [("psk-only", allowed[0]), ("0rtt", RISKY), ("0rtt-fs", EARLY)] {
            let (code, fact, told) = load(&server, mode);
            assert_eq!((code, &fact["not_as_asked"]), (Some(1), &5.into()), "{mode}");
            assert!(told.contains(mode) && told.contains(advice), "{told}");
        }
        let wrong = ["--fingerprint", &"00".repeat(32), "--json", "-", "--mode", "full"];
        let output = server.connect(&[&wrong[..], &["--count", "5"]].concat(), "");
        assert_eq!(output.status.code(), Some(1));
        let fact = DOCUMENT.parse(str::from_utf8(&output.stdout).unwrap());
        assert_eq!((&fact["failed"], &fact["median_micros"]), (&5.into(), &Value::Null));
        assert_eq!(fact["errors"].as_object().unwrap().len(), 1, "{fact}");
        self.facts.borrow_mut().push(fact);
        self.end(server);
    }
}
