//! This side's certificate: from files, or made afresh.

use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use pki_types::CertificateDer;
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};
use tessera::auth::{Credential, PrivateKey};
use tessera::wire::CipherSuite;
use tessera_aws_lc::SigningKey;
use webpki::EndEntityCert;

use crate::error::PeerError;
use crate::hex;
use crate::options::CertificateFiles;
use crate::pem;

/// Loads a certificate and its key, and checks that they belong together.
pub(crate) fn load(files: &CertificateFiles) -> Result<Credential, PeerError> {
    let chain = pem::certificates(&files.certificate, "--certificate")?;
    let key_file = files.key.as_deref().unwrap_or(&files.certificate);
    let key = pem::private_key(key_file, "--key")?;
    let key = SigningKey::from_pkcs8(&key)
        .map_err(|error| PeerError::options(format!("{}: {error}", key_file.display())))?;

    let first = chain.first().map(Vec::as_slice).unwrap_or_default();
    let first = CertificateDer::from(first);
    let end_entity = EndEntityCert::try_from(&first).map_err(|error| {
        PeerError::options(format!("{}: {error:?}", files.certificate.display()))
    })?;
    // RFC 5280 §4.1: the key stands at the end of its SubjectPublicKeyInfo.
    if !end_entity.subject_public_key_info().as_ref().ends_with(key.public_key()) {
        return Err(PeerError::options(format!(
            "{}: the private key belongs to another certificate than the first one of {}; the end \
             entity's certificate comes first",
            key_file.display(),
            files.certificate.display()
        )));
    }
    Ok(Credential::new(chain, PrivateKey::Signs(Arc::new(key))))
}

/// A certificate that was made for one run of a server.
pub(crate) struct Fresh {
    pub(crate) credential: Credential,
    pub(crate) pem: String,
}

/// Makes a self-signed certificate for these names, good for 30 days.
pub(crate) fn make(names: &[String], listen: IpAddr) -> Result<Fresh, PeerError> {
    let names = match names {
        [] => {
            let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
            if !listen.is_unspecified() && !listen.is_loopback() {
                names.push(listen.to_string());
            }
            names
        }
        names => names.to_vec(),
    };
    let first = names.first().cloned().unwrap_or_default();
    let failed = |error: rcgen::Error| {
        PeerError::options(format!("no certificate can be made for these names: {error}"))
    };
    let mut params = CertificateParams::new(names).map_err(failed)?;
    params.distinguished_name.push(DnType::CommonName, first);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.is_ca = rcgen::IsCa::ExplicitNoCa;
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = params.self_signed(&key).map_err(failed)?;
    let signer = SigningKey::from_pkcs8(&key.serialize_der())
        .map_err(|error| PeerError::failed("the key that was made", error))?;
    let chain = vec![certificate.der().to_vec()];
    let credential = Credential::new(chain, PrivateKey::Signs(Arc::new(signer)));
    Ok(Fresh { credential, pem: certificate.pem() })
}

impl Fresh {
    /// Writes the certificate, for those who shall trust it.
    pub(crate) fn write(&self, path: &Path) -> Result<(), PeerError> {
        let written = fs::write(path, &self.pem);
        written.map_err(|error| PeerError::output(path, "--write-certificate", &error))
    }
}

/// The SHA-256 of a certificate, by which people compare it.
pub(crate) fn fingerprint(der: &[u8]) -> String {
    let provider = tessera_aws_lc::provider();
    let suite = provider.suite(CipherSuite::TLS_AES_128_GCM_SHA256);
    suite.map(|suite| hex::encode(suite.hash.hash(der).as_ref())).unwrap_or_default()
}
