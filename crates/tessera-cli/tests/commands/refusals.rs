//! Errors explain what to do, with an exit code that shows whether the options or the environment are at fault.

use std::net::TcpListener;
use tessera_test_peers::{Directory, openssl};

use crate::program::{P256, Pki, Server, connect, run, stderr, tessera};

const KEY: &str = "client1:000102030405060708090a0b0c0d0e0f";
const OTHER: &str = "client1:00000000000000000000000000000000";

fn refused(arguments: &[&str], code: i32, advice: &[&str]) {
    let output = run(tessera().args(arguments), "");
    let stderr = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
    for advice in advice {
        assert!(stderr.contains(advice), "{arguments:?}: {stderr}");
    }
}

#[test]
fn connect_refuses_certificates_that_are_not_trusted() {
    let server = Server::start(&["--name", "localhost"]);
    let pki = Pki::new(P256);
    let root = pki.path("root.pem");
    let address = server.address.as_str();
    refused(&["connect", address, "--ca", &root], 1, &["--ca FILE", &server.fingerprint]);
    let other = "00".repeat(32);
    refused(
        &["connect", address, "--fingerprint", &other],
        1,
        &["another certificate", &server.fingerprint],
    );
    let accepted = server.connect(&["--insecure-accept-any-certificate"], "hello");
    assert!(accepted.status.success());
    assert_eq!(accepted.stdout, b"hello");
}

#[test]
fn connect_refuses_a_certificate_for_another_name() {
    let pki = Pki::new(P256);
    let [root, certificate, key] = ["root.pem", "server.pem", "server.key"].map(|it| pki.path(it));
    let server = Server::start(&["--certificate", &certificate, "--key", &key]);
    let wrong = ["connect", &server.address, "--ca", &root, "--server-name", "other.example"];
    let names = "it is for other names: localhost, 127.0.0.1; not for other.example";
    let own = server.fingerprint.as_str();
    refused(&wrong, 1, &["not accepted", names, "--server-name", "--fingerprint", own]);
}

/// As old tutorials make them.
#[test]
fn a_certificate_whose_only_name_is_its_common_name_is_refused_with_that_reason() {
    let directory = Directory::new();
    let [certificate, key] = ["pem", "key"].map(|end| directory.path(end));
    let mut request = vec!["req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost"];
    request.extend(["-newkey"].iter().chain(P256));
    request.extend(["-addext", "basicConstraints=critical,CA:FALSE"]);
    request.extend(["-keyout", &key, "-out", &certificate]);
    openssl::run(&request);
    let server = Server::start(&["--certificate", &certificate, "--key", &key]);
    let connect = ["connect", &server.address, "--ca", &certificate, "--server-name", "localhost"];
    refused(&connect, 1, &["subjectAltName", "common name"]);
}

#[test]
fn a_name_that_can_not_be_one_is_refused_by_its_option() {
    let server = Server::start(&[]);
    for name in ["a".repeat(300), "server.example:443".to_owned()] {
        let wrong = ["connect", &server.address, "--server-name", &name, "--fingerprint"];
        refused(&[&wrong[..], &[&server.fingerprint]].concat(), 2, &["--server-name"]);
    }
}

#[test]
fn connect_and_serve_with_psks_that_differ_report_it() {
    let server = Server::start(&["--psk", KEY]);
    let address = server.address.clone();
    refused(&["connect", &address, "--psk", OTHER], 1, &["DECRYPT_ERROR"]);
    assert!(server.next()["error"].as_str().unwrap().contains("binder"));
    refused(&["connect", &address, "--psk", &OTHER.replace("client1", "nobody")], 1, &[]);

    let server = Server::start(&[]);
    refused(&["connect", &server.address, "--psk", KEY], 1, &["--psk-hash", "--ca FILE"]);
}

#[test]
fn files_that_are_not_what_they_should_be_are_named_in_an_error() {
    let pki = Pki::new(P256);
    let directory = Directory::new();
    let (certificate, key) = (pki.path("server.pem"), pki.path("server.key"));
    let missing = directory.path("missing.pem");
    let serve = |more: &[&str], advice: &[&str]| refused(&[&["serve"], more].concat(), 2, advice);
    serve(&["--certificate", &missing], &["missing.pem", "--certificate"]);
    serve(&["--certificate", &certificate], &["server.pem", "no private key"]);
    serve(&["--certificate", &key, "--key", &key], &["no certificate"]);
    let others = pki.path("client.key");
    serve(&["--certificate", &certificate, "--key", &others], &["another certificate"]);
    let none = directory
        .write("none.key", "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n");
    serve(&["--certificate", &certificate, "--key", &none], &["none.key", "malformed"]);
    let locked = directory.write(
        "locked.key",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
    );
    serve(&["--certificate", &certificate, "--key", &locked], &["openssl pkcs8"]);
    let psks = directory.write("psks", "client1:0g\n");
    serve(&["--psk-file", &psks], &["psks:1", "hexadecimal"]);
    serve(&["--psk", "client1:00"], &["16 bytes"]);
    serve(&["--require-client-certificate"], &["--ca"]);
    serve(&["--ca", &certificate], &["--ask-client-certificate"]);
    serve(&["--groups", "secp224r1"], &["X25519MLKEM768"]);
    for option in ["--json", "--key-log", "--write-certificate"] {
        serve(&[option, &directory.path("no/where")], &["no/where", "directory", option]);
    }
    serve(&["--certificate", &directory.path("")], &["is a directory", "--certificate"]);
    serve(&["--alpn", ""], &["--alpn", "255 bytes"]);
    serve(&["--name", ""], &["--name"]);
    let connect = ["connect", "localhost", "--psk", KEY, "--sessions", &psks];
    refused(&connect, 2, &["psks", "is a file", "--sessions"]);

    let sessions = directory.path("sessions");
    let connect = |key: &str, advice: &[&str]| {
        let options = ["connect", "127.0.0.1:1", "--psk", KEY, "--sessions", &sessions];
        let advice = [&["--sessions-key"], advice].concat();
        refused(&[&options[..], &["--sessions-key", key]].concat(), 2, &advice);
    };
    connect(&directory.path("missing"), &["no such file"]);
    connect(&directory.path(""), &["is a directory"]);
    connect(&directory.write("short.key", "0011"), &["short.key", "32 bytes", "openssl rand"]);
    connect(&directory.write("long.key", "00".repeat(40)), &["32 bytes"]);
    connect(&directory.write("zeros.key", "00".repeat(32)), &["random"]);
    let beside = directory.write("sessions/key", "a5".repeat(32));
    connect(&beside, &["elsewhere", "$XDG_RUNTIME_DIR"]);
}

#[test]
fn addresses_that_can_not_be_used_are_named_in_an_error() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    refused(&["serve", "--listen", &address], 1, &["another program"]);
    drop(taken);
    refused(&["connect", &address, "--psk", KEY], 1, &["nothing listens"]);
    refused(&["connect", "host:x"], 2, &["HOST:PORT"]);
    refused(
        &["connect", "no.such.invalid", "--psk", KEY],
        1,
        &["no.such.invalid", "check the host"],
    );
    refused(&["serve", "--listen", ":4433"], 2, &["--listen", "0.0.0.0:4433"]);
    refused(&["serve", "--listen", "no.such.name.invalid:4433"], 2, &["no.such.name.invalid"]);
    // An address of RFC 5737: no machine has it.
    refused(&["serve", "--listen", "192.0.2.1:4433"], 1, &["192.0.2.1:4433", "0.0.0.0:4433"]);
}

#[test]
fn serve_and_connect_have_help_with_examples() {
    for command in ["serve", "connect"] {
        let output = run(tessera().args([command, "--help"]), "");
        let help = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success());
        for word in ["Examples:", "without-forward-secrecy", "--psk-file", "--json"] {
            assert!(help.contains(word), "{command}: {word}");
        }
    }
    assert!(connect(&[], "").status.code() == Some(2));
}

#[test]
fn serve_listens_on_names_and_bare_ports() {
    for (listen, is) in [("localhost:0", "127.0.0.1:"), ("0", "127.0.0.1:"), ("[::1]:0", "[::1]:")]
    {
        let server = Server::listening(listen, &[]);
        assert!(server.address.starts_with(is), "{listen}: {}", server.address);
        server.facts(&[]);
    }
}

#[test]
fn options_that_contradict_each_other_are_refused_with_a_sentence() {
    let directory = Directory::new();
    let (data, sessions) = (directory.write("data", "early"), directory.path("sessions"));
    const FORWARD_SECRET: &str = "--forward-secret-early-data";
    const REPLAYABLE: &str = "--replayable-early-data-without-forward-secrecy";
    let serve = |options: &[&str], advice: &[&str]| {
        refused(&[&["serve", "--listen", "0"], options].concat(), 2, advice);
    };
    serve(&["--tickets", "0", FORWARD_SECRET], &["--tickets 0", "leave out"]);
    serve(
        &["--max-connections", "5", "--max-connections-per-address", "6"],
        &["--max-connections"],
    );
    serve(&["--http", "--alpn", "h2,smtp"], &["--alpn may list only h2"]);
    serve(&["--psk", KEY, "--write-certificate", &directory.path("it")], &["--name"]);
    serve(&["--psk-hash", "sha384"], &["--psk-file"]);
    serve(&["--import-psks"], &["--psk-file"]);
    serve(&["--groups", "x25519,x25519"], &["--groups", "each once"]);
    serve(&["--idle-timeout", "1w"], &["--idle-timeout", "5m"]);
    serve(&["--tickets", "many"], &["--tickets", "a whole number from 0 to 32"]);
    #[cfg(feature = "demo")]
    serve(&["--name", "bücher.example"], &["--name \"bücher.example\"", "xn--"]);
    serve(&["--write-timeout", "0"], &["--write-timeout", "1ms"]);

    // Nothing listens there: the options are rejected before a connection.
    let connect = |options: &[&str], advice: &[&str]| {
        refused(&[&["connect", "127.0.0.1:1"], options].concat(), 2, advice);
    };
    connect(&["--early-data", &data, "--sessions", &sessions], &[FORWARD_SECRET]);
    connect(&["--early-data", &data, FORWARD_SECRET], &["--sessions", "twice"]);
    connect(&["--sessions-key", &data], &["--sessions DIRECTORY"]);
    connect(&[FORWARD_SECRET, REPLAYABLE], &["name one"]);
    connect(&["--count", "5", "--keep-open"], &["--keep-open"]);
    connect(&["--count", "5", "--sessions", &sessions], &["--sessions"]);
    connect(&["--count", "5", "--early-data", &data], &["--mode 0rtt-fs"]);
    connect(&["--count", "5", FORWARD_SECRET], &["--mode 0rtt-fs"]);
    connect(&["--count", "5", "--tickets", "0"], &["--mode full"]);
    connect(&["--psk-hash", "sha384"], &["--psk-file"]);
}
