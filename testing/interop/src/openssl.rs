//! The peers that Debian's `openssl` program makes.

use std::net::SocketAddr;

use crate::program::Program;

/// `openssl s_server` on a port that the system chose.
pub fn s_server(arguments: &[&str]) -> (Program, SocketAddr) {
    let program = start("s_server", &["-accept", "127.0.0.1:0"], arguments);
    program.says("ACCEPT 127.0.0.1:");
    let port = crate::wait_until("the port of s_server", || {
        let output = program.output();
        let (_, rest) = output.split_once("ACCEPT 127.0.0.1:")?;
        rest.split_once('\n')?.0.trim().parse().ok()
    });
    (program, SocketAddr::from(([127, 0, 0, 1], port)))
}

/// `openssl s_client` on its way to `address`.
pub fn s_client(address: SocketAddr, arguments: &[&str]) -> Program {
    start("s_client", &["-connect", &address.to_string()], arguments)
}

fn start(command: &str, network: &[&str], arguments: &[&str]) -> Program {
    let arguments = [&[command], network, arguments].concat();
    Program::start("openssl", &arguments)
}
