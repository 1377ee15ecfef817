//! Certificates for the servers of a test.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair,
};
use tessera::ClientConfig;
use tessera::auth::{Credential, PrivateKey};
use tessera_aws_lc::{SigningKey, provider};
use tessera_test_peers::Directory;
use tessera_webpki::WebPkiVerifier;

pub const SERVER: &str = "server.example";

/// An authority, and what it vouches for.
pub struct Authority {
    pub root: CertifiedIssuer<'static, KeyPair>,
    pub directory: Directory,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Self { root, directory: Directory::new() }
    }

    pub fn certificate(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let names = vec![name.to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names).unwrap();
        // etcd's gateway is a client of etcd, with the same certificate.
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let issuer: &Issuer<'_, KeyPair> = &self.root;
        (params.signed_by(&key, issuer).unwrap(), key)
    }

    pub fn credential(&self, name: &str) -> Credential {
        let (certificate, key) = self.certificate(name);
        let signer = SigningKey::from_pkcs8(&key.serialize_der()).unwrap();
        Credential::new(vec![certificate.der().to_vec()], PrivateKey::Signs(Arc::new(signer)))
    }

    pub fn client(&self) -> ClientConfig {
        let verifier = WebPkiVerifier::new(&[self.root.der()]).unwrap();
        ClientConfig::new(provider(), Arc::new(verifier))
    }
}
