//! `serve --udp` and `connect --udp`.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::Value;
use tessera_test_peers::Directory;

use crate::program::{Server, connect, facts, run, stderr, tessera};

const KEY: &str = "client1:000102030405060708090a0b0c0d0e0f1011121314151617";

#[test]
fn serve_echoes_the_datagrams_that_connect_sends() {
    let server = Server::start(&["--udp"]);
    let output = server.connect(&["--udp", "--fingerprint", &server.fingerprint], "hello\n");
    assert_eq!(output.stdout, b"hello\n", "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("full handshake, X25519"), "{}", stderr(&output));
    let told = server.next();
    assert_eq!((&told["version"], &told["error"]), (&"DTLSv1.3".into(), &Value::Null));
    assert!(
        told["bytes_received"].as_u64() > Some(500) && told["handshake_micros"].is_u64(),
        "{told}"
    );
    // More than a datagram.
    let long = "0123456789abcdef".repeat(1000);
    let output = server.connect(&["--udp", "--fingerprint", &server.fingerprint], &long);
    assert!(output.stdout == long.as_bytes(), "{} bytes came back", output.stdout.len());
}

#[test]
fn both_send_no_datagram_longer_than_max_datagram() {
    let server = Server::start(&["--udp", "--max-datagram", "300"]);
    let (path, longest) = measure_datagrams(&server.address);
    let trust = ["--udp", "--fingerprint", &server.fingerprint, "--max-datagram", "150"];
    let long = "0123456789abcdef".repeat(100);
    let output = connect(&[&[path.as_str()][..], &trust].concat(), &long);
    assert!(output.stdout == long.as_bytes(), "{}", stderr(&output));
    let longest = longest.map(|longest| longest.load(Ordering::Relaxed));
    assert_eq!(longest, [150, 300], "the client's and the server's longest datagrams");
}

/// Forwards a client's datagrams to the server and back, and measures the longest of the client and of the server.
pub(crate) fn measure_datagrams(server: &str) -> (String, [Arc<AtomicUsize>; 2]) {
    let bind = || UdpSocket::bind("127.0.0.1:0").unwrap();
    let (here, there) = (bind(), bind());
    there.connect(server).unwrap();
    let address = here.local_addr().unwrap().to_string();
    let longest: [Arc<AtomicUsize>; 2] = Default::default();
    let [of_client, of_server] = longest.clone();
    thread::spawn(move || {
        let mut datagram = [0; 2000];
        let mut answers = Some(of_server);
        while let Ok((len, client)) = here.recv_from(&mut datagram) {
            of_client.fetch_max(len, Ordering::Relaxed);
            there.send(&datagram[..len]).unwrap();
            if let Some(of_server) = answers.take() {
                let (here, there) = (here.try_clone().unwrap(), there.try_clone().unwrap());
                thread::spawn(move || {
                    let mut datagram = [0; 2000];
                    while let Ok(len) = there.recv(&mut datagram) {
                        of_server.fetch_max(len, Ordering::Relaxed);
                        here.send_to(&datagram[..len], client).unwrap();
                    }
                });
            }
        }
    });
    (address, longest)
}

#[test]
fn connect_resumes_over_datagrams_with_sessions_from_datagrams() {
    let server = Server::start(&["--udp"]);
    let streams = Server::start(&[]);
    let directory = Directory::new();
    let sessions = directory.path("sessions");
    let resumed = |server: &Server, options: &[&str]| {
        let options = [&["--sessions", &sessions], options].concat();
        server.facts(&options)["psk"].clone()
    };
    assert_eq!(resumed(&streams, &[]), Value::Null);
    assert_eq!(resumed(&server, &["--udp"]), Value::Null);
    assert_eq!(resumed(&server, &["--udp"]), "resumption");
    assert_eq!(resumed(&streams, &[]), "resumption");
}

#[test]
fn connect_sends_forward_secret_early_data_in_its_first_datagram() {
    let server = Server::start(&["--udp", "--forward-secret-early-data"]);
    let directory = Directory::new();
    let (sessions, data) = (directory.path("sessions"), directory.write("data", "early"));
    let trust = ["--udp", "--fingerprint", &server.fingerprint.clone(), "--sessions", &sessions];
    let early = ["--forward-secret-early-data", "--early-data", &data];
    for (expected, psk) in [("not-offered", Value::Null), ("accepted", "forward-secret".into())] {
        let output = server.connect(&[&trust[..], &early].concat(), " and late");
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(output.stdout, b"early and late");
        let told = server.next();
        assert_eq!((&told["early_data"], &told["psk"]), (&expected.into(), &psk));
    }
}

#[test]
fn psks_take_the_place_of_certificates_over_datagrams() {
    for (options, kind) in [(&[][..], "external"), (&["--import-psks"], "imported")] {
        let server = Server::start(&[&["--udp", "--psk", KEY], options].concat());
        let known = [&["--udp", "--psk", KEY, "--json", "-"], options].concat();
        let told = facts(&server.connect(&known, "hello"));
        assert_eq!((&told["psk"], &told["version"]), (&kind.into(), &"DTLSv1.3".into()));
        assert_eq!(server.next()["psk"], kind);
    }
}

#[test]
fn a_server_over_udp_ends_and_reloads_when_it_is_asked_to() {
    let server = Server::start(&["--udp"]);
    server.signal("-HUP");
    assert_eq!(server.next()["event"], "reloaded");
    server.facts(&["--udp"]);
    let told = server.end();
    assert_eq!(told.len(), 1, "{told:?}");
}

#[test]
fn connect_reports_where_nothing_answers_over_udp() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    drop(socket);
    let output = connect(&[&address, "--udp", "--psk", KEY], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("nothing listens there"), "{}", stderr(&output));
}

#[test]
fn options_that_are_for_tcp_are_refused_with_udp() {
    let directory = Directory::new();
    let cache = directory.path("cache");
    let cases: [(&[&str], &[&str]); 6] = [
        (&["serve", "--udp", "--http"], &["--udp", "--http"]),
        (&["serve", "--udp", "--tcp-fast-open"], &["--udp", "--tcp-fast-open"]),
        (&["serve", "--udp", "--write-timeout", "1s"], &["--udp", "--write-timeout"]),
        (&["serve", "--udp", "--cache-certificates", &cache], &["--udp", "--cache-certificates"]),
        (&["connect", "127.0.0.1:1", "--udp", "--count", "5"], &["--udp", "--count"]),
        (&["connect", "127.0.0.1:1", "--udp", "--tcp-fast-open"], &["--udp", "--tcp-fast-open"]),
    ];
    for (arguments, named) in cases {
        let output = run(tessera().args(arguments), "");
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(named.iter().all(|name| told.contains(name)), "{arguments:?}: {told}");
    }
}
