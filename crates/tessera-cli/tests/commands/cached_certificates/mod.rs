//! `--cache-certificates`: chains are sent once, even across processes.

mod directories;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};
use tessera_test_peers::Directory;

use crate::openssl::{s_client, s_server};
use crate::program::{P256, Pki, Server, connect, facts};

/// Two ends that cache certificates, each in its own directory.
pub(crate) struct Ends {
    pub(crate) pki: Pki,
    directory: Directory,
}

impl Ends {
    pub(crate) fn new() -> Self {
        Self { pki: Pki::new(P256), directory: Directory::new() }
    }

    /// Returns the server's directory, or the client's.
    pub(crate) fn directory(&self, end: &str) -> String {
        self.directory.path(end)
    }

    pub(crate) fn serve(&self) -> Server {
        self.serve_at("127.0.0.1:0", &[])
    }

    pub(crate) fn serve_at(&self, listen: &str, more: &[&str]) -> Server {
        self.serve_trusting(&self.pki.path("root.pem"), listen, more)
    }

    /// Starts a server that accepts clients by these authorities.
    pub(crate) fn serve_trusting(&self, ca: &str, listen: &str, more: &[&str]) -> Server {
        let [own, key] = ["server.pem", "server.key"].map(|it| self.pki.path(it));
        let directory = self.directory("server");
        let mut options = vec!["--certificate", &own, "--key", &key, "--ca", ca];
        options.extend(["--require-client-certificate", "--cache-certificates", &directory]);
        Server::listening(listen, &[&options, more].concat())
    }

    /// Starts a server that asks for no certificates.
    pub(crate) fn serve_asking_nobody(&self) -> Server {
        let [own, key] = ["server.pem", "server.key"].map(|it| self.pki.path(it));
        let options = ["--certificate", &own, "--key", &key, "--cache-certificates"];
        Server::start(&[&options[..], &[&self.directory("server")]].concat())
    }

    /// Writes a file with these authorities and others.
    pub(crate) fn trusting_another_too(&self) -> String {
        let other = Pki::new(P256);
        let roots = [&self.pki, &other].map(|pki| fs::read(pki.path("root.pem")).unwrap());
        self.pki.directory.write("both.pem", roots.concat())
    }

    /// Returns the options of a client with a certificate.
    pub(crate) fn options(&self) -> Vec<String> {
        let [root, own, key] = ["root.pem", "client.pem", "client.key"].map(|it| self.pki.path(it));
        let directory = self.directory("client");
        let named = ["--ca", &root, "--certificate", &own, "--key", &key, "--cache-certificates"];
        named.into_iter().chain([&*directory]).map(str::to_owned).collect()
    }

    /// Runs such a client.
    pub(crate) fn run(&self, address: &str, more: &[&str]) -> Output {
        let options = self.options();
        let options: Vec<_> = options.iter().map(String::as_str).collect();
        connect(&[&[address], &options[..], more].concat(), "hello\n")
    }

    /// Runs such a client, and returns its facts.
    pub(crate) fn connect(&self, server: &Server) -> Value {
        facts(&self.run(&server.address, &["--json", "-"]))
    }

    /// Changes the certificate of the running server.
    pub(crate) fn exchange_certificate(&self, server: &Server) {
        self.pki.issue("other", "subjectAltName=DNS:localhost,IP:127.0.0.1", P256);
        for end in ["pem", "key"] {
            let path = |name| self.pki.path(&format!("{name}.{end}"));
            fs::copy(path("other"), path("server")).unwrap();
        }
        reload(server);
    }

    /// Returns the cache file of an end.
    pub(crate) fn file(&self, end: &str) -> PathBuf {
        let directory = PathBuf::from(self.directory(end));
        if end == "server" {
            return directory.join("clients");
        }
        let scopes: Vec<_> = fs::read_dir(directory).unwrap().map(Result::unwrap).collect();
        assert_eq!(scopes.len(), 1);
        scopes[0].path().join("servers")
    }
}

fn reload(server: &Server) {
    server.signal("-HUP");
    std::iter::repeat_with(|| server.next()).find(|fact| fact["event"] == "reloaded").unwrap();
}

/// Returns how both certificates travelled, according to this end: its own and the peer's.
pub(crate) fn ways(fact: &Value) -> [&str; 2] {
    ["own_certificate", "peer_certificate"].map(|name| fact[name].as_str().unwrap())
}

pub(crate) const CACHED: [&str; 2] = ["cached", "cached"];

/// Returns why they were not cached.
pub(crate) fn missed(fact: &Value) -> [&str; 2] {
    ["own_certificate_missed", "peer_certificate_missed"]
        .map(|name| fact[name].as_str().unwrap_or("-"))
}

/// Whether both certificates travelled without a cache.
pub(crate) fn none_is_cached(fact: &Value) -> bool {
    ways(fact).iter().all(|way| ["whole", "compressed"].contains(way))
}

/// Returns what the server found when it started.
pub(crate) fn found(server: &Server) -> Value {
    let fact = server.next();
    assert_eq!(fact["event"], "certificate_cache", "{fact}");
    fact["found"].clone()
}

/// Returns the fact of the server's next connection.
fn connection(server: &Server) -> Value {
    std::iter::repeat_with(|| server.next()).find(|fact| fact["event"] == "connection").unwrap()
}

#[test]
fn the_second_connection_has_hashes_for_both_certificates() {
    let ends = Ends::new();
    let server = ends.serve();
    assert_eq!(found(&server), "nothing");
    let first = ends.connect(&server);
    for fact in [first, connection(&server)] {
        assert!(none_is_cached(&fact), "{fact}");
        assert_eq!(missed(&fact), ["nothing-cached", "nothing-cached"], "{fact}");
    }
    for _ in 0..3 {
        let (client, server) = (ends.connect(&server), connection(&server));
        for fact in [client, server] {
            assert_eq!(ways(&fact), CACHED, "{fact}");
            assert_eq!(fact["own_certificate_bytes"], 44, "{fact}");
            assert_eq!(fact["peer_certificate_bytes"], 44, "{fact}");
            assert_eq!((&fact["resumed"], missed(&fact)), (&false.into(), ["-", "-"]), "{fact}");
        }
    }
    let told = server.end();
    let sums = told.iter().rfind(|fact| fact["event"] == "cached_certificates").unwrap();
    assert_eq!((&sums["sent_cached"], &sums["received_cached"]), (&3.into(), &3.into()), "{sums}");
    assert_eq!(
        (&sums["missed_nothing_cached"], &sums["entries"]),
        (&1.into(), &1.into()),
        "{sums}"
    );
}

#[test]
fn certificates_are_known_again_after_the_server_was_restarted() {
    let ends = Ends::new();
    let first = ends.serve();
    ends.connect(&first);
    let address = first.address.clone();
    first.end();
    for end in ["server", "client"] {
        let file = fs::metadata(ends.file(end)).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600, "{end}");
        let directory = fs::metadata(ends.directory(end)).unwrap();
        assert_eq!(directory.permissions().mode() & 0o777, 0o700, "{end}");
    }
    let second = ends.serve_at(&address, &[]);
    assert_eq!(found(&second), "kept");
    let client = ends.connect(&second);
    assert_eq!((ways(&client), ways(&connection(&second))), (CACHED, CACHED), "{client}");
}

/// Both ends report why: the server doesn't know the ticket, or accepted the client under other authorities. The client
/// sees one reason.
#[test]
fn a_server_that_no_longer_knows_a_client_reports_why() {
    let ends = Ends::new();
    let server = ends.serve();
    ends.connect(&server);
    let address = server.address.clone();
    server.end();
    let both = ends.trusting_another_too();
    let server = ends.serve_trusting(&both, &address, &[]);
    assert_eq!(missed(&ends.connect(&server)), ["unknown-ticket", "-"]);
    assert_eq!(missed(&connection(&server)), ["-", "policy"]);
    server.end();
    fs::remove_file(ends.file("server")).unwrap();
    let server = ends.serve_at(&address, &[]);
    assert_eq!(missed(&ends.connect(&server)), ["unknown-ticket", "-"]);
    assert_eq!(missed(&connection(&server)), ["-", "unknown-ticket"]);
}

/// The client has met the server, which did not ask it for a certificate.
#[test]
fn a_client_that_has_no_ticket_reports_that() {
    let ends = Ends::new();
    let server = ends.serve_asking_nobody();
    assert_eq!(ends.connect(&server)["own_certificate"], Value::Null);
    let address = server.address.clone();
    server.end();
    let server = ends.serve_at(&address, &[]);
    assert_eq!(missed(&ends.connect(&server)), ["no-ticket", "-"]);
    assert_eq!(missed(&connection(&server)), ["-", "nothing-cached"]);
}

#[test]
fn a_server_that_changes_its_certificate_sends_the_new_one_whole_once() {
    let ends = Ends::new();
    let server = ends.serve();
    ends.connect(&server);
    connection(&server);
    ends.exchange_certificate(&server);
    let (client, of_server) = (ends.connect(&server), connection(&server));
    assert_eq!(missed(&client), ["-", "another-chain"], "{client}");
    assert_eq!(missed(&of_server), ["another-chain", "-"], "{of_server}");
    // The client is unchanged.
    assert_eq!(client["own_certificate"], "cached", "{client}");
    assert_eq!(ways(&ends.connect(&server)), CACHED);
}

/// Clients accepted by the former authorities are forgotten.
#[test]
fn a_server_whose_authorities_change_forgets_its_clients() {
    let ends = Ends::new();
    let server = ends.serve();
    ends.connect(&server);
    fs::copy(ends.trusting_another_too(), ends.pki.path("root.pem")).unwrap();
    reload(&server);
    let told = server.end();
    let sums = told.iter().rfind(|fact| fact["event"] == "cached_certificates").unwrap();
    assert_eq!(sums["entries"], 0, "{sums}");
}

/// Without client certificates the server's is cached all the same.
#[test]
fn a_server_that_asks_for_no_certificate_is_cached_alone() {
    let directory = Directory::new();
    let (of_server, of_client) = (directory.path("server"), directory.path("client"));
    let server = Server::start(&["--cache-certificates", &of_server]);
    for (why, way) in [("nothing-cached", None), ("-", Some("cached"))] {
        let fact = server.facts(&["--cache-certificates", &of_client]);
        assert_eq!(missed(&fact), ["-", why], "{fact}");
        assert!(way.is_none_or(|way| fact["peer_certificate"] == way), "{fact}");
        assert_eq!(fact["own_certificate"], Value::Null);
    }
}

#[test]
fn a_load_uses_what_is_cached_and_leaves_it_to_the_next_process() {
    let ends = Ends::new();
    let server = ends.serve();
    let load = ["--mode", "full", "--count", "5"];
    let told = facts(&ends.run(&server.address, &[&load[..], &["--json", "-"]].concat()));
    for end in ["own", "peer"] {
        let counts =
            ["cached", "whole"].map(|way| told[format!("{end}_certificates_{way}")].clone());
        assert_eq!(counts, [4, 1].map(Value::from), "{told}");
    }
    for end in ["own", "peer"] {
        let missed = &told[format!("{end}_certificates_missed")];
        assert_eq!(*missed, json!({"nothing-cached": 1}), "{told}");
    }
    let saved = told["certificate_bytes_saved"].as_u64().unwrap();
    assert_eq!(ways(&ends.connect(&server)), CACHED);

    let output = ends.run(&server.address, &load);
    let table = String::from_utf8(output.stdout).unwrap();
    let row = |name: &str| {
        let row = table.lines().find_map(|line| line.strip_prefix(name));
        row.unwrap_or_else(|| panic!("no {name} in {table}")).trim().parse::<u64>().unwrap()
    };
    let names = ["own as a hash", "own whole", "server's as a hash", "server's whole"];
    assert_eq!(names.map(row), [5, 0, 5, 0], "{table}");
    assert_eq!(row("bytes saved by hashes"), saved / 4 * 5, "{table}");
    assert!(!table.contains("own: ") && !table.contains("server's: "), "{table}");

    ends.exchange_certificate(&server);
    let output = ends.run(&server.address, &load);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(
        table
            .lines()
            .any(|line| line.starts_with("server's: another-chain") && line.ends_with(" 1")),
        "{table}"
    );
    let told = server.end();
    let sums = told.iter().rfind(|fact| fact["event"] == "cached_certificates").unwrap();
    assert_eq!(
        (&sums["sent_cached"], &sums["received_cached"]),
        (&14.into(), &15.into()),
        "{sums}"
    );
}

/// A resumption uses a ticket and brings the next one, so the full handshake after it is cached.
#[test]
fn sessions_and_certificates_lie_in_one_directory() {
    let ends = Ends::new();
    let server = ends.serve();
    let sessions = ["--json", "-", "--sessions", &ends.directory("client")];
    for resumed in [false, true] {
        let fact = facts(&ends.run(&server.address, &sessions));
        assert_eq!(fact["resumed"], resumed, "{fact}");
        assert_eq!(fact["own_certificate"].is_null(), resumed, "{fact}");
    }
    assert_eq!(ways(&ends.connect(&server)), CACHED);
}

#[test]
fn s_client_is_served_by_a_server_that_caches_and_is_not_cached() {
    let ends = Ends::new();
    let server = ends.serve_at("127.0.0.1:0", &["--http"]);
    let path = |name| ends.pki.path(name);
    let (root, own, key) = (path("root.pem"), path("client.pem"), path("client.key"));
    assert_eq!(found(&server), "nothing");
    for _ in 0..2 {
        let told = s_client(
            &server,
            &["-CAfile", &root, "-verify_return_error", "-cert", &own, "-key", &key],
        );
        assert!(told.contains("Verify return code: 0"), "{told}");
        let fact = connection(&server);
        assert!(none_is_cached(&fact) && fact["error"].is_null(), "{fact}");
        assert_eq!(missed(&fact), ["takes-no-part", "takes-no-part"], "{fact}");
    }
    let told = server.end();
    let sums = told.iter().rfind(|fact| fact["event"] == "cached_certificates");
    assert!(
        sums.is_none_or(|sums| sums["entries"] == 0 && sums["received_cached"] == 0),
        "{sums:?}"
    );
}

#[test]
fn s_server_is_reached_by_a_client_that_caches_and_is_not_cached() {
    let pki = Pki::new(P256);
    let root = pki.path("root.pem");
    let (_server, address) = s_server(&pki, &[]);
    let directory = Directory::new();
    let certificates = directory.path("certificates");
    let options = [&address, "--ca", &root, "--server-name", "localhost", "--json", "-"];
    let options = [&options[..], &["--cache-certificates", &certificates]].concat();
    for why in ["nothing-cached", "takes-no-part"] {
        let fact = facts(&connect(&options, "abc\n"));
        assert_eq!(missed(&fact), ["-", why], "{fact}");
        assert!(["whole", "compressed"].contains(&fact["peer_certificate"].as_str().unwrap()));
    }
}
