//! Redis: a server without persistence, and its client.

use std::net::SocketAddr;

use crate::{Network, Process, free_port};

/// Starts a server on the loopback interface.
#[track_caller]
pub fn server() -> (Process, SocketAddr) {
    let port = free_port().expect("a port is free");
    let text = port.to_string();
    let options = ["--port", &text, "--bind", "127.0.0.1", "--save", "", "--dir", "."];
    let server = Process::start("redis-server", Network::Loopback, options);
    server.says("Ready to accept connections");
    (server, SocketAddr::from(([127, 0, 0, 1], port)))
}

/// Runs one command by `redis-cli`, which must succeed; returns its output.
#[track_caller]
pub fn cli(address: SocketAddr, command: &[&str]) -> String {
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    let arguments = [&["-h", &host, "-p", &port, "-e"], command].concat();
    let mut cli = Process::start("redis-cli", Network::Loopback, arguments);
    let succeeded = cli.end_input().ends();
    assert!(succeeded, "redis-cli {} failed: {}", command.join(" "), cli.output());
    cli.stdout().trim_end().to_owned()
}
