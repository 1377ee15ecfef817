//! A client made of Debian's library of wolfSSL, which comes without programs.

use std::net::SocketAddr;
use std::process::Command;

use crate::{Directory, Network, Process};

/// The client's source.
const SOURCE: &str = include_str!("wolfssl_client.c");

/// A client on its way to `address`, which trusts the authority in this PEM file and expects this name. It
/// says `from wolfSSL` when the handshake is complete, writes what it hears to standard output, and ends when
/// the server closes.
///
/// # Panics
/// If there is no compiler, or no library of wolfSSL to compile with.
#[track_caller]
pub fn client(address: SocketAddr, ca_file: &str, name: &str) -> Process {
    let directory = Directory::new();
    let source = directory.write("client.c", SOURCE);
    let program = directory.path("client");
    let compiler = Command::new("cc").args(["-o", &program, &source, "-lwolfssl"]).output();
    let compiled = compiler.expect("Rust needs a C compiler to link, and so does this test");
    assert!(
        compiled.status.success(),
        "run scripts/setup-tests, or install Debian's package libwolfssl-dev: {}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let port = address.port().to_string();
    let process =
        Process::start_compiled("wolfSSL", &program, Network::Loopback, [&port, ca_file, name]);
    // The directory goes when it runs.
    process.wait_for("to begin", crate::PATIENCE, || {
        process.stderr().contains("begins").then_some(())
    });
    process
}
