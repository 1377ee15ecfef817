//! This side's certificate: from files, or made afresh.

use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};
use tessera::auth::{Credential, PrivateKey};
use tessera_aws_lc::SigningKey;
use tessera_kit::{ProgramError, SettingFile, credential};

use crate::options::CertificateFiles;

/// Loads a certificate and its key, and checks that they belong together.
pub(crate) fn load(files: &CertificateFiles) -> Result<Credential, ProgramError> {
    let certificate = SettingFile { setting: "--certificate", path: &files.certificate };
    let key = files.key.as_deref().unwrap_or(&files.certificate);
    credential::load(certificate, SettingFile { setting: "--key", path: key })
}

/// A certificate that was made for one run of a server.
pub(crate) struct Fresh {
    pub(crate) credential: Credential,
    pub(crate) pem: String,
}

/// Makes a self-signed certificate for these names, good for 30 days.
pub(crate) fn make(names: &[String], listen: IpAddr) -> Result<Fresh, ProgramError> {
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
        ProgramError::settings(format!("no certificate can be made for these names: {error}"))
    };
    let mut params = CertificateParams::new(names).map_err(failed)?;
    params.distinguished_name.push(DnType::CommonName, first);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.is_ca = rcgen::IsCa::ExplicitNoCa;
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = params.self_signed(&key).map_err(failed)?;
    let signer = SigningKey::from_pkcs8(&key.serialize_der())
        .map_err(|error| ProgramError::failed("the key that was made", error))?;
    let chain = vec![certificate.der().to_vec()];
    let credential = Credential::new(chain, PrivateKey::Signs(Arc::new(signer)));
    Ok(Fresh { credential, pem: certificate.pem() })
}

impl Fresh {
    /// Writes the certificate, for those who shall trust it.
    pub(crate) fn write(&self, path: &Path) -> Result<(), ProgramError> {
        let written = fs::write(path, &self.pem);
        let file = SettingFile { setting: "--write-certificate", path };
        written.map_err(|error| ProgramError::output(file, &error))
    }
}
