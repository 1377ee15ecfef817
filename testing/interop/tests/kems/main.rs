//! KEM authentication (docs/kem-auth.md) with peers that know nothing of it, and OpenSSL with its keys and certificates.
//! (rustls is in `tests/rustls`.)
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod clients;
mod openssl_certificates;
mod openssl_keys;
mod servers;

use tessera::auth::Credential;
use tessera::handshake::ClientAuthentication;
use tessera::wire::SignatureScheme;
use tessera::{ClientConfig, ServerConfig};
use tessera_interop::{Identity, KeyKind, Pki};

/// The KEMs whose keys have a form in certificates.
const KEMS: [SignatureScheme; 4] = [
    SignatureScheme::KEM_MLKEM512,
    SignatureScheme::KEM_MLKEM768,
    SignatureScheme::KEM_MLKEM1024,
    SignatureScheme::KEM_X25519,
];

/// An authority, and certificates for both sides whose keys sign.
struct World {
    pki: Pki,
    server: Identity,
    client: Identity,
}

impl World {
    fn new() -> Self {
        let pki = Pki::new();
        Self { server: pki.server(KeyKind::P256), client: pki.client(KeyKind::P256), pki }
    }

    /// Tessera as a client that accepts KEMs, and would rather decapsulate than sign.
    fn client(&self) -> ClientConfig {
        let verifier = self.pki.verifier_with_kems(&KEMS);
        let mut config = ClientConfig::new(tessera_aws_lc::provider(), verifier);
        let kem = self.pki.client_with_kem(SignatureScheme::KEM_MLKEM768);
        config.credentials = vec![kem.credential(), self.client.credential()];
        config
    }

    /// Tessera as a server that has a key of a KEM alone.
    fn kem_server(&self) -> ServerConfig {
        ServerConfig::new(tessera_aws_lc::provider(), vec![self.kem_credential()])
    }

    /// The same with a key that signs, too. It asks for certificates, and accepts KEMs.
    fn server(&self) -> ServerConfig {
        let mut config = self.kem_server();
        config.credentials.push(self.server.credential());
        let verifier = self.pki.verifier_with_kems(&KEMS);
        config.client_authentication = ClientAuthentication::Optional(verifier);
        config
    }

    fn kem_credential(&self) -> Credential {
        self.pki.server_with_kem(SignatureScheme::KEM_MLKEM768).credential()
    }
}
