//! The configurations of both sides.

use std::sync::Arc;

use tessera::auth::{Credential, PrivateKey};
use tessera::resume::{Continuation, OneTimeKeyGuard, Vault};
use tessera::wire::CipherSuite;
use tessera::{ClientConfig, ServerConfig};
use tessera_aws_lc::SigningKey;
use tessera_pki::Authority;
use tessera_vault::RotatingRing;
use tessera_webpki::WebPkiVerifier;

use crate::Result;

/// The name in the server's certificate.
pub const SERVER_NAME: &str = "server.example";

/// The application protocol.
pub const PROTOCOL: &[u8] = b"example";

/// A server's certificate, and the authority that all parties trust.
pub struct Site {
    /// The authority's certificate, DER.
    pub root: Vec<u8>,
    /// The server's certificate, DER.
    pub certificate: Vec<u8>,
    /// Its key, PKCS #8 DER.
    pub key: Vec<u8>,
}

impl Site {
    /// Creates a new authority, and a certificate of it.
    pub fn make() -> Self {
        let root = Authority::new("an authority");
        let leaf = root.issue(SERVER_NAME);
        Self { root: root.der(), certificate: leaf.der(), key: leaf.key_der() }
    }

    /// Returns Tessera's server, with tickets and this vault; it accepts lone identities.
    pub fn tessera_server(&self, vault: Arc<dyn Vault>) -> Result<ServerConfig> {
        let provider = tessera_aws_lc::provider();
        let signer = Arc::new(SigningKey::from_pkcs8(&self.key)?);
        let credential = Credential::new(vec![self.certificate.clone()], PrivateKey::Signs(signer));
        let mut config = ServerConfig::new(provider, vec![credential]);
        config.protocols = vec![PROTOCOL.to_vec()];
        config.tickets = Some(Arc::new(RotatingRing::new(&provider)));
        let guard = OneTimeKeyGuard { lone_identities: true, ..OneTimeKeyGuard::new(vault) };
        config.policy.early_data.forward_secret = Some(guard);
        Ok(config)
    }

    /// Tessera as the client.
    pub fn tessera_client(&self) -> Result<ClientConfig> {
        let verifier = Arc::new(WebPkiVerifier::new(&[&self.root])?);
        let mut config = ClientConfig::new(tessera_aws_lc::provider(), verifier);
        config.protocols = vec![PROTOCOL.to_vec()];
        // Its early data can only be sent under the suite that the server's sessions name.
        config.suites = vec![CipherSuite::TLS_AES_128_GCM_SHA256];
        config.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
        Ok(config)
    }
}
