//! A certificate and its key.

use std::sync::Arc;

use pki_types::CertificateDer;
use tessera::auth::{Credential, PrivateKey};
use tessera::wire::CipherSuite;
use webpki::EndEntityCert;

use crate::error::ProgramError;
use crate::setting::SettingFile;
use crate::{hex, pem};

/// Loads a certificate chain, the end entity first, and its private key, and checks that they belong
/// together. Both may be in the same file.
///
/// # Errors
/// If one of them can't be loaded, or the key is another certificate's.
pub fn load(
    certificate: SettingFile<'_>,
    key_file: SettingFile<'_>,
) -> Result<Credential, ProgramError> {
    let chain = pem::certificates(certificate)?;
    let key = pem::private_key(key_file)?;

    let first = chain.first().map(Vec::as_slice).unwrap_or_default();
    let first = CertificateDer::from(first);
    let end_entity = EndEntityCert::try_from(&first).map_err(|error| {
        ProgramError::settings(format!("{}: {error:?}", certificate.path.display()))
    })?;
    // RFC 5280 §4.1: the key stands at the end of its SubjectPublicKeyInfo.
    if !end_entity.subject_public_key_info().as_ref().ends_with(key.public_key()) {
        return Err(ProgramError::settings(format!(
            "{}: the private key belongs to another certificate than the first one of {}; the end \
             entity's certificate comes first",
            key_file.path.display(),
            certificate.path.display()
        )));
    }
    Ok(Credential::new(chain, PrivateKey::Signs(Arc::new(key))))
}

/// The SHA-256 of a certificate, in hexadecimal, by which people compare it.
#[must_use]
pub fn fingerprint(der: &[u8]) -> String {
    let provider = tessera_aws_lc::provider();
    let suite = provider.suite(CipherSuite::TLS_AES_128_GCM_SHA256);
    suite.map(|suite| hex::encode(suite.hash.hash(der).as_ref())).unwrap_or_default()
}
