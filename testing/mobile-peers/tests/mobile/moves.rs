//! What holds for every program: a client that changes its address, one with two, and one that dies.

use std::net::UdpSocket;

use tessera_mobile_peers::{Arm, Client, ClientOptions, Program, Server};
use tessera_test_peers::PATIENCE;

/// The interface goes down, and comes up with another address.
#[track_caller]
pub fn a_client_moves(program: &Program, arm: Arm) {
    let server = Server::start(program, arm);
    let mut client = Client::start(program, arm, server.address(), ClientOptions::default());
    client.has_ack(4);
    client.down(0).up(0, "127.0.0.3").has_ack_at("127.0.0.3");
    let events = client.stop();
    let acks = events.acks();
    assert!(acks.iter().copied().eq(0..acks.len() as u64), "{arm:?}: {acks:?}");
    assert_eq!(events.addresses(), ["127.0.0.2", "127.0.0.3"], "{arm:?}");
    let handshakes: Vec<_> = ["full"].into_iter().chain(arm.second_handshake).collect();
    assert_eq!(events.handshakes(), handshakes, "{arm:?}");
    assert_eq!(server.end().sockets_and_ports, arm.sockets_and_ports, "{arm:?}");
}

/// Without news of the interface, a client finds out by time-outs: as many as its options state, unless its association
/// goes on.
#[track_caller]
pub fn a_client_waits_for_its_timeouts(program: &Program, arm: Arm) {
    let server = Server::start(program, arm);
    let options = ClientOptions {
        timeout_ms: 100,
        timeouts: 2,
        detection: "timeout",
        ..ClientOptions::default()
    };
    let mut client = Client::start(program, arm, server.address(), options);
    client.has_ack(4);
    client.down(0).up(0, "127.0.0.3").has_ack_at("127.0.0.3");
    let events = client.stop();
    assert_eq!(events.handshakes().len() > 1, arm.second_handshake.is_some(), "{arm:?}");
    let mut timeouts = 0;
    for name in events.names().into_iter().skip_while(|name| *name != "ack") {
        match name {
            "ack" => timeouts = 0,
            "timeout" => timeouts += 1,
            "handshake_begin" => assert_eq!(timeouts, 2, "{arm:?}"),
            _ => (),
        }
    }
}

/// A client whose server has restarted connects again after its time-outs, though its association goes on otherwise. With
/// `is_told`, the new server informs it before them.
#[track_caller]
pub fn a_server_restarts(program: &Program, arm: Arm, is_told: bool) {
    let server = Server::start(program, arm);
    let options = ClientOptions {
        timeout_ms: if is_told { 15_000 } else { 300 },
        detection: "timeout",
        restarts: true,
        ..ClientOptions::default()
    };
    let client = Client::start(program, arm, server.address(), options);
    client.has_ack(4);
    let server = server.restart(program, arm);
    client.has_ack_after_handshake(2);
    let events = client.stop();
    let acks = events.acks();
    assert!(acks.iter().copied().eq(0..acks.len() as u64), "{arm:?}: {acks:?}");
    server.end();
}

/// A client with two interfaces uses the first that is up.
#[track_caller]
pub fn a_client_has_two_interfaces(program: &Program, arm: Arm) {
    let server = Server::start(program, arm);
    let options = ClientOptions { sources: "127.0.0.2,127.0.0.12", ..ClientOptions::default() };
    let mut client = Client::start(program, arm, server.address(), options);
    client.has_ack(4);
    client.down(0).has_ack_at("127.0.0.12");
    client.up(0, "127.0.0.3").has_ack_at("127.0.0.3");
    let events = client.stop();
    assert_eq!(events.addresses(), ["127.0.0.2", "127.0.0.12", "127.0.0.3"], "{arm:?}");
    assert_eq!(events.handshakes().len(), if arm.second_handshake.is_some() { 3 } else { 1 });
    assert_eq!(server.end().sockets_and_ports, arm.sockets_and_ports, "{arm:?}");
}

/// A client that dies leaves the server serving others.
#[track_caller]
pub fn a_client_dies(program: &Program, arm: Arm) {
    let server = Server::start(program, arm);
    let mut client = Client::start(program, arm, server.address(), ClientOptions::default());
    client.has_ack(2);
    client.kill();
    let options = ClientOptions { acks: 5, ..ClientOptions::default() };
    let next = Client::start(program, arm, server.address(), options);
    assert_eq!(next.ends().handshakes(), ["full"], "{arm:?}");
    server.end();
}

/// A client closes without its acks when its input does, and fails if it doesn't trust the server.
#[track_caller]
pub fn a_client_is_stopped_or_refuses(program: &Program, arm: Arm) {
    let server = Server::start(program, arm);
    let client = Client::start(program, arm, server.address(), ClientOptions::default());
    client.has_ack(2);
    client.stop();
    let options = ClientOptions { ca: "stranger.pem", ..ClientOptions::default() };
    let stranger = Client::start(program, arm, server.address(), options);
    let reason = stranger.fails();
    assert!(reason.to_lowercase().contains("certificate"), "{arm:?}: {reason}");
    server.end();
}

/// A client sends a ClientHello without an answer again, after DTLS's second.
#[track_caller]
pub fn a_clienthello_is_lost(program: &Program, arm: Arm) {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server.set_read_timeout(Some(PATIENCE)).unwrap();
    let address = server.local_addr().unwrap();
    let _client = Client::start(program, arm, address, ClientOptions::default());
    let mut received = [(); 2].map(|()| {
        let mut datagram = [0; 2048];
        let length = server.recv(&mut datagram).unwrap_or_else(|error| panic!("{arm:?}: {error}"));
        datagram[..length].to_vec()
    });
    // The record has a new number.
    received.iter_mut().for_each(|it| it[10] = 0);
    let [first, second] = received;
    assert_eq!(first, second, "{arm:?}");
}
