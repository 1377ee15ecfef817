//! Peers built with Debian's library of BoringSSL, that of Android, which has no programs. They cache the chains of
//! servers by their public ids (`docs/cached-handshakes.md`), through BoringSSL's own interface for compressing
//! certificates. Chains of clients are always whole: BoringSSL offers no compression in a CertificateRequest.

use std::fs;
use std::net::SocketAddr;

use crate::{PATIENCE, Process, compiled};

/// The source of both.
const SOURCE: &str = include_str!("boringssl_peer.c");

/// Debian's directory of the headers; the library is in a folder of the same name, so that it is not mistaken for
/// OpenSSL's.
const HEADERS: &str = "-I/usr/include/android";

/// Starts a client that connects this many times, one after the other; it trusts the authority in this PEM file and
/// expects this name. For each connection it prints whether the server's chain came `whole` or as a `hash`, sends `from
/// BoringSSL`, and prints what it receives.
///
/// # Panics
/// If there is no compiler, or no library of BoringSSL to compile with.
#[track_caller]
pub fn client(address: SocketAddr, ca_file: &str, name: &str, times: usize) -> Process {
    let (port, times) = (address.port().to_string(), times.to_string());
    start(&["client", &port, ca_file, name, &times])
}

/// Starts a server with this chain in a PEM file and its key in a DER file, for one connection after the other. It
/// prints the same as the client.
///
/// # Panics
/// If there is no compiler, or no library of BoringSSL to compile with.
#[track_caller]
pub fn server(chain_file: &str, key_file: &str) -> (Process, SocketAddr) {
    let program = start(&["server", chain_file, key_file]);
    let port = program.wait_for("to name its port", PATIENCE, || {
        let output = program.stdout();
        output.strip_prefix("port ")?.split_once('\n')?.0.parse().ok()
    });
    (program, SocketAddr::from(([127, 0, 0, 1], port)))
}

#[track_caller]
fn start(arguments: &[&str]) -> Process {
    let mut folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let mut folder = folders.find_map(|folder| {
        let folder = folder.path().join("android");
        folder.join("libssl.so").exists().then_some(folder)
    });
    let folder = folder.get_or_insert_with(|| "/usr/lib/android".into()).display();
    let (from, at_run_time) = (format!("-L{folder}"), format!("-Wl,-rpath,{folder}"));
    let library = [HEADERS, &from, &at_run_time, "-lssl", "-lcrypto"];
    compiled::start("BoringSSL", SOURCE, &library, "android-libboringssl-dev", arguments)
}
