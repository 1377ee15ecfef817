//! Certificates for the servers of a test.

use std::sync::Arc;

use tessera::ClientConfig;
use tessera::auth::Credential;
use tessera_aws_lc::provider;
use tessera_pki::Leaf;
use tessera_test_peers::Directory;
use tessera_webpki::WebPkiVerifier;

pub const SERVER: &str = "server.example";

/// An authority, and certificates that it issues.
pub struct Authority {
    pub root: tessera_pki::Authority,
    pub directory: Directory,
}

impl Authority {
    pub fn new() -> Self {
        Self { root: tessera_pki::Authority::new("root"), directory: Directory::new() }
    }

    /// For both roles: etcd's gateway is a client of etcd, with the same certificate.
    pub fn certificate(&self, name: &str) -> Leaf {
        self.root.issue_with(&[name, "127.0.0.1"], |_| ())
    }

    pub fn credential(&self, name: &str) -> Credential {
        self.certificate(name).credential()
    }

    pub fn client(&self) -> ClientConfig {
        let verifier = WebPkiVerifier::new(&[self.root.der()]).unwrap();
        ClientConfig::new(provider(), Arc::new(verifier))
    }
}
