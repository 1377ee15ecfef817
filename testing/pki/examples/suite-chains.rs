//! Writes chains of two certificates below a root, for each kind of authority that the suites of `firmware/` have, and the
//! servers' keys: for `firmware/pki`.
//!
//! In each folder: the root, the authority `between`, the server with a key of the authority's kind, and the server with keys
//! of ML-KEM, the same below every authority. Below Falcon-512, one with ML-DSA-44, too. The keys of ML-KEM are above the
//! folders, their public halves as SubjectPublicKeyInfo.

use std::path::{Path, PathBuf};
use std::{env, error, fs};

use rcgen::{
    CertificateParams, CustomExtension, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PKCS_ED25519, PKCS_ML_DSA_44, PKCS_ML_DSA_65,
    PKCS_ML_DSA_87, PKCS_RSA_SHA256, PublicKeyData, SanType, SignatureAlgorithm, date_time_ymd,
};
use tessera::wire::SignatureScheme;
use tessera_aws_lc::KemKey;
use tessera_pki::fn_dsa_sign::{FN_DSA_LOGN_512, FN_DSA_LOGN_1024};
use tessera_pki::{FalconKey, certificate_of, certificate_signed_by, rcgen};

type Result<T> = std::result::Result<T, Box<dyn error::Error>>;

/// A kind of keys that sign.
#[derive(Clone, Copy)]
enum Kind {
    Known(&'static SignatureAlgorithm),
    Falcon(u32),
}

const KINDS: [(&str, Kind); 8] = [
    ("ed25519", Kind::Known(&PKCS_ED25519)),
    ("p256", Kind::Known(&PKCS_ECDSA_P256_SHA256)),
    ("rsa-2048", Kind::Known(&PKCS_RSA_SHA256)),
    ("ml-dsa-44", Kind::Known(&PKCS_ML_DSA_44)),
    ("ml-dsa-65", Kind::Known(&PKCS_ML_DSA_65)),
    ("ml-dsa-87", Kind::Known(&PKCS_ML_DSA_87)),
    (FALCON_512, Kind::Falcon(FN_DSA_LOGN_512)),
    ("falcon-1024", Kind::Falcon(FN_DSA_LOGN_1024)),
];

const FALCON_512: &str = "falcon-512";

const KEMS: [(&str, SignatureScheme); 3] = [
    ("ml-kem-512", SignatureScheme::KEM_MLKEM512),
    ("ml-kem-768", SignatureScheme::KEM_MLKEM768),
    ("ml-kem-1024", SignatureScheme::KEM_MLKEM1024),
];

fn main() -> Result<()> {
    let folder = PathBuf::from(env::args().nth(1).ok_or("a folder is missing")?);
    fs::create_dir_all(&folder)?;
    let mut kems = Vec::new();
    for (name, scheme) in KEMS {
        let key = KemKey::generate_pkcs8(scheme)?;
        let info = KemKey::from_pkcs8(&key)?.public_key_info().to_vec();
        write(&folder, &format!("{name}.key"), &key)?;
        write(&folder, &format!("{name}.pub"), &info)?;
        kems.push((name, info));
    }
    for (name, kind) in KINDS {
        let folder = folder.join(name);
        fs::create_dir_all(&folder)?;
        let (root, between, server) = (Key::new(kind)?, Key::new(kind)?, Key::new(kind)?);
        write(&folder, "root", &root.issue("root", authority("root"), &root.info()))?;
        write(&folder, "between", &root.issue("root", authority("between"), &between.info()))?;
        let issue = |usage, info: &[u8]| between.issue("between", end_entity(usage), info);
        write(&folder, "server", &issue(KeyUsagePurpose::DigitalSignature, &server.info()))?;
        write(&folder, "server.key", &server.pkcs8())?;
        for (name, info) in &kems {
            write(&folder, name, &issue(KeyUsagePurpose::KeyEncipherment, info))?;
        }
        if name == FALCON_512 {
            let other = Key::new(Kind::Known(&PKCS_ML_DSA_44))?;
            let certificate = issue(KeyUsagePurpose::DigitalSignature, &other.info());
            write(&folder, "ml-dsa-44", &certificate)?;
            write(&folder, "ml-dsa-44.key", &other.pkcs8())?;
        }
    }
    Ok(())
}

fn write(folder: &Path, name: &str, der: &[u8]) -> Result<()> {
    Ok(fs::write(folder.join(format!("{name}.der")), der)?)
}

enum Key {
    Known(KeyPair),
    Falcon(FalconKey),
}

impl Key {
    fn new(kind: Kind) -> Result<Self> {
        Ok(match kind {
            Kind::Known(algorithm) => Self::Known(KeyPair::generate_for(algorithm)?),
            Kind::Falcon(logn) => Self::Falcon(FalconKey::generate(logn)),
        })
    }

    fn info(&self) -> Vec<u8> {
        match self {
            Self::Known(key) => key.subject_public_key_info(),
            Self::Falcon(key) => key.public_key_info(),
        }
    }

    fn pkcs8(&self) -> Vec<u8> {
        match self {
            Self::Known(key) => key.serialize_der(),
            Self::Falcon(key) => key.pkcs8(),
        }
    }

    /// Returns a certificate for the key in a SubjectPublicKeyInfo, as the issuer of this name.
    fn issue(&self, issuer: &str, mut params: CertificateParams, info: &[u8]) -> Vec<u8> {
        params.custom_extensions.extend(identifiers(info, &self.info()));
        let issuer = authority(issuer);
        match self {
            Self::Known(key) => certificate_of(info, &params, &Issuer::new(issuer, key)),
            Self::Falcon(key) => {
                let other = KeyPair::generate().expect("there are random bytes");
                let sign = |signed: &[u8]| key.sign(signed);
                let algorithm = key.algorithm();
                let issuer = Issuer::new(issuer, other);
                certificate_signed_by(sign, Some(&algorithm), info, &params, &issuer)
            }
        }
    }
}

/// subjectKeyIdentifier and authorityKeyIdentifier (RFC 5280 §4.2.1.1, §4.2.1.2): the start of the keys' SHA-256 (RFC 7093 §2,
/// method 4). rcgen would take those of its own keys.
fn identifiers(info: &[u8], issuer: &[u8]) -> [CustomExtension; 2] {
    let sha256 = tessera_aws_lc::provider().sha256().expect("the provider has it");
    let of = |info: &[u8]| sha256.hash(info).as_ref()[..20].to_vec();
    let subject = [&[0x04, 20], &of(info)[..]].concat();
    let authority = [&[0x30, 22, 0x80, 20], &of(issuer)[..]].concat();
    [
        CustomExtension::from_oid_content(&[2, 5, 29, 14], subject),
        CustomExtension::from_oid_content(&[2, 5, 29, 35], authority),
    ]
}

fn authority(name: &str) -> CertificateParams {
    let mut params = named(name, CertificateParams::default());
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let mut constraints = CustomExtension::from_oid_content(&[2, 5, 29, 19], IS_AUTHORITY.into());
    constraints.set_criticality(true);
    params.custom_extensions = vec![constraints];
    params
}

/// BasicConstraints (RFC 5280 §4.2.1.9) with cA alone, DER.
const IS_AUTHORITY: [u8; 5] = [0x30, 3, 1, 1, 0xff];

fn end_entity(usage: KeyUsagePurpose) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.subject_alt_names =
        vec![SanType::DnsName("server.example".try_into().expect("it is ASCII"))];
    let mut params = named("server", params);
    params.key_usages = vec![usage];
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params
}

fn named(name: &str, mut params: CertificateParams) -> CertificateParams {
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = date_time_ymd(2026, 1, 1);
    params.not_after = date_time_ymd(2100, 1, 1);
    params
}
