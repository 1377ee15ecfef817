//! An authority, from its files.

use std::sync::Arc;

use der::{Decode, Encode};
use tessera::auth::PrivateKey;
use tessera::crypto::Signer;
use tessera_kit::{ProgramError, SettingFile, credential};
use x509_cert::certificate::{Certificate, TbsCertificate};
use x509_cert::ext::pkix::{BasicConstraints, KeyUsage};
use x509_cert::name::Name;

use super::{IssueOptions, failed};
use tessera_kit::x509::IssueError;

/// An authority as its files have it.
pub(super) struct Authority {
    pub(super) name: Name,
    /// SubjectPublicKeyInfo, DER.
    pub(super) public_key_info: Vec<u8>,
    pub(super) key: Arc<dyn Signer>,
    /// In seconds since the Unix epoch.
    pub(super) expires_at: u64,
    /// The certificates that go with each that it issues, DER: its own and those above, without the root.
    pub(super) above: Vec<Vec<u8>>,
}

impl Authority {
    /// Loads its certificates and its key, with the checks of [`credential::load`].
    pub(super) fn load(options: &IssueOptions) -> Result<Self, ProgramError> {
        let file = SettingFile { setting: "--ca", path: &options.ca };
        let key_file = SettingFile { setting: "--ca-key", path: &options.ca_key };
        let loaded = credential::load(file, key_file)?;
        let PrivateKey::Signs(key) = loaded.key else {
            return Err(failed(&IssueError::IssuerKey));
        };
        let malformed = |error: der::Error| ProgramError::in_file(file.path, error);
        let parsed = loaded.chain.iter().map(|der| Certificate::from_der(der));
        let parsed = parsed.collect::<Result<Vec<_>, _>>().map_err(malformed)?;
        let own = parsed.first().map(Certificate::tbs_certificate);
        let is_authority = |own: &&TbsCertificate| {
            let constraints = own.get_extension::<BasicConstraints>().ok().flatten();
            constraints.is_some_and(|(_, constraints)| constraints.ca)
        };
        let own = own.filter(is_authority).ok_or_else(|| {
            ProgramError::in_file(
                file.path,
                "this is not an authority's certificate (basicConstraints has no cA); check the path after --ca \
                 (`tessera certificate authority` makes one)",
            )
        })?;
        // RFC 5280 §4.2.1.3.
        let usage = own.get_extension::<KeyUsage>().ok().flatten();
        if usage.is_some_and(|(_, usage)| !usage.key_cert_sign()) {
            return Err(ProgramError::in_file(
                file.path,
                "this authority's certificate doesn't allow it to sign others (keyUsage has no keyCertSign); check the \
                 path after --ca",
            ));
        }
        let is_root = |certificate: &Certificate| {
            let certificate = certificate.tbs_certificate();
            certificate.issuer() == certificate.subject()
        };
        let above = parsed.iter().zip(&loaded.chain).filter(|(parsed, _)| !is_root(parsed));
        Ok(Self {
            name: own.subject().clone(),
            public_key_info: own.subject_public_key_info().to_der().map_err(malformed)?,
            key,
            expires_at: own.validity().not_after.to_unix_duration().as_secs(),
            above: above.map(|(_, der)| der.clone()).collect(),
        })
    }
}
