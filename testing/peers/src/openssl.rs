//! Peers by Debian's `openssl` program.

use std::net::SocketAddr;

use crate::{Network, PATIENCE, Process};

/// Starts `openssl s_server` on a port that the system chooses.
#[track_caller]
pub fn s_server(arguments: &[&str]) -> (Process, SocketAddr) {
    let program = start("s_server", &["-accept", "127.0.0.1:0"], arguments);
    let port = program.wait_for("to name its port", PATIENCE, || {
        let output = program.stdout();
        let (_, rest) = output.split_once("ACCEPT 127.0.0.1:")?;
        rest.split_once('\n')?.0.trim().parse().ok()
    });
    (program, SocketAddr::from(([127, 0, 0, 1], port)))
}

/// Starts `openssl s_client` with `address`.
#[track_caller]
pub fn s_client(address: SocketAddr, arguments: &[&str]) -> Process {
    start("s_client", &["-connect", &address.to_string()], arguments)
}

/// Runs a command of `openssl` that needs no network, such as `req`; it must succeed.
#[track_caller]
pub fn run(arguments: &[&str]) {
    output(arguments);
}

/// The same; returns what it prints.
#[track_caller]
pub fn output(arguments: &[&str]) -> String {
    let mut program = Process::start("openssl", Network::None, arguments);
    let succeeded = program.end_input().ends();
    assert!(succeeded, "openssl {} failed: {}", arguments.join(" "), program.output());
    program.stdout()
}

#[track_caller]
fn start(command: &str, network: &[&str], arguments: &[&str]) -> Process {
    Process::start("openssl", Network::Loopback, [&[command], network, arguments].concat())
}
