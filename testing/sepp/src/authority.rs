//! Operators' authorities.

use std::fmt::Write as _;

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams,
    SerialNumber, date_time_ymd,
};

/// The authority of one operator.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    /// A new one of this name.
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Its certificate, PEM.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for these names, in both roles, and its key behind it, PEM.
    pub fn issue(&self, names: &[&str]) -> String {
        self.issue_with(names, |_| ())
    }

    /// The same, changed.
    pub fn issue_with(
        &self,
        names: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> String {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2100, 1, 1);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let mut pem = params.signed_by(&key, &self.0).unwrap().pem();
        let _ = write!(pem, "{}", key.serialize_pem());
        pem
    }

    /// A certificate of this serial number.
    pub fn issue_numbered(&self, names: &[&str], serial: u64) -> String {
        self.issue_with(names, |params| params.serial_number = Some(serial.into()))
    }

    /// A certificate that has expired.
    pub fn issue_expired(&self, names: &[&str]) -> String {
        self.issue_with(names, |params| params.not_after = date_time_ymd(2021, 1, 1))
    }

    /// A revocation list, PEM, of certificates by their serial numbers.
    pub fn revoking(&self, serials: &[u64]) -> String {
        let revoked = serials.iter().map(|&serial| RevokedCertParams {
            serial_number: SerialNumber::from(serial),
            revocation_time: date_time_ymd(2021, 1, 1),
            reason_code: None,
            invalidity_date: None,
        });
        let params = CertificateRevocationListParams {
            this_update: date_time_ymd(2021, 1, 1),
            next_update: date_time_ymd(2100, 1, 1),
            crl_number: SerialNumber::from(1_u64),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        params.signed_by(&self.0).unwrap().pem().unwrap()
    }
}
