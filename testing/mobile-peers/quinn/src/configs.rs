//! TLS and transport: datagrams of 1,200 bytes, and an authority of the tests' own.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{
    ClientConfig, ConnectionId, ConnectionIdGenerator, EndpointConfig, ServerConfig,
    TransportConfig,
};
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_cert_signed_by_trust_anchor};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};

const IDLE_LIMIT: Duration = Duration::from_secs(60);

type Result<T> = std::result::Result<T, Box<dyn Error>>;

pub fn server(certificate: &str, key: &str) -> Result<ServerConfig> {
    let chain =
        CertificateDer::pem_file_iter(certificate)?.collect::<std::result::Result<_, _>>()?;
    let tls = rustls::ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_file(key)?)?;
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport()?));
    Ok(config)
}

/// A server that has restarted informs its clients, with the reset key of the one before.
pub fn endpoint(key: &str) -> Result<EndpointConfig> {
    let secret = digest::digest(&digest::SHA256, &std::fs::read(key)?);
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_ref());
    let mut config = EndpointConfig::new(Arc::new(key));
    config.cid_generator(|| Box::new(RandomIds(SystemRandom::new())));
    Ok(config)
}

/// quinn's own take those of an earlier process for forgeries, and send no reset.
struct RandomIds(SystemRandom);

const ID_LEN: usize = 8;

impl ConnectionIdGenerator for RandomIds {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut id = [0; ID_LEN];
        // Without randomness there was no handshake.
        let _ = self.0.fill(&mut id);
        ConnectionId::new(&id)
    }

    fn cid_len(&self) -> usize {
        ID_LEN
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

pub fn client(ca: &str) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for root in CertificateDer::pem_file_iter(ca)? {
        roots.add(root?)?;
    }
    let provider = Arc::new(default_provider());
    let signatures =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots.clone()), provider.clone())
            .build()?;
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(ChainVerifier { roots, signatures }))
        .with_no_client_auth();
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport()?));
    Ok(config)
}

fn transport() -> Result<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport.max_idle_timeout(Some(IDLE_LIMIT.try_into()?));
    // Probes would count as bytes of the application.
    transport.mtu_discovery_config(None);
    Ok(transport)
}

/// The options don't give the server's name: the chain is verified, and no name.
#[derive(Debug)]
struct ChainVerifier {
    roots: RootCertStore,
    signatures: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for ChainVerifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        let leaf = ParsedCertificate::try_from(leaf)?;
        let algorithms = default_provider().signature_verification_algorithms.all;
        verify_server_cert_signed_by_trust_anchor(
            &leaf,
            &self.roots,
            intermediates,
            now,
            algorithms,
        )?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        self.signatures.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        self.signatures.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signatures.supported_verify_schemes()
    }
}
