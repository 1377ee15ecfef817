//! Certificates for a demonstration.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use tessera_kit::ProgramError;

use super::Files;

/// An authority for the time of a demonstration.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    /// Creates an authority of this name, and writes its certificate to a file.
    ///
    /// # Errors
    /// If there are no random numbers, or the file can't be written.
    pub fn make(files: &Files, file: &str, name: &str) -> Result<Self, ProgramError> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().map_err(failed)?;
        let authority = CertifiedIssuer::self_signed(params, key).map_err(failed)?;
        files.write(file, &authority.pem())?;
        Ok(Self(authority))
    }

    /// Issues a certificate for a DNS name, for both servers and clients, and writes it with its key to a file.
    ///
    /// # Errors
    /// The same as those of [`make`](Self::make).
    pub fn certify(&self, files: &Files, file: &str, name: &str) -> Result<(), ProgramError> {
        let mut params = CertificateParams::new(vec![name.to_owned()]).map_err(failed)?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &self.0).map_err(failed)?;
        files.write(file, &(certificate.pem() + &key.serialize_pem()))
    }
}

fn failed(error: rcgen::Error) -> ProgramError {
    ProgramError::failed("a certificate for this", error)
}
