//! Programs' datagrams through `connect --udp --listen` and `serve --udp --forward`, and DTLS 1.2 through
//! `--forward-dtls12`.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use serde_json::Value;
use tessera_test_peers::{Directory, coap, openssl, wait_until};

use crate::program::{P256, Pki, Server, run, stderr, tessera};

/// Starts a server that returns datagrams, and as many bytes as one demands.
pub(crate) fn echo() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    std::thread::spawn(move || answer(&socket));
    address
}

fn answer(socket: &UdpSocket) {
    let mut buffer = [0; 65_535];
    while let Ok((len, from)) = socket.recv_from(&mut buffer) {
        let text = str::from_utf8(&buffer[..len]).unwrap_or_default();
        let demanded = text.strip_prefix("long ").and_then(|len| len.parse().ok());
        let answer = demanded.map_or(buffer[..len].to_vec(), |len| vec![b'x'; len]);
        socket.send_to(&answer, from).unwrap();
    }
}

/// Returns a program's socket, connected to an end that listens.
pub(crate) fn program(end: &Server) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(&end.address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket
}

/// Sends a datagram, and expects it back.
pub(crate) fn exchange(program: &UdpSocket, datagram: &[u8]) {
    program.send(datagram).unwrap();
    assert_eq!(receive(program), datagram);
}

fn receive(program: &UdpSocket) -> Vec<u8> {
    let mut buffer = [0; 65_535];
    let len = program.recv(&mut buffer).unwrap();
    buffer[..len].to_vec()
}

fn source(program: &UdpSocket) -> Value {
    program.local_addr().unwrap().to_string().into()
}

#[test]
fn programs_reach_a_udp_server_each_by_its_own_connection() {
    let server = Server::start(&["--udp", "--forward", &echo().to_string()]);
    let client = server.listening_client(&[]);
    let programs = [program(&client), program(&client)];
    for round in 0..20_u8 {
        for (index, program) in programs.iter().enumerate() {
            program.send(&[round, index as u8]).unwrap();
        }
        for (index, program) in programs.iter().enumerate() {
            assert_eq!(receive(program), [round, index as u8]);
        }
    }
    let told = client.end();
    let mut sources: Vec<_> = told.iter().map(|fact| fact["source"].clone()).collect();
    let mut expected: Vec<_> = programs.iter().map(source).collect();
    sources.sort_by_key(Value::to_string);
    expected.sort_by_key(Value::to_string);
    assert_eq!(sources, expected);
    for fact in told.iter().chain(&[server.next(), server.next()]) {
        assert_eq!(fact["version"], "DTLSv1.3", "{fact}");
        assert_eq!(
            (&fact["error"], &fact["datagrams_dropped"]),
            (&Value::Null, &0.into()),
            "{fact}"
        );
    }
    assert!(server.end().is_empty());
}

#[test]
fn empty_datagrams_and_too_long_ones_are_dropped_and_counted_at_each_end() {
    let server = Server::start(&["--udp", "--forward", &echo().to_string()]);
    let client = server.listening_client(&[]);
    let program = program(&client);
    exchange(&program, b"short");
    exchange(&program, &[7; 1150]);
    program.send(b"").unwrap();
    for _ in 0..3 {
        program.send(&[7; 1300]).unwrap();
    }
    program.send(b"long 1300").unwrap();
    program.send(b"long 60000").unwrap();
    exchange(&program, b"short again");
    assert_eq!(client.end()[0]["datagrams_dropped"], 4);
    assert_eq!(server.next()["datagrams_dropped"], 2);
}

#[test]
fn an_idle_program_comes_back_with_its_next_datagram_as_early_data() {
    let early = ["--forward-secret-early-data"];
    let target = echo().to_string();
    let options = ["--udp", "--forward", &target, "--idle-timeout", "200ms"];
    let server = Server::start(&[&options[..], &early].concat());
    let client = server.listening_client(&early);
    let program = program(&client);
    for (psk, early_data) in [
        (Value::Null, "not-offered"),
        ("forward-secret".into(), "accepted"),
        ("forward-secret".into(), "accepted"),
    ] {
        exchange(&program, b"datagram");
        let (there, here) = (server.next(), client.next());
        assert_eq!(there["error"], "the connection was idle for too long");
        assert_eq!((&here["error"], &here["source"]), (&Value::Null, &source(&program)));
        for fact in [there, here] {
            assert_eq!((&fact["psk"], &fact["early_data"]), (&psk, &early_data.into()), "{fact}");
        }
    }
}

#[test]
fn a_target_that_is_down_for_a_while_ends_no_connection() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let target = socket.local_addr().unwrap();
    drop(socket);
    let server = Server::start(&["--udp", "--forward", &target.to_string()]);
    let client = server.listening_client(&[]);
    let program = program(&client);
    program.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let ask = |datagram: &[u8]| {
        program.send(datagram).unwrap();
        match program.recv(&mut [0; 100]) {
            Ok(_) => Some(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Err(error) => panic!("{error}"),
        }
    };
    for _ in 0..10 {
        assert_eq!(ask(b"before"), None);
    }
    let socket = UdpSocket::bind(target).unwrap();
    std::thread::spawn(move || answer(&socket));
    wait_until("an answer", || ask(b"after"));
    let told = client.end();
    assert_eq!((told.len(), &told[0]["error"]), (1, &Value::Null), "{told:?}");
}

#[test]
fn a_server_that_is_down_is_tried_again_with_a_later_datagram() {
    let target = echo().to_string();
    let pki = Pki::new(P256);
    let [root, certificate, key] = ["root.pem", "server.pem", "server.key"].map(|it| pki.path(it));
    let options = ["--udp", "--forward", &target, "--certificate", &certificate, "--key", &key];
    let server = Server::start(&options);
    let address = server.address.clone();
    let client = Server::connecting(&[&address, "--udp", "--listen", "127.0.0.1:0", "--ca", &root]);
    drop(server);
    let program = program(&client);
    program.send(b"lost").unwrap();
    assert!(client.next()["error"].is_string());
    let _server = Server::listening(&address, &options);
    program.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    wait_until("an answer", || {
        program.send(b"datagram").unwrap();
        program.recv(&mut [0; 100]).ok()
    });
}

#[test]
fn clients_of_dtls12_reach_their_own_server_through_the_same_port() {
    let pki = Pki::new(P256);
    let [certificate, key, root] = ["server.pem", "server.key", "root.pem"].map(|it| pki.path(it));
    let (mut behind, address) =
        openssl::s_server(&["-dtls1_2", "-cert", &certificate, "-key", &key]);
    let server = Server::start(&["--udp", "--forward-dtls12", &address.to_string()]);
    let front = server.address.parse().unwrap();
    let options = ["-dtls1_2", "-CAfile", &root, "-verify_return_error"];
    let mut client = openssl::s_client(front, &options);
    client.tell("question\n");
    behind.says("question");
    behind.tell("answer\n");
    client.says("answer").says("Verify return code: 0").says("DTLSv1.2");
    // DTLS 1.3 goes on as before.
    let trust = ["--udp", "--fingerprint", &server.fingerprint];
    assert_eq!(server.connect(&trust, "hello\n").stdout, b"hello\n");
    assert_eq!(server.next()["version"], "DTLSv1.3");
    client.tell("Q\n").ends();
    behind.says("DONE");
    let relayed = &server.end()[0];
    assert_eq!((&relayed["event"], &relayed["error"]), (&"relayed".into(), &Value::Null));
    assert!(relayed["datagrams_received"].as_u64() >= Some(4), "{relayed}");
}

#[test]
fn a_relay_for_dtls12_is_bounded_and_forgets_idle_clients() {
    let target = echo().to_string();
    let options = ["--udp", "--forward-dtls12", &target, "--idle-timeout", "200ms"];
    let limits = ["--max-connections", "2", "--max-connections-per-address", "2"];
    let server = Server::start(&[&options[..], &limits].concat());
    // With a connection ID.
    let record = [25, 254, 253, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    let programs = [program(&server), program(&server), program(&server)];
    exchange(&programs[0], &record);
    exchange(&programs[1], &record);
    // There is no room for another address, and data without a connection ID begins nothing.
    programs[2].send(&record).unwrap();
    for fact in [server.next(), server.next()] {
        assert_eq!(fact["event"], "relayed");
    }
    programs[2].send(&[23, 254, 253, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    exchange(&programs[1], &record);
    assert_eq!(server.next()["address"], source(&programs[1]));
    exchange(&programs[2], &record);
    assert_eq!(server.next()["address"], source(&programs[2]));
}

#[test]
fn coap_passes_in_both_directions_with_its_blocks() {
    let (_coap, target) = coap::server();
    let server = Server::start(&["--udp", "--forward", &target.to_string()]);
    let client = server.listening_client(&[]);
    let front = client.address.parse().unwrap();
    assert!(coap::request(front, ".well-known/core", &[]).contains("</time>"));
    let long = "0123456789abcdef".repeat(300);
    let directory = Directory::new();
    let file = directory.write("data", &long);
    coap::request(front, "example_data", &["-m", "put", "-f", &file]);
    assert_eq!(coap::request(front, "example_data", &[]).trim_end(), long);
    for fact in client.end() {
        assert_eq!(
            (&fact["error"], &fact["datagrams_dropped"]),
            (&Value::Null, &0.into()),
            "{fact}"
        );
    }
}

/// Its datagram and its close_notify arrive together.
#[test]
fn a_client_that_sends_once_and_closes_gets_the_answer_of_the_target() {
    let target = UdpSocket::bind("127.0.0.1:0").unwrap();
    let server = Server::start(&["--udp", "--forward", &target.local_addr().unwrap().to_string()]);
    let answering = std::thread::spawn(move || {
        let mut buffer = [0; 100];
        let (len, from) = target.recv_from(&mut buffer).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        target.send_to(&buffer[..len], from).unwrap();
    });
    let output = server.connect(&["--udp", "--fingerprint", &server.fingerprint], "hello\n");
    answering.join().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(output.stdout, b"hello\n");
    let fact = server.next();
    assert_eq!((&fact["error"], &fact["datagrams_dropped"]), (&Value::Null, &0.into()), "{fact}");
}

#[test]
fn options_of_forwarding_that_contradict_others_are_refused() {
    let listen = ["connect", "127.0.0.1:1", "--listen", "0"];
    let cases: [(&[&str], &[&str]); 9] = [
        (&["serve", "--forward", "5683"], &["--forward", "--udp"]),
        (&["serve", "--forward-dtls12", "5683"], &["--forward-dtls12", "--udp"]),
        (&["serve", "--udp", "--listen", "5683", "--forward", "5683"], &["--forward", "--listen"]),
        (
            &["serve", "--udp", "--listen", "0.0.0.0:5683", "--forward-dtls12", "5683"],
            &["--forward-dtls12", "--listen"],
        ),
        (&["serve", "--udp", "--forward", "0"], &["--forward", "from 1 to 65535"]),
        (&listen, &["--listen", "--udp"]),
        (&[&listen[..], &["--udp", "--keep-open"]].concat(), &["--listen", "--keep-open"]),
        (&[&listen[..], &["--udp", "--early-data", "x"]].concat(), &["--listen", "--early-data"]),
        (&[&listen[..], &["--udp", "--count", "5"]].concat(), &["--listen", "--count"]),
    ];
    for (arguments, named) in cases {
        let output = run(tessera().args(arguments), "");
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(named.iter().all(|name| told.contains(name)), "{arguments:?}: {told}");
    }
}
