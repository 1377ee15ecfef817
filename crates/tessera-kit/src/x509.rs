//! X.509 certificates (RFC 5280) for keys of any algorithm.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use const_oid::db::rfc4519::CN;
use const_oid::db::rfc5280::{ID_KP_CLIENT_AUTH, ID_KP_SERVER_AUTH};
use const_oid::db::{fips204, rfc5912, rfc8410};
use der::asn1::{Any, BitString, Ia5String, OctetString, UtcTime, Utf8StringRef};
use der::flagset::FlagSet;
use der::{DateTime, Decode, Encode, Sequence};
use tessera::crypto::{Provider, Signer};
use tessera::wire::SignatureScheme;
use tessera_webpki::kem_public_key;
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::certificate::Version;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, KeyUsages,
    SubjectAltName, SubjectKeyIdentifier,
};
use x509_cert::ext::{Extensions, ToExtension};
pub use x509_cert::name::Name;
use x509_cert::name::{RdnSequence, RelativeDistinguishedName};
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::{AlgorithmIdentifierOwned, ObjectIdentifier, SubjectPublicKeyInfoOwned};
use x509_cert::time::{Time, Validity};

/// What a certificate states.
pub struct Contents<'a> {
    /// Its subject.
    pub subject: Name,
    /// A SubjectPublicKeyInfo, DER.
    pub public_key_info: &'a [u8],
    /// Both in seconds since the Unix epoch.
    pub validity: [u64; 2],
    /// What it is for.
    pub purpose: Purpose<'a>,
}

/// What a certificate is for.
pub enum Purpose<'a> {
    /// To issue certificates of end entities.
    Authority,
    /// To authenticate an end of TLS.
    EndEntity {
        /// DNS names and addresses.
        names: &'a [String],
        /// As a client; otherwise as a server.
        is_client: bool,
    },
}

/// An authority that issues certificates.
pub struct Issuer<'a> {
    /// Its subject.
    pub name: Name,
    /// Its SubjectPublicKeyInfo, DER.
    pub public_key_info: &'a [u8],
    /// Its private key.
    pub key: &'a dyn Signer,
}

#[derive(Sequence)]
struct TbsCertificate {
    #[asn1(context_specific = "0", tag_mode = "EXPLICIT")]
    version: Version,
    serial_number: SerialNumber,
    signature: AlgorithmIdentifierOwned,
    issuer: Name,
    validity: Validity,
    subject: Name,
    subject_public_key_info: SubjectPublicKeyInfoOwned,
    #[asn1(context_specific = "3", tag_mode = "EXPLICIT")]
    extensions: Extensions,
}

#[derive(Sequence)]
struct Certificate {
    tbs_certificate: TbsCertificate,
    signature_algorithm: AlgorithmIdentifierOwned,
    signature: BitString,
}

/// Why there is no certificate.
#[derive(Debug)]
pub enum IssueError {
    /// The issuer's key is of a kind that doesn't sign certificates here.
    IssuerKey,
    /// The subject's key is malformed, or of a kind with which no end of TLS authenticates.
    SubjectKey,
    /// No signature, no randomness, or no SHA-256.
    Provider,
    /// A part has no form in a certificate.
    Form(der::Error),
}

impl From<der::Error> for IssueError {
    fn from(error: der::Error) -> Self {
        Self::Form(error)
    }
}

impl fmt::Display for IssueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IssuerKey => {
                f.write_str("the issuer's key is of a kind that doesn't sign certificates")
            }
            Self::SubjectKey => f.write_str(
                "the key is malformed, or of a kind with which no end of TLS authenticates",
            ),
            Self::Provider => f.write_str("no signature, or no randomness"),
            Self::Form(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for IssueError {}

/// Returns the certificate, DER, signed.
///
/// # Errors
/// See [`IssueError`].
pub fn issue(
    contents: Contents<'_>,
    issuer: Issuer<'_>,
    provider: &Provider,
) -> Result<Vec<u8>, IssueError> {
    let schemes = issuer.key.schemes();
    let algorithm = ALGORITHMS.iter().find(|(scheme, _)| schemes.contains(scheme));
    let (scheme, oid) = algorithm.ok_or(IssueError::IssuerKey)?;
    let algorithm = AlgorithmIdentifierOwned { oid: *oid, parameters: None };
    let Contents { subject, public_key_info, validity: [from, to], purpose } = contents;
    let mut serial = [0; 16];
    provider.random.fill(&mut serial).map_err(|_| IssueError::Provider)?;
    let tbs_certificate = TbsCertificate {
        version: Version::V3,
        serial_number: SerialNumber::new(&serial)?,
        signature: algorithm.clone(),
        validity: Validity::new(time(from)?, time(to)?),
        extensions: extensions(&subject, public_key_info, &issuer, &purpose, provider)?,
        issuer: issuer.name,
        subject,
        subject_public_key_info: SubjectPublicKeyInfoOwned::from_der(public_key_info)?,
    };
    let signature = issuer.key.sign(*scheme, &tbs_certificate.to_der()?);
    let signature = BitString::from_bytes(&signature.map_err(|_| IssueError::Provider)?)?;
    let certificate = Certificate { tbs_certificate, signature_algorithm: algorithm, signature };
    Ok(certificate.to_der()?)
}

fn extensions(
    subject: &Name,
    public_key_info: &[u8],
    issuer: &Issuer<'_>,
    purpose: &Purpose<'_>,
    provider: &Provider,
) -> Result<Extensions, IssueError> {
    let mut extensions = Extensions::new();
    let own = key_identifier(public_key_info, provider)?;
    add(&mut extensions, subject, &SubjectKeyIdentifier(own))?;
    match purpose {
        Purpose::Authority => {
            let constraints = BasicConstraints { ca: true, path_len_constraint: Some(0) };
            add(&mut extensions, subject, &constraints)?;
            let usages = KeyUsages::KeyCertSign | KeyUsages::CRLSign;
            add(&mut extensions, subject, &KeyUsage(usages))?;
        }
        Purpose::EndEntity { names, is_client } => {
            let key_identifier = Some(key_identifier(issuer.public_key_info, provider)?);
            let issued_by = AuthorityKeyIdentifier { key_identifier, ..Default::default() };
            add(&mut extensions, subject, &issued_by)?;
            let constraints = BasicConstraints { ca: false, path_len_constraint: None };
            add(&mut extensions, subject, &constraints)?;
            add(&mut extensions, subject, &KeyUsage(FlagSet::from(key_usage(public_key_info)?)))?;
            let purpose = if *is_client { ID_KP_CLIENT_AUTH } else { ID_KP_SERVER_AUTH };
            add(&mut extensions, subject, &ExtendedKeyUsage(vec![purpose]))?;
            let names: der::Result<_> = names.iter().map(|name| general_name(name)).collect();
            add(&mut extensions, subject, &SubjectAltName(names?))?;
        }
    }
    Ok(extensions)
}

fn add<E>(extensions: &mut Extensions, subject: &Name, extension: &E) -> der::Result<()>
where
    for<'e> &'e E: ToExtension<Error = der::Error>,
{
    let extension = extension.to_extension(subject, extensions)?;
    extensions.push(extension);
    Ok(())
}

/// RFC 9935 §5, RFC 8410 §5; keys that sign TLS handshakes need digitalSignature (RFC 8446 §4.4.2.2).
fn key_usage(public_key_info: &[u8]) -> Result<KeyUsages, IssueError> {
    match kem_public_key(public_key_info).map(|key| key.scheme()) {
        Some(SignatureScheme::KEM_X25519) => Ok(KeyUsages::KeyAgreement),
        Some(_) => Ok(KeyUsages::KeyEncipherment),
        None => {
            let algorithm = SubjectPublicKeyInfoOwned::from_der(public_key_info)?.algorithm.oid;
            let signs = SIGNING_KEYS.contains(&algorithm);
            if signs { Ok(KeyUsages::DigitalSignature) } else { Err(IssueError::SubjectKey) }
        }
    }
}

/// The keys that sign in TLS.
const SIGNING_KEYS: [ObjectIdentifier; 7] = [
    rfc5912::RSA_ENCRYPTION,
    rfc5912::ID_RSASSA_PSS,
    rfc5912::ID_EC_PUBLIC_KEY,
    rfc8410::ID_ED_25519,
    fips204::ID_ML_DSA_44,
    fips204::ID_ML_DSA_65,
    fips204::ID_ML_DSA_87,
];

/// RFC 7093 §2, method 1.
fn key_identifier(public_key_info: &[u8], provider: &Provider) -> Result<OctetString, IssueError> {
    let key = SubjectPublicKeyInfoOwned::from_der(public_key_info)?.subject_public_key;
    let sha256 = provider.sha256().ok_or(IssueError::Provider)?;
    Ok(OctetString::new(&sha256.hash(key.raw_bytes()).as_ref()[..20])?)
}

fn general_name(name: &str) -> der::Result<GeneralName> {
    Ok(match name.parse() {
        Ok(IpAddr::V4(address)) => GeneralName::IpAddress(OctetString::new(address.octets())?),
        Ok(IpAddr::V6(address)) => GeneralName::IpAddress(OctetString::new(address.octets())?),
        Err(_) => GeneralName::DnsName(Ia5String::new(name)?),
    })
}

/// Returns the subject of a certificate (DER).
///
/// # Errors
/// If it is malformed.
pub fn subject_of(certificate: &[u8]) -> der::Result<Name> {
    let certificate = x509_cert::Certificate::from_der(certificate)?;
    Ok(certificate.tbs_certificate().subject().clone())
}

/// Returns a name that is a commonName.
///
/// # Errors
/// If it is too long.
pub fn common_name(name: &str) -> der::Result<Name> {
    let value = Any::from(Utf8StringRef::new(name)?);
    let mut part = RelativeDistinguishedName::default();
    part.insert(AttributeTypeAndValue { oid: CN, value })?;
    let mut parts = RdnSequence::default();
    parts.push(part);
    Name::from_der(&parts.to_der()?)
}

/// RFC 5280 §4.1.2.5: UTCTime until 2049.
fn time(unix: u64) -> der::Result<Time> {
    let date = DateTime::from_unix_duration(Duration::from_secs(unix))?;
    Ok(match UtcTime::from_date_time(date) {
        Ok(time) => Time::UtcTime(time),
        Err(_) => Time::GeneralTime(date.into()),
    })
}

/// How keys sign certificates.
const ALGORITHMS: &[(SignatureScheme, ObjectIdentifier)] = &[
    (SignatureScheme::ECDSA_SECP256R1_SHA256, rfc5912::ECDSA_WITH_SHA_256),
    (SignatureScheme::ECDSA_SECP384R1_SHA384, rfc5912::ECDSA_WITH_SHA_384),
    (SignatureScheme::ED25519, rfc8410::ID_ED_25519),
    (SignatureScheme::MLDSA44, fips204::ID_ML_DSA_44),
    (SignatureScheme::MLDSA65, fips204::ID_ML_DSA_65),
];
