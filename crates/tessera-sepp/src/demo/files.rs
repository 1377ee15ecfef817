//! Certificates and configurations of a demonstration.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use tessera_kit::ProgramError;
use tessera_proxy::demo::Files;

/// Makes the authority of a network, `NAME-ca.pem`, and the certificate of its SEPP for both roles with its key,
/// `NAME.pem`.
pub(super) fn certify(files: &Files, name: &str, fqdn: &str) -> Result<(), ProgramError> {
    let failed = |error: rcgen::Error| ProgramError::failed("a certificate for this", error);
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, format!("Tessera demonstration, {name}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let key = KeyPair::generate().map_err(failed)?;
    let authority = CertifiedIssuer::self_signed(params, key).map_err(failed)?;
    files.write(&format!("{name}-ca.pem"), &authority.pem())?;

    let mut params = CertificateParams::new(vec![fqdn.to_owned()]).map_err(failed)?;
    params.distinguished_name.push(DnType::CommonName, fqdn);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    // TS 33.310 §6.1.3c: both roles.
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = params.signed_by(&key, &authority).map_err(failed)?;
    files.write(&format!("{name}.pem"), &(certificate.pem() + &key.serialize_pem()))
}
