//! `--cache-certificates`: chains travel once, also from one process to the next.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tessera_test_peers::Directory;

use crate::openssl::{s_client, s_server};
use crate::program::{P256, Pki, Server, connect, facts, run, stderr, tessera};

/// Two ends that keep certificates, each in a directory of its own.
pub(crate) struct Ends {
    pub(crate) pki: Pki,
    directory: Directory,
}

impl Ends {
    pub(crate) fn new() -> Self {
        Self { pki: Pki::new(P256), directory: Directory::new() }
    }

    /// The server's directory, or the client's.
    pub(crate) fn directory(&self, end: &str) -> String {
        self.directory.path(end)
    }

    pub(crate) fn serve(&self) -> Server {
        self.serve_at("127.0.0.1:0", &[])
    }

    pub(crate) fn serve_at(&self, listen: &str, more: &[&str]) -> Server {
        let [root, own, key] = ["root.pem", "server.pem", "server.key"].map(|it| self.pki.path(it));
        let directory = self.directory("server");
        let mut options = vec!["--certificate", &own, "--key", &key, "--ca", &root];
        options.extend(["--require-client-certificate", "--cache-certificates", &directory]);
        Server::listening(listen, &[&options, more].concat())
    }

    /// Of a client with a certificate of its own.
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

    /// Gives the facts of such a client.
    pub(crate) fn connect(&self, server: &Server) -> Value {
        facts(&self.run(&server.address, &["--json", "-"]))
    }

    /// The server goes on with another certificate.
    pub(crate) fn exchange_certificate(&self, server: &Server) {
        self.pki.issue("other", "subjectAltName=DNS:localhost,IP:127.0.0.1", P256);
        for end in ["pem", "key"] {
            let path = |name| self.pki.path(&format!("{name}.{end}"));
            fs::copy(path("other"), path("server")).unwrap();
        }
        reload(server);
    }

    /// The file of an end.
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

/// How both certificates travelled, as this end tells it: its own and the peer's.
pub(crate) fn ways(fact: &Value) -> [&str; 2] {
    ["own_certificate", "peer_certificate"].map(|name| fact[name].as_str().unwrap())
}

pub(crate) const CACHED: [&str; 2] = ["cached", "cached"];

/// Whether a certificate travelled without a cache.
pub(crate) fn none_is_cached(fact: &Value) -> bool {
    ways(fact).iter().all(|way| ["whole", "compressed"].contains(way))
}

/// What the server found when it began.
pub(crate) fn found(server: &Server) -> Value {
    let fact = server.next();
    assert_eq!(fact["event"], "certificate_cache", "{fact}");
    fact["found"].clone()
}

/// The server's next connection.
fn connection(server: &Server) -> Value {
    std::iter::repeat_with(|| server.next()).find(|fact| fact["event"] == "connection").unwrap()
}

#[test]
fn the_second_connection_has_hashes_for_both_certificates() {
    let ends = Ends::new();
    let server = ends.serve();
    assert_eq!(found(&server), "nothing");
    let first = ends.connect(&server);
    assert!(none_is_cached(&first) && none_is_cached(&connection(&server)), "{first}");
    assert_eq!(first["peer_certificate_missed"], "nothing-cached");
    for _ in 0..3 {
        let (client, server) = (ends.connect(&server), connection(&server));
        for fact in [client, server] {
            assert_eq!(ways(&fact), CACHED, "{fact}");
            assert_eq!(fact["own_certificate_bytes"], 44, "{fact}");
            assert_eq!(fact["peer_certificate_bytes"], 44, "{fact}");
            assert_eq!(
                (&fact["resumed"], &fact["peer_certificate_missed"]),
                (&false.into(), &Value::Null)
            );
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

#[test]
fn a_server_that_changes_its_certificate_sends_the_new_one_whole_once() {
    let ends = Ends::new();
    let server = ends.serve();
    ends.connect(&server);
    ends.exchange_certificate(&server);
    let fact = ends.connect(&server);
    assert_eq!(fact["peer_certificate_missed"], "another-chain", "{fact}");
    // The client is the one that it was.
    assert_eq!(fact["own_certificate"], "cached", "{fact}");
    assert_eq!(ways(&ends.connect(&server)), CACHED);
}

/// Whoever was accepted by authorities of before is known no more.
#[test]
fn a_server_whose_authorities_change_forgets_its_clients() {
    let ends = Ends::new();
    let server = ends.serve();
    ends.connect(&server);
    let other = Pki::new(P256);
    let both =
        [ends.pki.path("root.pem"), other.path("root.pem")].map(|path| fs::read(path).unwrap());
    fs::write(ends.pki.path("root.pem"), both.concat()).unwrap();
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
    for (missed, way) in [("nothing-cached".into(), None), (Value::Null, Some("cached"))] {
        let fact = server.facts(&["--cache-certificates", &of_client]);
        assert_eq!(fact["peer_certificate_missed"], missed, "{fact}");
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
    assert_eq!(told["peer_certificates_missed"], json!({"nothing-cached": 1}), "{told}");
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
    assert!(!table.contains("whole: "), "{table}");

    ends.exchange_certificate(&server);
    let output = ends.run(&server.address, &load);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(
        table.lines().any(|line| line.starts_with("whole: another-chain") && line.ends_with(" 1")),
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

/// What can't be read is ignored, and replaced; nobody is refused for it.
#[test]
fn files_that_are_damaged_or_newer_are_named_and_ignored() {
    let ends = Ends::new();
    let server = ends.serve();
    ends.connect(&server);
    let address = server.address.clone();
    server.end();
    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, Damage); 4] = [
        ("damaged", |bytes| bytes.truncate(bytes.len() - 1)),
        ("damaged", |bytes| bytes[40] ^= 1),
        ("damaged", Vec::clear),
        // The version is after the name.
        ("newer", |bytes| bytes[15] = 2),
    ];
    for (told, damage) in damages {
        for end in ["server", "client"] {
            let mut bytes = fs::read(ends.file(end)).unwrap();
            damage(&mut bytes);
            fs::write(ends.file(end), bytes).unwrap();
        }
        let server = ends.serve_at(&address, &[]);
        assert_eq!(found(&server), told);
        let output = ends.run(&server.address, &[]);
        let line = stderr(&output);
        assert!(output.status.success(), "{line}");
        let why = if told == "newer" { "a newer version" } else { "cut off or changed" };
        let file = ends.file("client").display().to_string();
        assert!(line.contains(&file) && line.contains(why) && line.contains("ignored"), "{line}");
        assert!(none_is_cached(&connection(&server)));
        // Both have learned again.
        assert_eq!(ways(&ends.connect(&server)), CACHED);
        server.end();
    }
}

/// A resumption takes a ticket and gives the next one, so that the full handshake after it is cached.
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

/// Runs an end with certificates in this directory, which must refuse it with this advice.
fn refused(end: &str, directory: &str, advice: &[&str]) {
    let address = if end == "connect" { "127.0.0.1:1" } else { "--listen=127.0.0.1:0" };
    let mut arguments = vec![end, address, "--cache-certificates", directory];
    if end == "connect" {
        arguments.push("--insecure-accept-any-certificate");
    }
    let output = run(tessera().args(&arguments), "");
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{end}: {told}");
    assert!(told.contains(directory) && advice.iter().all(|it| told.contains(it)), "{end}: {told}");
}

#[test]
fn directories_where_others_can_write_are_refused() {
    let temporary = Directory::new();
    let directory = temporary.path("certificates");
    fs::create_dir(&directory).unwrap();
    let user = fs::metadata(&directory).unwrap().uid();
    for end in ["serve", "connect"] {
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
        refused(end, &directory, &["others may use it", "0777", "chmod go-w"]);
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
        // Only root can give a directory away; others find one of root's.
        let of_another = if user == 0 { directory.as_str() } else { "/usr" };
        if user == 0 {
            chown(&directory, Some(65_534), None).unwrap();
        }
        refused(end, of_another, &["it belongs to user", "--cache-certificates"]);
        if user == 0 {
            chown(&directory, Some(0), None).unwrap();
        }
    }
    let file = temporary.write("file", "");
    refused("serve", &file, &["--cache-certificates"]);
}

#[test]
fn a_file_that_others_can_read_or_own_is_refused() {
    let ends = Ends::new();
    ends.serve().end();
    let file = ends.file("server");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    refused("serve", &ends.directory("server"), &["others may use it", "0644", "chmod go="]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    if fs::metadata(&file).unwrap().uid() == 0 {
        chown(&file, Some(65_534), None).unwrap();
        refused("serve", &ends.directory("server"), &["it belongs to user 65534"]);
    }
}

#[test]
fn what_is_no_file_is_refused() {
    let ends = Ends::new();
    ends.serve().end();
    let file = ends.file("server");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    refused("serve", &ends.directory("server"), &["this is no file"]);
    fs::remove_dir(&file).unwrap();
    // A pipe is not waited for.
    assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    refused("serve", &ends.directory("server"), &["this is no file"]);
}

#[test]
fn a_directory_that_can_not_be_written_is_refused_at_the_beginning() {
    let ends = Ends::new();
    ends.serve().end();
    // Root writes wherever there is room, but not over a directory.
    fs::create_dir(format!("{}/clients.new", ends.directory("server"))).unwrap();
    refused("serve", &ends.directory("server"), &["clients", "--cache-certificates"]);
}

#[test]
fn two_servers_do_not_share_a_directory() {
    let ends = Ends::new();
    let server = ends.serve();
    refused("serve", &ends.directory("server"), &["another server keeps its certificates there"]);
    drop(server);
}

#[test]
fn a_state_and_certificates_need_a_directory_each() {
    let directory = Directory::new();
    let both = directory.path("both");
    let output =
        run(tessera().args(["serve", "--state", &both, "--cache-certificates", &both]), "");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("a directory each"), "{}", stderr(&output));
    assert!(!Path::new(&both).exists());
}

#[test]
fn certificates_are_not_cached_where_there_can_be_none() {
    let psk = "client1:000102030405060708090a0b0c0d0e0f";
    for end in [&["serve"][..], &["connect", "127.0.0.1:1"]] {
        let options = ["--psk", psk, "--cache-certificates", "/nowhere"];
        let output = run(tessera().args(end).args(options), "");
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("has nothing to cache"), "{}", stderr(&output));
    }
    assert!(!Path::new("/nowhere").exists());
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
    for missed in ["nothing-cached", "takes-no-part"] {
        let fact = facts(&connect(&options, "abc\n"));
        assert_eq!(fact["peer_certificate_missed"], missed, "{fact}");
        assert!(["whole", "compressed"].contains(&fact["peer_certificate"].as_str().unwrap()));
    }
}
