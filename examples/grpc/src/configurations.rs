//! The configurations of both sides.

use std::error::Error;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tessera::auth::{Credential, PrivateKey};
use tessera::handshake::Checked;
use tessera::resume::{Continuation, OneTimeKeyGuard};
use tessera::{ClientConfig, ServerConfig};
use tessera_aws_lc::SigningKey;
use tessera_vault::{MemoryVault, RotatingRing};
use tessera_webpki::WebPkiVerifier;

/// The name in the server's certificate.
pub const SERVER_NAME: &str = "localhost";

/// A client that trusts the server.
pub struct Configurations {
    /// The client's.
    pub client: Checked<ClientConfig>,
    /// The server's.
    pub server: Checked<ServerConfig>,
    /// The authority's certificate (DER), for clients of other libraries.
    pub root: Vec<u8>,
}

/// Makes an authority, a certificate of it for the server, keys for tickets, and a vault for
/// forward-secret early data.
pub fn configurations() -> Result<Configurations, Box<dyn Error>> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new([SERVER_NAME.to_owned()])?.signed_by(&key, &root)?;
    let signer = SigningKey::from_pkcs8(&key.serialize_der())?;
    let credential =
        Credential::new(vec![certificate.der().to_vec()], PrivateKey::Signs(Arc::new(signer)));

    let provider = tessera_aws_lc::provider();
    let mut server = ServerConfig::new(provider, vec![credential]);
    server.tickets = Some(Arc::new(RotatingRing::new(&provider)));
    let vault = Arc::new(MemoryVault::new(1000));
    server.policy.early_data.forward_secret = Some(OneTimeKeyGuard::new(vault));

    let mut client = ClientConfig::new(provider, Arc::new(WebPkiVerifier::new(&[root.der()])?));
    client.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
    // gRPC is HTTP/2 (RFC 9113 §3.2).
    client.protocols = vec![b"h2".to_vec()];
    server.protocols = client.protocols.clone();
    let root = root.der().to_vec();
    Ok(Configurations { client: client.checked()?, server: server.checked()?, root })
}
