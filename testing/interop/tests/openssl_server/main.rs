//! Tessera's client against `openssl s_server`.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod application;
mod authorities;
mod early_data;
mod full;
mod psk;
mod refusals;
mod resumption;
mod retry;
mod secrets;
mod stapling;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};

use tessera_interop::{Client, Identity, KeyKind, Pki};
use tessera_test_peers::{Network, Process, openssl};

/// An authority, its certificate for the server, and related files.
struct World {
    pki: Pki,
    identity: Identity,
}

impl World {
    fn new() -> Self {
        Self::with(KeyKind::P256)
    }

    fn with(kind: KeyKind) -> Self {
        let pki = Pki::new();
        let identity = pki.server(kind);
        Self { pki, identity }
    }

    /// s_server with the certificate, and with more arguments.
    fn server(&self, arguments: &[&str]) -> (Process, SocketAddr) {
        openssl::s_server(&[&self.identity.arguments(), arguments].concat())
    }
}

/// Exchanges data both ways; one server may have several clients, so every line is different.
#[track_caller]
fn talk(client: &mut Client, server: &mut Process) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    client.send(format!("from Tessera ({number})\n").as_bytes());
    server.says(&format!("from Tessera ({number})"));
    server.tell(&format!("from OpenSSL ({number})\n"));
    client.hear(&format!("from OpenSSL ({number})"));
}

/// Completes the handshake, exchanges data and closes both ways; the tickets arrive meanwhile.
#[track_caller]
fn talk_and_close(client: &mut Client, server: &mut Process) {
    client.handshake();
    talk(client, server);
    client.close();
    server.says("DONE");
    client.closed();
}

/// These tests were written for OpenSSL 3, Debian's version.
#[test]
fn the_program_is_openssl_3() {
    let mut program = Process::start("openssl", Network::None, ["version"]);
    assert!(program.ends());
    program.says("OpenSSL 3.");
}
