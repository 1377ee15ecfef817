//! Two operators, each with an authority of its own and a certificate for its end of N32.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
};
use tessera_test_peers::Directory;

use crate::Failure;

/// An operator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operator {
    /// What its files begin with, and its anchor's and peer's name in a configuration.
    pub(crate) name: &'static str,
    pub(crate) fqdn: &'static str,
    pub(crate) plmn: &'static str,
}

/// Whose network functions ask.
pub(crate) const VISITED: Operator =
    Operator { name: "visited", fqdn: "sepp1.5gc.mnc070.mcc999.3gppnetwork.org", plmn: "999-70" };
/// Whose network functions answer.
pub(crate) const HOME: Operator =
    Operator { name: "home", fqdn: "sepp2.5gc.mnc001.mcc001.3gppnetwork.org", plmn: "001-01" };

/// What an operator shows on N32: files and bytes.
pub(crate) struct Credential {
    pub(crate) ca: String,
    pub(crate) certificate: String,
    pub(crate) key: String,
    pub(crate) ca_der: Vec<u8>,
    pub(crate) certificate_der: Vec<u8>,
    pub(crate) key_der: Vec<u8>,
}

/// Both operators' files, for ECDSA on P-256 (TS 33.310 §6.1.3c), removed with this value.
pub(crate) struct Files {
    pub(crate) visited: Credential,
    pub(crate) home: Credential,
    // Removed with them.
    _directory: Directory,
}

impl Files {
    pub(crate) fn new() -> Result<Self, Failure> {
        let directory = Directory::new();
        let visited = credential(VISITED, &directory)?;
        Ok(Self { visited, home: credential(HOME, &directory)?, _directory: directory })
    }
}

fn credential(operator: Operator, directory: &Directory) -> Result<Credential, Failure> {
    let Operator { name, fqdn, .. } = operator;
    let mut authority = CertificateParams::new([])?;
    authority.distinguished_name.push(DnType::CommonName, format!("{name}'s root"));
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let ca = CertifiedIssuer::self_signed(authority, key)?;
    let mut leaf = CertificateParams::new([fqdn.to_owned()])?;
    leaf.distinguished_name.push(DnType::CommonName, fqdn);
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    leaf.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    leaf.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let certificate = leaf.signed_by(&key, &ca)?;
    Ok(Credential {
        ca: directory.write(&format!("{name}-ca.pem"), ca.pem()),
        certificate: directory.write(&format!("{name}.pem"), certificate.pem()),
        key: directory.write_private(&format!("{name}.key"), key.serialize_pem()),
        ca_der: ca.der().to_vec(),
        certificate_der: certificate.der().to_vec(),
        key_der: key.serialize_der(),
    })
}
