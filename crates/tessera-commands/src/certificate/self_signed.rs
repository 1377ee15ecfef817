//! Generates self-signed certificates.

use std::sync::Arc;

use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};
use tessera::auth::{Credential, PrivateKey};
use tessera_aws_lc::SigningKey;
use tessera_kit::ProgramError;
use zeroize::Zeroizing;

use super::GeneratedCertificate;

/// Generates a certificate, and its key as PEM.
pub(super) fn generate(
    names: Vec<String>,
) -> Result<(GeneratedCertificate, Zeroizing<String>), ProgramError> {
    let first = names.first().cloned().unwrap_or_default();
    let failed = |error: rcgen::Error| {
        ProgramError::settings(format!(
            "--name: a certificate can't be generated for these names: {error}"
        ))
    };
    if let Some(name) = names.iter().find(|name| !name.is_ascii()) {
        return Err(ProgramError::settings(format!(
            "--name {name:?}: not an ASCII name; write it in its ASCII form, xn--..."
        )));
    }
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
    let made = GeneratedCertificate { credential, pem: certificate.pem(), is_kept: false };
    Ok((made, Zeroizing::new(key.serialize_pem())))
}
