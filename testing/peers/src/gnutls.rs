//! Peers by GnuTLS's own programs.

use std::net::SocketAddr;

use crate::{Network, Process, free_port};

/// Starts `gnutls-serv`, which prints what it receives.
#[track_caller]
pub fn server(arguments: &[&str]) -> (Process, SocketAddr) {
    let port = free_port().expect("a port is free");
    let own = ["--echo", "--port", &port.to_string()];
    let process = Process::start("gnutls-serv", Network::Loopback, own.iter().chain(arguments));
    process.listens_on(port);
    (process, SocketAddr::from(([127, 0, 0, 1], port)))
}

/// Starts `gnutls-cli` with `address`; it expects this name.
#[track_caller]
pub fn client(address: SocketAddr, name: &str, arguments: &[&str]) -> Process {
    let (port, host) = (address.port().to_string(), address.ip().to_string());
    let names = [format!("--sni-hostname={name}"), format!("--verify-hostname={name}")];
    let own = ["--port", &port, &names[0], &names[1]];
    let all = own.iter().chain(arguments).copied().chain([&host[..]]);
    Process::start("gnutls-cli", Network::Loopback, all)
}
