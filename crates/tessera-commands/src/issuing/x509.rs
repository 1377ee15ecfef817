//! X.509 certificates (RFC 5280) for keys of any algorithm.

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
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::certificate::Version;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, KeyUsages,
    SubjectAltName, SubjectKeyIdentifier,
};
use x509_cert::ext::{Extensions, ToExtension};
use x509_cert::name::{Name, RdnSequence, RelativeDistinguishedName};
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::{AlgorithmIdentifierOwned, ObjectIdentifier, SubjectPublicKeyInfoOwned};
use x509_cert::time::{Time, Validity};

/// What a certificate states.
pub(super) struct Contents<'a> {
    pub(super) subject: Name,
    /// A SubjectPublicKeyInfo, DER.
    pub(super) public_key_info: &'a [u8],
    /// Both in seconds since the Unix epoch.
    pub(super) validity: [u64; 2],
    pub(super) purpose: Purpose<'a>,
}

/// What a certificate is for.
pub(super) enum Purpose<'a> {
    /// To issue certificates of end entities.
    Authority,
    /// To authenticate an end of TLS with these names.
    EndEntity { names: &'a [String], is_client: bool, key_usage: KeyUsages },
}

/// An authority that issues certificates.
pub(super) struct Issuer<'a> {
    pub(super) name: Name,
    /// Its SubjectPublicKeyInfo, DER.
    pub(super) public_key_info: &'a [u8],
    pub(super) key: &'a dyn Signer,
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
pub(super) enum IssueError {
    /// The issuer's key is of a kind that doesn't sign certificates here.
    IssuerKey,
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

/// Returns the certificate, DER, signed.
pub(super) fn issue(
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
        Purpose::EndEntity { names, is_client, key_usage } => {
            let key_identifier = Some(key_identifier(issuer.public_key_info, provider)?);
            let issued_by = AuthorityKeyIdentifier { key_identifier, ..Default::default() };
            add(&mut extensions, subject, &issued_by)?;
            let constraints = BasicConstraints { ca: false, path_len_constraint: None };
            add(&mut extensions, subject, &constraints)?;
            add(&mut extensions, subject, &KeyUsage(FlagSet::from(*key_usage)))?;
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

/// Returns a name that is a commonName.
pub(super) fn common_name(name: &str) -> der::Result<Name> {
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
