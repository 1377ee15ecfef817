//! Tessera against rustls, in both roles, with X25519MLKEM768.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod cached;
mod client;
mod compression;
mod kems;
mod peer;
mod raw_keys;
mod server;
mod stapling;

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tessera_interop::{Identity, KeyKind, Pki};

/// An authority with the certificates of both sides.
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

    fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(self.pki.root())).unwrap();
        Arc::new(roots)
    }

    /// rustls as the server.
    fn rustls_server(&self) -> ServerConfig {
        self.rustls_server_with(aws_lc_rs::default_provider())
    }

    fn rustls_server_with(&self, provider: CryptoProvider) -> ServerConfig {
        let builder = ServerConfig::builder_with_provider(Arc::new(provider));
        let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).unwrap();
        let (chain, key) = identity(&self.server);
        builder.with_no_client_auth().with_single_cert(chain, key).unwrap()
    }

    /// rustls as the server, which asks clients for a certificate.
    fn rustls_server_mutual(&self) -> ServerConfig {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone());
        let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(self.roots(), provider);
        let builder = builder.with_client_cert_verifier(verifier.build().unwrap());
        let (chain, key) = identity(&self.server);
        builder.with_single_cert(chain, key).unwrap()
    }

    /// rustls as the client.
    fn rustls_client(&self) -> ClientConfig {
        self.rustls_client_with(aws_lc_rs::default_provider())
    }

    fn rustls_client_with(&self, provider: CryptoProvider) -> ClientConfig {
        let builder = ClientConfig::builder_with_provider(Arc::new(provider));
        let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).unwrap();
        builder.with_root_certificates(self.roots()).with_no_client_auth()
    }

    /// rustls as the client, with a certificate.
    fn rustls_client_mutual(&self) -> ClientConfig {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider);
        let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).unwrap();
        let (chain, key) = identity(&self.client);
        builder.with_root_certificates(self.roots()).with_client_auth_cert(chain, key).unwrap()
    }
}

fn identity(identity: &Identity) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let key = PrivateKeyDer::Pkcs8(identity.key.clone().into());
    (identity.chain.iter().cloned().map(CertificateDer::from).collect(), key)
}

/// rustls' provider with these groups alone.
fn with_groups(groups: &[&'static dyn SupportedKxGroup]) -> CryptoProvider {
    CryptoProvider { kx_groups: groups.to_vec(), ..aws_lc_rs::default_provider() }
}
