//! Authorities and certificates for tests: ECDSA on P-256 by default.
//!
//! A test changes the parameters of a certificate for anything unusual.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a helper of tests fails its test")]

#[cfg(feature = "falcon")]
mod falcon;
mod kem;

use std::sync::Arc;

pub use rcgen;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationList,
    CertificateRevocationListParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, RevokedCertParams,
    SignatureAlgorithm, date_time_ymd,
};
use tessera::auth::{Credential, PrivateKey};
use tessera::wire::SignatureScheme;
use tessera_aws_lc::SigningKey;

#[cfg(feature = "falcon")]
pub use falcon::FalconKey;
#[cfg(feature = "falcon")]
pub use fn_dsa_sign;
pub use kem::{KemLeaf, certificate_of, certificate_signed_by};

/// An authority: a root, or one below another.
pub struct Authority {
    /// The signing authority.
    pub issuer: CertifiedIssuer<'static, KeyPair>,
    /// The certificates that accompany each that it issues, DER: its own and those above, without the root.
    chain: Vec<Vec<u8>>,
    /// The same, PEM.
    chain_pem: String,
}

impl Authority {
    /// Creates a root of this name.
    pub fn new(name: &str) -> Self {
        Self::with(name, &PKCS_ECDSA_P256_SHA256, |_| ())
    }

    /// Creates a root with keys of this kind, changed.
    pub fn with(
        name: &str,
        algorithm: &'static SignatureAlgorithm,
        change: impl FnOnce(&mut CertificateParams),
    ) -> Self {
        let mut params = authority_params(name);
        change(&mut params);
        let key = KeyPair::generate_for(algorithm).unwrap();
        let issuer = CertifiedIssuer::self_signed(params, key).unwrap();
        Self { issuer, chain: Vec::new(), chain_pem: String::new() }
    }

    /// Creates an authority of this name below this one.
    pub fn below(&self, name: &str) -> Self {
        self.below_with(name, &PKCS_ECDSA_P256_SHA256, |_| ())
    }

    /// Creates an authority below this one with keys of this kind, changed.
    pub fn below_with(
        &self,
        name: &str,
        algorithm: &'static SignatureAlgorithm,
        change: impl FnOnce(&mut CertificateParams),
    ) -> Self {
        let mut params = authority_params(name);
        change(&mut params);
        let key = KeyPair::generate_for(algorithm).unwrap();
        let issuer = CertifiedIssuer::signed_by(params, key, &self.issuer).unwrap();
        let chain = [&[issuer.der().to_vec()], &self.chain[..]].concat();
        let chain_pem = issuer.pem() + &self.chain_pem;
        Self { issuer, chain, chain_pem }
    }

    /// Its certificate, DER.
    pub fn der(&self) -> Vec<u8> {
        self.issuer.der().to_vec()
    }

    /// Its certificate, PEM.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Returns a certificate for this name, good for servers and clients.
    pub fn issue(&self, name: &str) -> Leaf {
        self.issue_with(&[name], |_| ())
    }

    /// The same with this serial number.
    pub fn issue_numbered(&self, name: &str, serial: u64) -> Leaf {
        self.issue_with(&[name], |params| params.serial_number = Some(serial.into()))
    }

    /// Returns a certificate that has expired.
    pub fn issue_expired(&self, name: &str) -> Leaf {
        self.issue_with(&[name], |params| params.not_after = date_time_ymd(2021, 1, 1))
    }

    /// Returns a certificate for these names, good for servers and clients, changed.
    pub fn issue_with(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Leaf {
        self.issue_for(KeyPair::generate().unwrap(), names, change)
    }

    /// The same for this key.
    pub fn issue_for(
        &self,
        key: KeyPair,
        names: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> Leaf {
        let mut params = leaf(names);
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let chain = [&[certificate.der().to_vec()], &self.chain[..]].concat();
        Leaf { chain, pem: certificate.pem(), above: self.chain_pem.clone(), key }
    }

    /// Returns a certificate with a key of this KEM for these names, good for servers and clients, changed.
    pub fn issue_kem(
        &self,
        scheme: SignatureScheme,
        names: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> KemLeaf {
        let mut params = leaf(names);
        params.key_usages = vec![match scheme {
            SignatureScheme::KEM_X25519 => KeyUsagePurpose::KeyAgreement,
            _ => KeyUsagePurpose::KeyEncipherment,
        }];
        change(&mut params);
        let mut leaf = KemLeaf::with(&params, scheme, &self.issuer);
        leaf.chain.extend_from_slice(&self.chain);
        leaf
    }

    /// Returns a list that revokes certificates with these serial numbers, PEM.
    pub fn revoking(&self, serials: &[u64]) -> String {
        revocation_list(&self.issuer, serials, |_| ()).pem().unwrap()
    }
}

/// Returns a list of this issuer that revokes certificates with these serial numbers, changed.
pub fn revocation_list(
    issuer: &Issuer<'_, KeyPair>,
    serials: &[u64],
    change: impl FnOnce(&mut CertificateRevocationListParams),
) -> CertificateRevocationList {
    let revoked = serials.iter().map(|serial| RevokedCertParams {
        serial_number: (*serial).into(),
        revocation_time: date_time_ymd(2021, 1, 1),
        reason_code: None,
        invalidity_date: None,
    });
    let mut params = CertificateRevocationListParams {
        this_update: date_time_ymd(2021, 1, 1),
        next_update: date_time_ymd(2100, 1, 1),
        crl_number: 1_u64.into(),
        issuing_distribution_point: None,
        revoked_certs: revoked.collect(),
        key_identifier_method: KeyIdMethod::Sha256,
    };
    change(&mut params);
    params.signed_by(issuer).unwrap()
}

/// A certificate with its key.
pub struct Leaf {
    /// The certificate and those of its issuers, without the root, DER.
    pub chain: Vec<Vec<u8>>,
    /// The certificate alone, PEM.
    pub pem: String,
    /// The rest of the chain, PEM.
    above: String,
    /// Its key.
    pub key: KeyPair,
}

impl Leaf {
    /// Returns the certificate alone, DER.
    pub fn der(&self) -> Vec<u8> {
        self.chain[0].clone()
    }

    /// Returns the chain, PEM.
    pub fn chain_pem(&self) -> String {
        self.pem.clone() + &self.above
    }

    /// Returns the key, PKCS #8 DER.
    pub fn key_der(&self) -> Vec<u8> {
        self.key.serialize_der()
    }

    /// Returns the key, PEM.
    pub fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// Returns the chain and the key behind it, PEM.
    pub fn both_pem(&self) -> String {
        self.chain_pem() + &self.key_pem()
    }

    /// As an end shows it, whatever is wrong with it.
    pub fn credential(&self) -> Credential {
        let key = SigningKey::from_pkcs8(&self.key_der()).unwrap();
        Credential::new(self.chain.clone(), PrivateKey::Signs(Arc::new(key)))
    }
}

/// Returns the parameters of an end entity's certificate for these names: addresses, too.
fn leaf(names: &[&str]) -> CertificateParams {
    let first = names.first().copied();
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names).unwrap();
    if let Some(name) = first {
        params.distinguished_name.push(DnType::CommonName, name);
    }
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2100, 1, 1);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
    params
}

/// Returns the parameters of an authority's certificate.
pub fn authority_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    // Unique names: given two authorities of one name, a peer reports a wrong signature. OpenSSL treats a certificate
    // whose issuer has its name as self-signed.
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}
