//! The certificates of all ends, and the directory of each process.

use tessera_interop::{Identity, KeyKind, Pki};
use tessera_test_peers::{Directory, openssl};

/// Both identities as PEM, the certificate and its key in one file, as every program accepts.
pub(crate) struct Files {
    pub(crate) ca: String,
    pub(crate) server: String,
    pub(crate) client: String,
    // Removed with them.
    _directory: Directory,
}

impl Files {
    /// Makes certificates for ECDSA on P-256, the most common kind.
    pub(crate) fn new() -> Result<Self, crate::Failure> {
        let pki = Pki::new();
        let server = pem(&pki, "server-both.pem", &pki.server(KeyKind::P256))?;
        let client = pem(&pki, "client-both.pem", &pki.client(KeyKind::P256))?;
        Ok(Self { ca: pki.ca_file, server, client, _directory: pki.directory })
    }
}

fn pem(pki: &Pki, name: &str, identity: &Identity) -> Result<String, crate::Failure> {
    let key = pki.directory.path("key.pem");
    openssl::run(&["pkey", "-inform", "DER", "-in", &identity.key_file, "-out", &key]);
    let certificate = std::fs::read_to_string(&identity.certificate_file)?;
    let both = format!("{certificate}\n{}", std::fs::read_to_string(&key)?);
    Ok(pki.directory.write(name, both))
}
