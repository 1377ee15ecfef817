//! `tessera certificate`: an authority, and certificates for keys of any algorithm, those of KEMs included.

mod output;
mod x509;

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use der::Decode;
use pki_types::DnsName;
use tessera::crypto::Provider;
use tessera::wire::SignatureScheme;
use tessera_aws_lc::{KemKey, SigningKey};
use tessera_kit::credential::fingerprint;
use tessera_kit::report::print;
use tessera_kit::{ProgramError, SettingFile, pem};
use tessera_webpki::kem_public_key;
use x509_cert::certificate::Certificate;
use x509_cert::ext::pkix::{BasicConstraints, KeyUsages};
use zeroize::Zeroizing;

use self::output::{Output, pem_of};
use self::x509::{Contents, IssueError, Issuer, Purpose, common_name};

/// The kinds of keys that this program makes, by name: those that sign first.
pub const KEY_KINDS: &[(&str, SignatureScheme)] = &[
    ("p256", SignatureScheme::ECDSA_SECP256R1_SHA256),
    ("ed25519", SignatureScheme::ED25519),
    ("ml-dsa-44", SignatureScheme::MLDSA44),
    ("ml-dsa-65", SignatureScheme::MLDSA65),
    ("ml-kem-512", SignatureScheme::KEM_MLKEM512),
    ("ml-kem-768", SignatureScheme::KEM_MLKEM768),
    ("ml-kem-1024", SignatureScheme::KEM_MLKEM1024),
    ("x25519", SignatureScheme::KEM_X25519),
];

/// Options of an authority.
#[derive(Debug, Clone)]
pub struct AuthorityOptions {
    /// Its kind of key, which signs.
    pub kind: SignatureScheme,
    /// Its name.
    pub name: String,
    /// How long its certificate is valid.
    pub lifetime: Duration,
    /// The file for its certificate (PEM).
    pub certificate: PathBuf,
    /// The file for its key (PEM).
    pub key: PathBuf,
    /// Replace these files.
    pub force: bool,
}

/// Options of a certificate that an authority issues.
#[derive(Debug, Clone)]
pub struct IssueOptions {
    /// The certificates of the authority, its own first (PEM).
    pub ca: PathBuf,
    /// Its key (PEM).
    pub ca_key: PathBuf,
    /// The key of the certificate.
    pub subject_key: SubjectKey,
    /// The names of the server or client: DNS names and addresses, at least one.
    pub names: Vec<String>,
    /// For a client; otherwise for a server.
    pub client: bool,
    /// How long it is valid.
    pub lifetime: Duration,
    /// The file for the chain (PEM).
    pub certificate: PathBuf,
    /// Replace existing files.
    pub force: bool,
}

/// The key of a certificate.
#[derive(Debug, Clone)]
pub enum SubjectKey {
    /// One of this kind is made, and written to this file (PEM).
    New(SignatureScheme, PathBuf),
    /// The public key in this file (PEM), whose owner has the private one.
    Existing(PathBuf),
}

/// Options of a key without a certificate.
#[derive(Debug, Clone)]
pub struct KeyOptions {
    /// Its kind.
    pub kind: SignatureScheme,
    /// The file for the private key (PEM).
    pub key: PathBuf,
    /// The file for the public key (PEM).
    pub public_key: PathBuf,
    /// Replace existing files.
    pub force: bool,
}

/// Makes an authority: a key, and its self-signed certificate.
///
/// # Errors
/// If the name has no form in a certificate, or a file can't be written.
pub fn make_authority(options: &AuthorityOptions) -> Result<(), ProgramError> {
    let provider = tessera_aws_lc::provider();
    let key_file = Output::new("--key", &options.key, options.force)?;
    let certificate = Output::new("--certificate", &options.certificate, options.force)?;
    let name = named(&options.name)?;
    let made = generate(options.kind)?;
    let key = SigningKey::from_pkcs8(&made.private)
        .map_err(|error| ProgramError::failed("the key that was made", error))?;
    let now = now();
    let contents = Contents {
        subject: name.clone(),
        public_key_info: &made.public,
        validity: [now.saturating_sub(SKEW), end(now, options.lifetime)],
        purpose: Purpose::Authority,
    };
    let issuer = Issuer { name, public_key_info: &made.public, key: &key };
    let der = x509::issue(contents, issuer, &provider).map_err(|error| failed(&error))?;
    key_file.write_secret(&pem_of("PRIVATE KEY", &made.private)?)?;
    certificate.write(&pem_of("CERTIFICATE", &der)?)?;
    tell(&options.certificate, &der)
}

/// Issues a certificate.
///
/// # Errors
/// If the authority's files or the public key can't be read, don't belong together or are no authority's, a name is
/// invalid, or a file can't be written.
pub fn issue(options: &IssueOptions) -> Result<(), ProgramError> {
    let provider = tessera_aws_lc::provider();
    let key_file = match &options.subject_key {
        SubjectKey::New(_, path) => Some(Output::new("--key", path, options.force)?),
        SubjectKey::Existing(_) => None,
    };
    let output = Output::new("--certificate", &options.certificate, options.force)?;
    let authority = Authority::load(options)?;
    let names = options.names.iter().map(|name| checked_name(name));
    let names = names.collect::<Result<Vec<_>, _>>()?;
    let (private, public) = match &options.subject_key {
        SubjectKey::New(kind, _) => {
            let made = generate(*kind)?;
            (Some(made.private), made.public)
        }
        SubjectKey::Existing(path) => (None, public_key(path, &provider)?),
    };
    let now = now();
    let contents = Contents {
        subject: subject(&names)?,
        public_key_info: &public,
        validity: [now.saturating_sub(SKEW), end(now, options.lifetime).min(authority.expires_at)],
        purpose: Purpose::EndEntity {
            names: &names,
            is_client: options.client,
            key_usage: key_usage(&public),
        },
    };
    let issuer = Issuer {
        name: authority.name,
        public_key_info: &authority.public_key_info,
        key: &authority.key,
    };
    let der = x509::issue(contents, issuer, &provider).map_err(|error| failed(&error))?;
    let mut chain = pem_of("CERTIFICATE", &der)?;
    for above in &authority.above {
        chain.push_str(&pem_of("CERTIFICATE", above)?);
    }
    if let (Some(file), Some(private)) = (key_file, private) {
        file.write_secret(&pem_of("PRIVATE KEY", &private)?)?;
    }
    output.write(&chain)?;
    tell(&options.certificate, &der)
}

/// Makes a key without a certificate, and writes both halves.
///
/// # Errors
/// If a file can't be written.
pub fn make_key(options: &KeyOptions) -> Result<(), ProgramError> {
    let key = Output::new("--key", &options.key, options.force)?;
    let public_key = Output::new("--public-key", &options.public_key, options.force)?;
    let made = generate(options.kind)?;
    key.write_secret(&pem_of("PRIVATE KEY", &made.private)?)?;
    public_key.write(&pem_of("PUBLIC KEY", &made.public)?)
}

/// An authority as its files have it.
struct Authority {
    name: x509_cert::name::Name,
    public_key_info: Vec<u8>,
    key: SigningKey,
    expires_at: u64,
    /// The certificates that go with each that it issues, DER: its own and those above, without the root.
    above: Vec<Vec<u8>>,
}

impl Authority {
    fn load(options: &IssueOptions) -> Result<Self, ProgramError> {
        let file = SettingFile { setting: "--ca", path: &options.ca };
        let chain = pem::certificates(file)?;
        let wrong = |path, what: &str| Err(ProgramError::in_file(path, what));
        let parsed =
            chain.iter().map(|der| Certificate::from_der(der)).collect::<Result<Vec<_>, _>>();
        let parsed = parsed.map_err(|error| ProgramError::in_file(file.path, error))?;
        let Some(own) = parsed.first().map(Certificate::tbs_certificate) else {
            return wrong(file.path, "no certificate in this file");
        };
        let constraints = own.get_extension::<BasicConstraints>().ok().flatten();
        if !constraints.is_some_and(|(_, constraints)| constraints.ca) {
            return wrong(
                file.path,
                "this is not an authority's certificate (basicConstraints has no cA); check the path after --ca \
                 (`tessera certificate authority` makes one)",
            );
        }
        let key_file = SettingFile { setting: "--ca-key", path: &options.ca_key };
        let key = pem::private_key(key_file)?;
        let public_key_info = der::Encode::to_der(own.subject_public_key_info());
        let public_key_info =
            public_key_info.map_err(|error| ProgramError::in_file(file.path, error))?;
        if !public_key_info.ends_with(key.public_key()) {
            return wrong(
                key_file.path,
                "the private key is not that of the authority; check the paths after --ca and --ca-key",
            );
        }
        let expires_at = own.validity().not_after.to_unix_duration().as_secs();
        if expires_at <= now() {
            return wrong(file.path, "the authority's certificate has expired; make another");
        }
        let is_root = |(parsed, _): &(&Certificate, &Vec<u8>)| {
            parsed.tbs_certificate().issuer() == parsed.tbs_certificate().subject()
        };
        let above = parsed.iter().zip(&chain).filter(|it| !is_root(it));
        let above = above.map(|(_, der)| der.clone()).collect();
        Ok(Self { name: own.subject().clone(), public_key_info, key, expires_at, above })
    }
}

/// A key that was just made.
struct GeneratedKey {
    /// PKCS#8, DER.
    private: Zeroizing<Vec<u8>>,
    /// SubjectPublicKeyInfo, DER.
    public: Vec<u8>,
}

fn generate(kind: SignatureScheme) -> Result<GeneratedKey, ProgramError> {
    let failed = |error: &dyn std::fmt::Display| ProgramError::failed("making a key", error);
    if kind.kem().is_some() {
        let private = KemKey::generate_pkcs8(kind).map_err(|error| failed(&error))?;
        let key = KemKey::from_pkcs8(&private).map_err(|error| failed(&error))?;
        return Ok(GeneratedKey { public: key.public_key_info().to_vec(), private });
    }
    let private = SigningKey::generate_pkcs8(kind).map_err(|error| failed(&error))?;
    let key = SigningKey::from_pkcs8(&private).map_err(|error| failed(&error))?;
    let public = key.public_key_info().map_err(|error| failed(&error))?;
    Ok(GeneratedKey { private, public })
}

/// Reads a public key. One of a KEM must pass its checks (FIPS 203 §7.2).
fn public_key(path: &std::path::Path, provider: &Provider) -> Result<Vec<u8>, ProgramError> {
    let file = SettingFile { setting: "--public-key", path };
    let key = pem::public_keys(file)?.swap_remove(0);
    if let Some(kem_key) = kem_public_key(&key) {
        let kem = provider.kem(kem_key.scheme());
        if kem.is_none_or(|kem| kem.encapsulate(kem_key.as_bytes()).is_err()) {
            return Err(ProgramError::in_file(
                path,
                "this is not a public key of its KEM; make another",
            ));
        }
    }
    Ok(key)
}

/// RFC 9935 §5, RFC 8410 §5; keys that sign TLS handshakes need digitalSignature (RFC 8446 §4.4.2.2).
fn key_usage(public_key_info: &[u8]) -> KeyUsages {
    match kem_public_key(public_key_info).map(|key| key.scheme()) {
        None => KeyUsages::DigitalSignature,
        Some(SignatureScheme::KEM_X25519) => KeyUsages::KeyAgreement,
        Some(_) => KeyUsages::KeyEncipherment,
    }
}

/// Returns the name as a certificate has it.
fn checked_name(name: &str) -> Result<String, ProgramError> {
    let host = name.strip_prefix("*.").unwrap_or(name);
    if name.parse::<std::net::IpAddr>().is_ok() || DnsName::try_from(host).is_ok() {
        return Ok(name.to_owned());
    }
    Err(ProgramError::settings(format!(
        "--name {name:?}: neither a DNS name nor an address; write others in their ASCII form, xn--..."
    )))
}

/// Returns the first name as the subject, if it isn't too long for one (RFC 5280, ub-common-name).
fn subject(names: &[String]) -> Result<x509_cert::name::Name, ProgramError> {
    match names.first() {
        Some(first) if first.len() <= MAX_COMMON_NAME => named(first),
        _ => Ok(x509_cert::name::Name::default()),
    }
}

fn named(name: &str) -> Result<x509_cert::name::Name, ProgramError> {
    if name.is_empty() || name.chars().count() > MAX_COMMON_NAME {
        return Err(ProgramError::settings("--name: 1 to 64 characters"));
    }
    common_name(name).map_err(|error| ProgramError::failed("--name", error))
}

/// ub-common-name (RFC 5280 §A.1), in characters.
const MAX_COMMON_NAME: usize = 64;

fn failed(error: &IssueError) -> ProgramError {
    match error {
        IssueError::IssuerKey => ProgramError::settings(
            "--ca-key: certificates are signed with ECDSA on P-256 or P-384, Ed25519, ML-DSA-44 or ML-DSA-65: name \
             such a key",
        ),
        IssueError::Provider => ProgramError::Failed("signing the certificate failed".to_owned()),
        IssueError::Form(error) => ProgramError::failed("making the certificate", error),
    }
}

fn tell(path: &std::path::Path, der: &[u8]) -> Result<(), ProgramError> {
    print(format!("{}: SHA-256 {}\n", path.display(), fingerprint(der)).into_bytes())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn end(now: u64, lifetime: Duration) -> u64 {
    now.saturating_add(lifetime.as_secs())
}

/// How much later other clocks may be, in seconds.
const SKEW: u64 = 300;
