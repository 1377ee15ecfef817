//! A client built with Debian's library of wolfSSL, which has no programs.

use std::net::SocketAddr;

use crate::{Process, compiled};

/// The client's source.
const SOURCE: &str = include_str!("wolfssl_client.c");

/// Starts a client of `address`, which trusts the authority in this PEM file and expects this name. It sends `from
/// wolfSSL` when the handshake is complete, prints what it receives, and ends when the server closes.
///
/// # Panics
/// If there is no compiler, or no library of wolfSSL to compile with.
#[track_caller]
pub fn client(address: SocketAddr, ca_file: &str, name: &str) -> Process {
    let port = address.port().to_string();
    compiled::start("wolfSSL", SOURCE, &["-lwolfssl"], "libwolfssl-dev", &[&port, ca_file, name])
}
