//! What both sides are configured with.

use std::error::Error;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tessera::auth::{Credential, PrivateKey};
use tessera::handshake::Checked;
use tessera::{ClientConfig, ServerConfig};
use tessera_aws_lc::SigningKey;
use tessera_vault::RotatingRing;
use tessera_webpki::WebPkiVerifier;

/// The name in the server's certificate.
pub const SERVER_NAME: &str = "greeter.example";

/// A client that trusts the server.
pub struct Configurations {
    /// The client's.
    pub client: Checked<ClientConfig>,
    /// The server's.
    pub server: Checked<ServerConfig>,
}

/// Makes an authority, a certificate of it for the server, and a key for tickets.
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

    let mut client = ClientConfig::new(provider, Arc::new(WebPkiVerifier::new(&[root.der()])?));
    // gRPC is HTTP/2 (RFC 9113 §3.2).
    client.protocols = vec![b"h2".to_vec()];
    server.protocols = client.protocols.clone();
    Ok(Configurations { client: client.checked()?, server: server.checked()? })
}
