//! Servers over UDP that are killed, or restart, while clients are connected.

use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tessera_test_peers::{Directory, wait_until};

use crate::forwarding::{echo, exchange, program};
use crate::program::{P256, Pki, Server, stderr, tessera};

const LOST: &str = "the server has lost the association";

/// What a server needs to start again as the one before.
struct Service {
    pki: Pki,
    files: Directory,
    options: Vec<String>,
}

impl Service {
    fn new(options: &[&str]) -> Self {
        let (pki, files) = (Pki::new(P256), Directory::new());
        let mut all = vec!["--udp".to_owned()];
        all.extend(["--certificate".to_owned(), pki.path("server.pem")]);
        all.extend(["--key".to_owned(), pki.path("server.key")]);
        all.extend(options.iter().map(|&option| option.to_owned()));
        Self { pki, files, options: all }
    }

    /// Keeps a state, of which old copies are noticed.
    fn with_state(mut self) -> Self {
        let key = self.files.write_private("key", "07".repeat(32));
        let (state, witness) = (self.files.path("state"), self.files.path("witness"));
        let options = ["--state", &state, "--state-key", &key, "--state-witness", &witness];
        self.options.extend(options.map(str::to_owned));
        self
    }

    fn start(&self) -> Server {
        self.start_at("127.0.0.1:0")
    }

    fn start_at(&self, address: &str) -> Server {
        let options: Vec<_> = self.options.iter().map(String::as_str).collect();
        Server::listening(address, &options)
    }

    /// Starts a client of a server that carries programs' datagrams.
    fn client(&self, server: &Server, options: &[&str]) -> Server {
        let root = self.pki.path("root.pem");
        let own = [&server.address, "--udp", "--listen", "127.0.0.1:0", "--ca", &root];
        Server::connecting(&[&own[..], options].concat())
    }
}

/// Kills a server and starts another in its place.
fn kill(service: &Service, server: Server) -> Server {
    let address = server.address.clone();
    drop(server);
    service.start_at(&address)
}

#[test]
fn a_tunnel_works_again_at_once_after_its_server_was_killed() {
    let target = echo().to_string();
    let early = ["--forward-secret-early-data"];
    for options in [&[][..], &early] {
        let forward = [&["--forward", &target][..], options].concat();
        let service = Service::new(&forward).with_state();
        let server = service.start();
        let client = service.client(&server, options);
        let program = program(&client);
        exchange(&program, b"before");
        let _server = kill(&service, server);
        // The program sends each datagram once.
        exchange(&program, b"after");
        exchange(&program, b"and after that");
        let told = client.next();
        assert_eq!(told["error"], LOST, "{told}");
        let told = client.end();
        assert_eq!((told.len(), &told[0]["error"]), (1, &Value::Null), "{told:?}");
        assert_eq!(told[0]["resumed"], true, "{told:?}");
    }
}

#[test]
fn the_first_datagram_of_a_program_is_answered_after_its_server_was_killed() {
    let target = echo().to_string();
    let early = "--forward-secret-early-data";
    for has_state in [true, false] {
        let answered = || {
            let service = Service::new(&["--forward", &target, early]);
            let service = if has_state { service.with_state() } else { service };
            let server = service.start();
            let client = service.client(&server, &[early]);
            exchange(&program(&client), b"before");
            let _server = kill(&service, server);
            let next = program(&client);
            next.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            next.send(b"first").unwrap();
            let is_answered = next.recv(&mut [0; 100]).is_ok();
            // The first program's connection may have learnt it before, and connected again.
            let told = client.end();
            let source = next.local_addr().unwrap().to_string();
            let of_next: Vec<_> = told.iter().filter(|it| it["source"] == source).collect();
            let [told] = of_next[..] else { panic!("{told:?}") };
            let expected = if has_state { "rejected-burned" } else { "rejected-unknown" };
            assert_eq!((&told["early_data"], &told["error"]), (&expected.into(), &Value::Null));
            is_answered
        };
        // On a busy machine the flight leaves twice, and the datagram may have been executed.
        assert!((0..8).any(|_| answered()), "with state: {has_state}");
    }
}

#[test]
fn connect_connects_again_when_its_server_was_killed() {
    let service = Service::new(&[]).with_state();
    let server = service.start();
    let root = service.pki.path("root.pem");
    let mut client = tessera()
        .args(["connect", &server.address, "--udp", "--ca", &root])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = client.stdin.take().unwrap();
    let mut output = BufReader::new(client.stdout.take().unwrap());
    let mut exchange = |line: &str| {
        input.write_all(line.as_bytes()).unwrap();
        let mut told = String::new();
        output.read_line(&mut told).unwrap();
        assert_eq!(told, line);
    };
    exchange("before\n");
    let _server = kill(&service, server);
    exchange("after\n");
    drop(input);
    let ended = client.wait_with_output().unwrap();
    assert!(ended.status.success());
    assert!(stderr(&ended).contains("connecting again"), "{}", stderr(&ended));
}

#[test]
fn clients_notice_nothing_of_a_restart() {
    let target = echo().to_string();
    let service = Service::new(&["--forward", &target]).with_state();
    let mut server = service.start();
    let client = service.client(&server, &[]);
    let programs = [program(&client), program(&client), program(&client)];
    for _ in 0..3 {
        programs.iter().for_each(|program| exchange(program, b"before"));
        let address = server.address.clone();
        // Those of an earlier process may have been opened and not used since.
        for told in server.end() {
            assert!(told["event"] == "state" || told["error"] == Value::Null, "{told}");
        }
        server = service.start_at(&address);
        programs.iter().for_each(|program| exchange(program, b"after"));
    }
    let told = client.end();
    assert_eq!(told.len(), 3, "a connection for each program: {told:?}");
    assert!(told.iter().all(|it| it["error"] == Value::Null), "{told:?}");
    // They are gone from the state at once: who is killed hands over nothing.
    let told = server.end();
    assert_eq!(told.iter().filter(|it| it["event"] == "connection").count(), 3, "{told:?}");
}

#[test]
fn a_state_whose_old_copies_open_keeps_no_connections() {
    let target = echo().to_string();
    let mut service = Service::new(&["--forward", &target]).with_state();
    let kept = service.options.len() - 2;
    service.options.truncate(kept);
    let server = service.start();
    let client = service.client(&server, &[]);
    let program = program(&client);
    exchange(&program, b"before");
    let address = server.address.clone();
    server.end();
    assert_eq!(client.next()["error"], Value::Null, "closed");
    let _server = service.start_at(&address);
    exchange(&program, b"after");
}

#[test]
fn clients_that_are_never_accepted_are_reported_with_address_and_reason() {
    let key = "client1:000102030405060708090a0b0c0d0e0f1011121314151617";
    let other = "client1:ff0102030405060708090a0b0c0d0e0f1011121314151617";
    let server = Server::start(&["--udp", "--psk", key, "--max-connections-per-address", "1"]);
    let output = server.connect(&["--udp", "--psk", other], "");
    assert_eq!(output.status.code(), Some(1));
    let told = server.next();
    assert!(told["address"].as_str().unwrap().starts_with("127.0.0.1:"), "{told}");
    assert!(told["error"].is_string(), "{told}");
    // A second client of an address that may have one.
    let first =
        Server::connecting(&[&server.address, "--udp", "--listen", "127.0.0.1:0", "--psk", key]);
    exchange(&program(&first), b"datagram");
    let second = UdpSocket::bind("127.0.0.1:0").unwrap();
    second.connect(&first.address).unwrap();
    second.send(b"datagram").unwrap();
    let refused = "refused: too many connections from this address";
    wait_until("a refusal", || (server.next()["error"] == refused).then_some(()));
}
