//! Certificates for demonstrations: both sides' chains of two, below a root that all parties trust.

use std::error::Error;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, RsaKeySize,
};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// The name in the server's certificate.
pub const SERVER_NAME: &str = "server.example";

/// Kinds of keys: of all certificates, the root's included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// ECDSA on P-256.
    P256,
    /// RSA with 2,048 bits.
    Rsa2048,
    /// RSA with 4,096 bits.
    Rsa4096,
}

/// A root, an authority below it, and the chains of a client and a server.
pub struct Certificates {
    kind: KeyKind,
    root: CertificateDer<'static>,
    authority: CertifiedIssuer<'static, KeyPair>,
    client: Identity,
    server: Identity,
}

struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

type Result<T> = std::result::Result<T, Box<dyn Error>>;

impl Certificates {
    /// New ones with keys of this kind.
    pub fn new(kind: KeyKind) -> Result<Self> {
        let root = CertifiedIssuer::self_signed(authority("Example Root CA"), kind.generate()?)?;
        let params = authority("Example Issuing CA");
        let authority = CertifiedIssuer::signed_by(params, kind.generate()?, &root)?;
        Ok(Self {
            client: Identity::client(kind, &authority)?,
            server: Identity::server(kind, &authority)?,
            root: root.der().clone(),
            kind,
            authority,
        })
    }

    /// Another certificate for the server, with another key.
    pub fn rotate_server(&mut self) -> Result<()> {
        self.server = Identity::server(self.kind, &self.authority)?;
        Ok(())
    }

    /// Another certificate for the client, with another key.
    pub fn rotate_client(&mut self) -> Result<()> {
        self.client = Identity::client(self.kind, &self.authority)?;
        Ok(())
    }

    /// Returns the client's chain.
    pub fn client_chain(&self) -> &[CertificateDer<'static>] {
        &self.client.chain
    }

    /// Returns the server's chain.
    pub fn server_chain(&self) -> &[CertificateDer<'static>] {
        &self.server.chain
    }

    /// Appends an unnecessary certificate to the server's chain.
    pub fn append_to_server_chain(&mut self, certificate: &[u8]) {
        self.server.chain.push(certificate.to_vec().into());
    }

    /// Returns a client with its certificate.
    pub fn client(&self) -> Result<ClientConfig> {
        let config = ClientConfig::builder_with_provider(provider());
        let config = config.with_protocol_versions(&[&rustls::version::TLS13])?;
        let config = config.with_root_certificates(self.roots()?);
        let (chain, key) = (self.client.chain.clone(), self.client.key.clone_key());
        let mut config = config.with_client_auth_cert(chain, key)?;
        // Which of them rustls has depends on the features that other packages of a build enable.
        config.cert_compressors.clear();
        config.cert_decompressors.clear();
        Ok(config)
    }

    /// Returns the configuration of a server with its certificate and this OCSP response, which requests client
    /// certificates. It issues no tickets: each handshake is a full one.
    pub fn server(&self, ocsp: &[u8]) -> Result<ServerConfig> {
        let provider = provider();
        let clients = WebPkiClientVerifier::builder_with_provider(self.roots()?, provider.clone());
        let config = ServerConfig::builder_with_provider(provider);
        let config = config.with_protocol_versions(&[&rustls::version::TLS13])?;
        let config = config.with_client_cert_verifier(clients.build()?);
        let (chain, key) = (self.server.chain.clone(), self.server.key.clone_key());
        let mut config = config.with_single_cert_with_ocsp(chain, key, ocsp.to_vec())?;
        config.send_tls13_tickets = 0;
        config.cert_compressors.clear();
        config.cert_decompressors.clear();
        Ok(config)
    }

    /// Returns the root that all parties trust.
    pub fn roots(&self) -> Result<Arc<RootCertStore>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.root.clone())?;
        Ok(Arc::new(roots))
    }
}

impl Identity {
    fn client(kind: KeyKind, issuer: &CertifiedIssuer<'static, KeyPair>) -> Result<Self> {
        Self::new("client.example", ExtendedKeyUsagePurpose::ClientAuth, kind, issuer)
    }

    fn server(kind: KeyKind, issuer: &CertifiedIssuer<'static, KeyPair>) -> Result<Self> {
        Self::new(SERVER_NAME, ExtendedKeyUsagePurpose::ServerAuth, kind, issuer)
    }

    fn new(
        name: &str,
        usage: ExtendedKeyUsagePurpose,
        kind: KeyKind,
        issuer: &CertifiedIssuer<'static, KeyPair>,
    ) -> Result<Self> {
        let key = kind.generate()?;
        let mut params = named(CertificateParams::new([name.to_owned()])?, name);
        params.extended_key_usages = vec![usage];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(&key, issuer)?;
        Ok(Self {
            chain: vec![certificate.der().clone(), issuer.der().clone()],
            key: PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        })
    }
}

impl KeyKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::P256, Self::Rsa2048, Self::Rsa4096];

    /// Returns how much of the bytes of a first handshake a second one may take at most.
    pub fn aim(self) -> f64 {
        match self {
            Self::P256 => 0.33,
            Self::Rsa2048 => 0.27,
            Self::Rsa4096 => 0.25,
        }
    }

    fn generate(self) -> std::result::Result<KeyPair, rcgen::Error> {
        match self {
            Self::P256 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256),
            Self::Rsa2048 => KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, RsaKeySize::_2048),
            Self::Rsa4096 => KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, RsaKeySize::_4096),
        }
    }
}

fn authority(name: &str) -> CertificateParams {
    let mut params = named(CertificateParams::default(), name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.use_authority_key_identifier_extension = true;
    params
}

/// Adds a name of three parts, like those of real authorities. It occurs in two certificates, and adds to their size.
fn named(mut params: CertificateParams, name: &str) -> CertificateParams {
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CountryName, "DE");
    params.distinguished_name.push(DnType::OrganizationName, "Example Industries");
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// Only X25519: a post-quantum share would be most of the remaining bytes.
fn provider() -> Arc<CryptoProvider> {
    let kx_groups = vec![aws_lc_rs::kx_group::X25519];
    Arc::new(CryptoProvider { kx_groups, ..aws_lc_rs::default_provider() })
}
