//! Cached certificates with peers that take part through RFC 8879 only, and with peers that don't support them. (rustls
//! is in `tests/rustls`.)
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod boringssl;
mod chromium;
mod compressing;
mod gnutls;
mod nss;
mod openssl;
mod post_quantum;
mod revoked;

use std::net::SocketAddr;
use std::sync::Arc;

use tessera::handshake::ClientAuthentication;
use tessera::{ClientConfig, Facts, ServerConfig};
use tessera_compression::Zlib;
use tessera_interop::{Caches, Client, Form, Identity, KeyKind, Listener, Pki, forms, to};

/// An authority, certificates for both sides, and Tessera's caches.
struct World {
    pki: Pki,
    server: Identity,
    client: Identity,
    caches: Caches,
}

impl World {
    fn new() -> Self {
        let pki = Pki::new();
        let (server, client) = (pki.server_of_intermediate(), pki.client(KeyKind::P256));
        Self { pki, server, client, caches: Caches::new() }
    }

    /// Tessera as a client with a certificate, a cache and zlib.
    fn client(&self) -> ClientConfig {
        let mut config = tessera_interop::client(&self.pki);
        config.credentials = vec![self.client.credential()];
        config.certificate_codecs = vec![Arc::new(Zlib::default())];
        self.caches.client(config)
    }

    /// Tessera as a server that asks for certificates, with a cache and zlib.
    fn server(&self) -> ServerConfig {
        let mut config = tessera_interop::server(&self.server);
        config.client_authentication = ClientAuthentication::Required(self.pki.verifier());
        config.certificate_codecs = vec![Arc::new(Zlib::default())];
        self.caches.server(config)
    }

    /// Returns a Tessera client whose handshake with this server is complete.
    #[track_caller]
    fn connect(&self, address: SocketAddr) -> Client {
        let mut end = Client::start(&self.client(), to(None), address);
        end.handshake();
        end
    }

    /// Connects to another Tessera, so that the client's next ClientHello has tickets and salted ids for this server.
    #[track_caller]
    fn meet_tessera(&self) {
        let listener = Listener::new();
        for is_known in [false, true] {
            let mut client = Client::start(&self.client(), to(None), listener.address());
            let mut server = listener.serve(&self.server());
            while !(client.told.complete && server.told.complete) {
                client.step();
                server.step();
                assert_eq!((&client.told.error, &server.told.error), (&None, &None));
            }
            let (own, peer) = forms(client.facts());
            assert_eq!((own == Form::Hash, peer == Form::Hash), (is_known, is_known));
        }
    }
}

/// Both certificates came, and neither as a hash.
#[track_caller]
fn assert_no_hash(facts: &Facts) {
    let (own, peer) = forms(facts);
    for form in [own, peer] {
        assert!(matches!(form, Form::Whole | Form::Compressed(_)), "{own:?}, {peer:?}");
    }
}
