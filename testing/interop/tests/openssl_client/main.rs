//! `openssl s_client` against Tessera's server.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod application;
mod authorities;
mod early_data;
mod full;
mod psk;
mod refusals;
mod resumption;
mod secrets;
mod stapling;

use tessera::ServerConfig;
use tessera_interop::{Identity, KeyKind, Listener, Pki, SERVER_NAME, Server};
use tessera_test_peers::{Process, openssl};

/// An authority, a certificate of it for the server, and a port.
struct World {
    pki: Pki,
    identity: Identity,
    listener: Listener,
}

impl World {
    fn new() -> Self {
        Self::with(KeyKind::P256)
    }

    fn with(kind: KeyKind) -> Self {
        let pki = Pki::new();
        let identity = pki.server(kind);
        Self { pki, identity, listener: Listener::new() }
    }

    fn config(&self) -> ServerConfig {
        tessera_interop::server(&self.identity)
    }

    /// s_client, which trusts the authority, and Tessera's end of its connection.
    #[track_caller]
    fn client(&self, config: &ServerConfig, arguments: &[&str]) -> (Process, Server) {
        let trust = ["-CAfile", &self.pki.ca_file, "-verify_return_error"];
        let name = ["-servername", SERVER_NAME, "-verify_hostname", SERVER_NAME];
        self.stranger(config, &[&trust[..], &name, arguments].concat())
    }

    /// s_client with these arguments alone.
    #[track_caller]
    fn stranger(&self, config: &ServerConfig, arguments: &[&str]) -> (Process, Server) {
        let program = openssl::s_client(self.listener.address(), arguments);
        let server = self.listener.serve(config);
        (program, server)
    }
}

/// Completes the handshake, exchanges data, and lets s_client close, so that its output is complete.
#[track_caller]
fn talk_and_close(client: &mut Process, server: &mut Server) {
    server.handshake().send(b"from Tessera\n");
    client.says("from Tessera");
    client.tell("from OpenSSL\n");
    server.hear("from OpenSSL");
    client.tell("Q\n");
    server.closed().close();
    assert!(client.ends(), "{}", client.output());
}
