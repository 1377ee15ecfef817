//! Authorities and certificates of operators.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams,
    SerialNumber, date_time_ymd,
};
use tessera::auth::{Credential, PrivateKey};
use tessera_aws_lc::SigningKey;

/// The authority of an operator.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate with its key, both PEM.
#[derive(Clone)]
pub struct Leaf {
    pub der: Vec<u8>,
    pub pem: String,
    pub key: Vec<u8>,
}

impl Leaf {
    /// As an end shows it, whatever is wrong with it.
    pub fn credential(&self) -> Credential {
        let key = SigningKey::from_pkcs8(&self.key).unwrap();
        Credential::new(vec![self.der.clone()], PrivateKey::Signs(Arc::new(key)))
    }
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().unwrap();
        Self(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    pub fn pem(&self) -> String {
        self.0.pem()
    }

    pub fn der(&self) -> Vec<u8> {
        self.0.der().to_vec()
    }

    /// A certificate for both roles, changed.
    pub fn issue(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Leaf {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2100, 1, 1);
        params.serial_number = Some(SerialNumber::from(7_u64));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Leaf {
            der: certificate.der().to_vec(),
            pem: certificate.pem() + &key.serialize_pem(),
            key: key.serialize_der(),
        }
    }

    /// A revocation list of certificates by their serial numbers.
    pub fn revoking(&self, serials: &[u64]) -> String {
        let revoked = serials.iter().map(|serial| RevokedCertParams {
            serial_number: SerialNumber::from(*serial),
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
