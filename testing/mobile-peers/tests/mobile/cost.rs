//! What it costs to set up an association.

use tessera_mobile_peers::{Arm, Client, ClientOptions, Program, Server};

/// Prints a row: a client's datagrams and bytes, with one message, its ack and the close, and the server's sockets and ports.
#[track_caller]
pub fn print(program: &Program, arm: Arm) {
    let server = Server::start(program, arm);
    let options = ClientOptions { acks: 1, ..ClientOptions::default() };
    let events = Client::start(program, arm, server.address(), options).ends();
    let [sent, received, bytes_sent, bytes_received] =
        ["datagrams_sent", "datagrams_received", "bytes_sent", "bytes_received"]
            .map(|name| events.end(name));
    let (sockets, ports) = server.end().sockets_and_ports;
    println!(
        "{:<18} {sent} datagrams ({bytes_sent} B) sent, {received} ({bytes_received} B) received; \
         server: {sockets} sockets, {ports} ports",
        arm.name
    );
}
