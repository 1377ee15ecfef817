//! A server with a chain of two under a root, and its proof.

use std::error::Error;
use std::sync::Arc;
use std::time::SystemTime;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, RsaKeySize,
};
use tessera::crypto::Signer;
use tessera::wire::SignatureScheme;
use tessera_aws_lc::SigningKey;

pub const NAME: &str = "server.example";

/// The keys of all certificates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    Rsa2048,
    P256,
}

impl Keys {
    pub const ALL: [Self; 2] = [Self::Rsa2048, Self::P256];

    pub fn name(self) -> &'static str {
        match self {
            Self::Rsa2048 => "rsa-2048",
            Self::P256 => "p-256",
        }
    }

    pub fn scheme(self) -> SignatureScheme {
        match self {
            Self::Rsa2048 => SignatureScheme::RSA_PSS_RSAE_SHA256,
            Self::P256 => SignatureScheme::ECDSA_SECP256R1_SHA256,
        }
    }

    fn pair(self) -> Result<KeyPair, rcgen::Error> {
        match self {
            Self::Rsa2048 => KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, RsaKeySize::_2048),
            Self::P256 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256),
        }
    }
}

/// The server.
pub struct Server {
    pub keys: Keys,
    pub root: Vec<u8>,
    /// Its certificate, and its authority's.
    pub chain: Vec<Vec<u8>>,
    pub private_key: Vec<u8>,
    /// What it signs: as long as RFC 8446 §4.4.3 has it with SHA-256.
    pub signed: Vec<u8>,
    pub signature: Vec<u8>,
    pub unix: u64,
}

impl Server {
    pub fn new(keys: Keys) -> Result<Self, Box<dyn Error>> {
        let root = CertifiedIssuer::self_signed(authority("Tessera root"), keys.pair()?)?;
        let middle =
            CertifiedIssuer::signed_by(authority("Tessera authority"), keys.pair()?, &root)?;
        let mut params = CertificateParams::new(vec![NAME.to_owned()])?;
        params.distinguished_name.push(DnType::CommonName, NAME);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = keys.pair()?;
        let leaf = params.signed_by(&key, &middle)?;
        let private_key = key.serialize_der();
        let signed = vec![7; 64 + 33 + 1 + 32];
        let signature =
            Arc::new(SigningKey::from_pkcs8(&private_key)?).sign(keys.scheme(), &signed)?;
        Ok(Self {
            keys,
            root: root.der().to_vec(),
            chain: vec![leaf.der().to_vec(), middle.der().to_vec()],
            private_key,
            signed,
            signature,
            unix: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs(),
        })
    }
}

fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}
